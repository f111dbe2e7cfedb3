import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { accept, connect } from './shells.ts';
import { ended, listRecordings, type RecordingsIn, recordings, replay, shellIn, startRecordings } from './support.ts';

/** Tests of the rights on recordings that hold in each place. */
export function itGuardsRecordings(recordingsIn?: RecordingsIn): void {
  const between = new ApiServerBetween();
  const rules = [{ namespaces: ['other'], mode: 'off' }, { mode: 'besteffort' }];
  const server = forSuite(() => startRecordings(between, { recordings: rules }, { recordingsIn }));

  /** Records a shell of a person. Returns the id of the recording. */
  async function record(as: Person, name: string, where: { namespace?: string; subresource?: string } = {}): Promise<string> {
    between.upgrade = async (request, socket) => {
      const container = await accept(request, socket);
      socket.write(container.encode({ channel: 1, bytes: Buffer.from(name) }));
    };
    const client = await connect('WebSocket', server, { token: await server.token(as), path: shellIn(name, 'stdout=true', where) });
    await eventually(
      () => client.seen().toString(),
      (seen) => seen === name,
    );
    client.close();
    await client.closed;
    return where.namespace === 'other' ? '' : (await ended(server, as, name)).id;
  }
  const names = async (as: Person, query: Record<string, string> = {}) => {
    const { scope, items } = await listRecordings(server, as, query);
    return [scope, ...items.map(({ objectRef }) => objectRef.name)];
  };
  const codes = async (method: string, id: string, ...people: (Person | undefined)[]) =>
    Promise.all(people.map(async (as) => (await server.request(`${recordings}/${id}`, { method, ...(as && { as }) })).status));
  const events = async (event: string) =>
    eventually(
      async () => {
        const answer = await server.auditStore.list({ event }, { limit: 100 });
        return answer.events.map(({ user, objectRef: { resource, namespace, name }, shell }) => [
          ...[user?.username, resource, namespace, name, shell?.user, shell?.pod],
        ]);
      },
      (found) => found.length > 0,
    );

  let ids: Record<'alice' | 'bob', string>;
  before(async () => {
    ids = { alice: await record('alice', 'of-alice'), bob: await record('bob', 'of-bob', { subresource: 'attach' }) };
    await record('bob', 'not-recorded', { namespace: 'other' });
  });

  it('are listed to their users, and all to callers who may list recordings', async () => {
    expect(await names('alice')).to.deep.equal(['Own', 'of-alice']);
    expect(await names('carol')).to.deep.equal(['All', 'of-bob', 'of-alice']);
    expect(await names('carol', { actor: 'alice' })).to.deep.equal(['All', 'of-alice']);
    expect(await names('carol', { namespace: 'other' })).to.deep.equal(['All']);
    expect((await listRecordings(server, 'alice', {})).directShells).to.equal('NotRecorded');
    expect((await server.request(`${recordings}?actor=bob`, { as: 'alice' })).status).to.equal(403);
    expect((await server.request(`${recordings}?continue=x`, { as: 'alice' })).status).to.equal(400);
  });

  it('make one event for a list of all, and none for the own ones', async () => {
    await names('alice');
    await names('carol', { namespace: 'shop', limit: '1' });
    await names('carol', { namespace: 'shop', from: '2026-01-12T10:00:00Z' });
    const asked = await eventually(
      async () => (await server.auditStore.list({ event: 'AuditRead' }, { limit: 100 })).events,
      (found) => found.some(({ question }) => question?.includes('shop')),
    );
    const told = asked.map(({ user, question }) => `${user?.username} ${question}`);
    expect(told.filter((one) => one.startsWith('alice'))).to.deep.equal([]);
    expect(told.filter((one) => one.includes('shop'))).to.deep.equal(['carol namespace=shop&view=Recordings']);
  });

  it('are listed in pages', async () => {
    const { items, metadata } = await listRecordings(server, 'carol', { limit: '1' });
    expect(items.map(({ id }) => id)).to.deep.equal([ids.bob]);
    const next = await listRecordings(server, 'carol', { limit: '1', continue: metadata.continue ?? '' });
    expect([next.items.map(({ id }) => id), next.metadata.continue]).to.deep.equal([[ids.alice], undefined]);
  });

  it('are read by their users and by callers who may get recordings, and are 404 for others', async () => {
    expect(await codes('GET', ids.alice, undefined, 'alice', 'bob', 'carol')).to.deep.equal([401, 200, 404, 200]);
    expect((await replay(server, 'carol', ids.bob)).output.toString()).to.equal('of-bob');
    expect(await codes('GET', 'unknown', 'carol')).to.deep.equal([404]);
    expect((await events('RecordingRead')).toSorted()).to.deep.include(['carol', 'recordings', 'shop', ids.bob, 'bob', 'of-bob']);
  });

  it('are named by the events of their shells', async () => {
    const answer = await server.request('/auth/v1/audit?name=of-bob', { as: 'bob' });
    const { items } = auditEventList.parse(await answer.json());
    expect(items.map(({ stage, connection }) => [stage, connection?.recording])).to.deep.equal([
      ['ResponseComplete', ids.bob],
      ['ResponseStarted', ids.bob],
    ]);
  });

  it('are deleted by callers who may delete recordings alone', async () => {
    expect(await codes('DELETE', ids.alice, undefined, 'bob', 'alice')).to.deep.equal([401, 404, 403]);
    expect(await codes('DELETE', ids.alice, 'carol')).to.deep.equal([204]);
    expect(await codes('DELETE', ids.alice, 'carol')).to.deep.equal([404]);
    expect(await codes('GET', ids.alice, 'alice')).to.deep.equal([404]);
    expect(await events('RecordingDeleted')).to.deep.equal([['carol', 'recordings', 'shop', ids.alice, 'alice', 'of-alice']]);
    expect(await names('carol')).to.deep.equal(['All', 'of-bob']);
  });
}
