import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { EventStream } from '../users/event-stream.ts';
import { aPerson, deleteStored, makeToken, mergePatch, recordOf, refusalOf, startTokenServer, tokensPath } from './tokens.ts';

const object = (id: string) => `/apis/auth.platform.io/v1/accesstokens/${id}`;

describe('live lists of access tokens', () => {
  const server = forSuite(() =>
    startTokenServer({ objects: (['alice', 'bob', 'carol', 'manager', 'viewer'] as const).map((person) => aPerson(person)) }),
  );
  const leaving: AbortController[] = [];
  before(() => grant(server.kubernetes, 'manager', 'atrium-users-admin'));
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });
  const open = (as: Person, query = '', headers: Record<string, string> = {}) => {
    const controller = new AbortController();
    leaving.push(controller);
    const accepting = { accept: 'text/event-stream', ...headers };
    return server.request(`${tokensPath}?watch=true${query}`, { as, headers: accepting, signal: controller.signal });
  };
  const follow = async (as: Person, query = '') => {
    const response = await open(as, query);
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('text/event-stream');
    const stream = new EventStream(response);
    await stream.untilPresent();
    return stream;
  };
  const remove = (as: Person, id: string) => server.request(`${tokensPath}/${id}`, { method: 'DELETE', as });
  const toldOf = (stream: EventStream, id: string) => stream.told().filter((line) => line.endsWith(id));

  it('tell users of their own tokens without a right: added, changed and deleted, and never of those of others', async () => {
    const present = await makeToken(server, 'alice');
    const stream = await follow('alice');
    expect(stream.told()).to.include(`ADDED ${present.id}`);
    const foreign = await makeToken(server, 'bob');
    const own = await makeToken(server, 'alice');
    await stream.untilTold(`ADDED ${own.id}`);
    await mergePatch(server, `${object(own.id)}/status`, { status: { lastUsedTime: '2026-03-02T08:15:00Z' } });
    await stream.untilTold(`MODIFIED ${own.id}`);
    await mergePatch(server, `${object(foreign.id)}/status`, { status: { lastUsedTime: '2026-03-02T08:15:00Z' } });
    expect((await remove('bob', foreign.id)).status).to.equal(204);
    expect((await remove('alice', own.id)).status).to.equal(204);
    await stream.untilTold(`DELETED ${own.id}`);

    expect(toldOf(stream, own.id)).to.deep.equal([`ADDED ${own.id}`, `MODIFIED ${own.id}`, `DELETED ${own.id}`]);
    expect(toldOf(stream, foreign.id)).to.deep.equal([]);
    const text = JSON.stringify(stream.events);
    for (const secret of [recordOf('bob'), 'tokenHash', present.token, own.token]) expect(text).not.to.include(secret);
    const objects = stream.events.filter(({ event }) => event !== 'BOOKMARK').map(({ data }) => data.object);
    expect(objects.every(({ kind }) => kind === 'AccessToken')).to.equal(true);
  });

  it('tell of a token that kubectl deletes, and resume after the version of a list', async () => {
    const { id } = await makeToken(server, 'alice');
    const list = (await (await server.request(tokensPath, { as: 'alice' })).json()) as { metadata: { resourceVersion: string } };
    const stream = new EventStream(await open('alice', `&resourceVersion=${list.metadata.resourceVersion}`));
    await deleteStored(server, id);
    await stream.untilTold(`DELETED ${id}`);
    expect(stream.told()).not.to.include(`ADDED ${id}`);
  });

  it('tell callers with the right to watch all of them, or of one user, and resume', async () => {
    const [all, ofBob] = await Promise.all([follow('manager'), follow('manager', `&user=${recordOf('bob')}`)]);
    const [first, second] = [await makeToken(server, 'alice'), await makeToken(server, 'bob')];
    for (const { id } of [first, second]) await all.untilTold(`ADDED ${id}`);
    await ofBob.untilTold(`ADDED ${second.id}`);
    expect(toldOf(ofBob, first.id)).to.deep.equal([]);
    const resumed = await open('manager', '', { 'Last-Event-ID': all.lastEventID });
    expect(resumed.status).to.equal(200);
    const stream = new EventStream(resumed);
    const later = await makeToken(server, 'alice');
    await stream.untilTold(`ADDED ${later.id}`);
    expect(toldOf(stream, second.id)).to.deep.equal([]);
  });

  it('refuse tokens of others to callers without the right to watch them', async () => {
    for (const query of [`&user=${recordOf('bob')}`, `&fieldSelector=spec.owner=${recordOf('bob')}`, '&user=nobody-at-all']) {
      const { code, message } = await refusalOf(await open('alice', query));
      expect([code, message], query).to.deep.equal([
        403,
        'accesstokens.auth.platform.io is forbidden: User "alice" cannot watch resource "accesstokens" in API group "auth.platform.io" at the cluster scope',
      ]);
    }
    expect((await server.request(`${tokensPath}?watch=true`, { headers: { accept: 'text/event-stream' } })).status).to.equal(401);
    expect((await server.request(`${tokensPath}?watch=true`, { as: 'alice' })).status).to.equal(400);
  });

  it('end with 403 when the caller loses the right to watch the tokens of others', async () => {
    const foreign = await makeToken(server, 'bob');
    for (const query of ['', `&user=${recordOf('bob')}`]) {
      await grant(server.kubernetes, 'viewer', 'atrium-users-admin');
      const response = await eventually(
        () => open('viewer', `&user=${recordOf('bob')}`),
        ({ status }) => status === 200,
      );
      await response.body?.cancel();
      const stream = await follow('viewer', query);
      expect(stream.told()).to.include(`ADDED ${foreign.id}`);
      await revoke(server.kubernetes, 'viewer', 'atrium-users-admin');
      expect(await stream.untilError()).to.equal(403);
    }
  });

  it('start again after a disconnection, and end with 410 once a new record has the name of the user', async () => {
    const { id } = await makeToken(server, 'carol');
    const stream = await follow('carol');
    expect((await open('carol', '', { 'Last-Event-ID': stream.lastEventID })).status).to.equal(410);
    await deleteStored(server, id);
    await stream.untilTold(`DELETED ${id}`);
    await server.kubernetes.remove(`/apis/auth.platform.io/v1/users/${recordOf('carol')}`);
    await server.kubernetes.apply(aPerson('carol'));
    expect(await stream.untilError()).to.equal(410);
  });

  it('are ordinary lists while features.watch is off', async () => {
    const off = await startServer({ config: { features: { watch: false } }, objects: [aPerson('alice')] });
    try {
      const answer = await off.request(`${tokensPath}?watch=true`, { as: 'alice', headers: { accept: 'text/event-stream' } });
      expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'application/json; charset=utf-8']);
    } finally {
      await off.stop();
    }
  });
});
