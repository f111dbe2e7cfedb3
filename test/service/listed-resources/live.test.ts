import { expect } from 'chai';
import { after, afterEach, before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { bindingPath } from '../access/objects.ts';
import { EventStream } from '../users/event-stream.ts';
import { aConfigMap, objects, ofAlice, perShop, resources } from './support.ts';

const configMaps = '/api/v2/resources/core/v1/configmaps';

describe('a live list of any resource', () => {
  let server: TestServer;
  const leaving: AbortController[] = [];

  const ask = async (query: string, as: Person, headers: Record<string, string> = {}) => {
    const controller = new AbortController();
    leaving.push(controller);
    const accept = { accept: 'text/event-stream', ...headers };
    return server.request(`${configMaps}${query}`, { as, headers: accept, signal: controller.signal });
  };
  const follow = async (query: string, as: Person = 'alice', headers?: Record<string, string>) =>
    new EventStream(await ask(query, as, headers));
  const isSettled = (stream: EventStream) => stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
  const tier = (namespace: string, name: string, value: string) => server.kubernetes.apply(aConfigMap(namespace, name, value));

  before(async () => {
    server = await startServer({ config: { lists: { resources } }, objects });
  });
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });
  after(() => server.stop());

  it('begins with the rows that the caller may see, and reports changes of these alone', async () => {
    const stream = await follow('?watch=true&labelSelector=suite%3Dlists');
    await isSettled(stream);
    const [first] = stream.events;
    const before = stream.told().length;
    await tier('shop-02', 'm0', 'unseen');
    await tier('shop-01', 'm0', 'changed');
    await tier('shop-01', 'new', 'made');
    await stream.until((events) => events.some(({ data }) => data.object.metadata?.name === 'new'));
    await server.kubernetes.remove('/api/v1/namespaces/shop-01/configmaps/new');
    await stream.until((events) => events.some(({ event }) => event === 'DELETED'));
    await tier('shop-01', 'm0', 'tier-0');

    expect(first?.data.object).to.deep.include({ values: { tier: 'tier-0' } });
    expect(before).to.equal(ofAlice.length * perShop);
    expect(stream.told().slice(before, before + 3)).to.deep.equal(['MODIFIED m0', 'ADDED new', 'DELETED new']);
    expect(JSON.stringify(stream.events)).not.to.contain('unseen');
    expect(JSON.stringify(stream.events)).not.to.contain('not for rows');
  });

  it('reports that a row is gone if it no longer fits the filter, and continues after an id', async () => {
    const filter = '?watch=true&filterBy=tier,tier-1&filterBy=namespace,shop-04';
    const stream = await follow(filter);
    await isSettled(stream);
    await tier('shop-04', 'm1', 'elsewhere');
    await stream.until((events) => events.some(({ event }) => event === 'DELETED'));
    await tier('shop-04', 'm1', 'tier-1');
    await stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
    await stream.until((events) => events.at(-1)?.event === 'ADDED');
    const again = await follow(filter, 'alice', { 'Last-Event-ID': stream.lastEventID });
    await tier('shop-04', 'm3', 'elsewhere');
    await again.until((events) => events.some(({ event }) => event !== 'BOOKMARK'));
    await tier('shop-04', 'm3', 'tier-1');

    expect(stream.told()).to.include.members(['ADDED m1', 'ADDED m3', 'DELETED m1']);
    expect(again.told()[0]).to.equal('DELETED m3');
  });

  it('ends when a namespace that it shows is lost', async () => {
    const stream = await follow('?watch=true');
    const inOne = await follow('/namespaces/shop-01?watch=true');
    const ofBob = await follow('?watch=true', 'bob');
    await Promise.all([stream, inOne, ofBob].map(isSettled));
    await server.kubernetes.remove(bindingPath('lists-alice', 'shop-07'));
    await stream.untilOver();

    const last = stream.events.at(-1);
    expect(last?.event).to.equal('ERROR');
    expect(last?.data.object).to.include({ kind: 'Status', code: 403 });
    expect(JSON.stringify(last?.data.object)).to.contain(
      'cannot watch resource \\"configmaps\\" in API group \\"\\" in the namespace \\"shop-07\\"',
    );
    expect([inOne.isOver, ofBob.isOver]).to.deep.equal([false, false]);
    await server.kubernetes.remove(bindingPath('lists-bob'));
    await ofBob.untilOver();
    expect(ofBob.events.at(-1)?.data.object).to.include({ code: 403 });
  });

  it('refuses callers who may not watch, and another namespace', async () => {
    expect((await ask('?watch=true', 'nobody')).status).to.equal(403);
    expect((await ask('/namespaces/shop-02?watch=true', 'alice')).status).to.equal(403);
    expect((await ask('?watch=true&page=2', 'alice')).status).to.equal(400);
  });
});
