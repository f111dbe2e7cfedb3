/** Live lists of policies and requests, through the assembled service; alice asks, bob and carol decide. */
import { expect } from 'chai';
import { People } from '../../../src/access-requests/people.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aGroup, aNamespace, applyKnown } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { EventStream } from '../users/event-stream.ts';
import { AccessRequests, aPolicy, mergePatch, policiesPath, user } from './support.ts';

const accept = { Accept: 'text/event-stream' };
const subjects = [user('alice')];
const approvers = [user('bob'), user('carol')];
type Name = 'alice' | 'bob' | 'carol' | 'viewer' | 'admin' | 'nobody';

describe('live lists of access requests', () => {
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } } }));
  const leaving: AbortController[] = [];
  let access: AccessRequests;
  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'));
    await applyKnown(server, ...['alice', 'bob', 'carol', 'viewer'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    await access.apply(aPolicy('shop', { subjects, approvers }), aPolicy('two', { subjects, approvers, approvals: 2 }));
    await access.apply(aPolicy('of-viewer', { subjects: [user('viewer')], approvers: [user('carol')] }));
  });
  afterEach(() => {
    for (const controller of leaving.splice(0)) controller.abort();
  });
  const open = (as: Name, path: string, headers: Record<string, string> = {}) => {
    const controller = new AbortController();
    leaving.push(controller);
    return server.request(`/auth/v1/${path}`, { as, headers: { ...accept, ...headers }, signal: controller.signal });
  };
  /** Opens a live list, and waits for the end of its first rows. */
  const follow = async (as: Name, path = 'accessrequests?watch=true') => {
    const response = await open(as, path);
    expect(response.status).to.equal(200);
    const stream = new EventStream(response);
    await stream.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
    return stream;
  };
  /** Waits for an event about a name. */
  const untilTold = (stream: EventStream, line: string) =>
    eventually(
      () => stream.told(),
      (lines) => lines.includes(line),
    );
  const toldOf = (stream: EventStream, name: string) => [...new Set(stream.told().filter((line) => line.endsWith(name)))];

  it('tell the requester and the approvers, and callers who may watch all', async () => {
    const streams = await Promise.all((['alice', 'bob', 'admin'] as const).map((as) => follow(as)));
    const request = await access.asked({ as: 'alice' });
    const { name } = request.metadata;
    for (const stream of streams) await untilTold(stream, `ADDED ${name}`);
    await access.end({ as: 'alice' }, request);
    for (const stream of streams) {
      await stream.until((events) => JSON.stringify(events).includes('"phase":"Withdrawn"'));
      expect(toldOf(stream, name)).to.deep.equal([`ADDED ${name}`, `MODIFIED ${name}`]);
      expect(stream.events.every(({ data }) => data.object.kind === 'AccessRequest')).to.equal(true);
    }
  });

  it('hide the requests of others, also from totals', async () => {
    const streams = await Promise.all((['viewer', 'nobody'] as const).map((as) => follow(as)));
    const hidden = await access.asked({ as: 'alice' });
    const own = await access.asked({ as: 'viewer' }, { policy: 'of-viewer' });
    const [viewer, nobody] = streams as [EventStream, EventStream];
    await untilTold(viewer, `ADDED ${own.metadata.name}`);
    // The admin sees both, so that the changes have passed.
    await untilTold(await follow('admin'), `ADDED ${hidden.metadata.name}`);

    expect(toldOf(viewer, hidden.metadata.name)).to.deep.equal([]);
    expect(nobody.told()).to.deep.equal([]);
    const page = async (as: Name) => {
      const answer = await server.request('/auth/v1/accessrequests?limit=1&filterBy=phase,Pending', { as });
      return (await answer.json()) as { total: number; items: object[]; metadata: { continue: string; remainingItemCount: number } };
    };
    const of = { viewer: await page('viewer'), admin: await page('admin') };
    expect([of.viewer.total, of.viewer.metadata.remainingItemCount]).to.deep.equal([1, 0]);
    expect([of.admin.total, of.admin.items.length, of.admin.metadata.remainingItemCount]).to.deep.equal([2, 1, 1]);
    const next = encodeURIComponent(of.admin.metadata.continue);
    const stolen = await server.request(`/auth/v1/accessrequests?limit=1&filterBy=phase,Pending&continue=${next}`, { as: 'viewer' });
    expect(stolen.status).to.equal(400);
    await access.end({ as: 'alice' }, hidden);
    await access.end({ as: 'viewer' }, own);
  });

  it('tell of an inbox: a request waits until the caller, or the last of the others, has decided', async () => {
    const [bob, carol, alice] = await Promise.all(
      (['bob', 'carol', 'alice'] as const).map((as) => follow(as, 'accessrequests?watch=true&inbox=true')),
    );
    const request = await access.asked({ as: 'alice' }, { policy: 'two' });
    const { name } = request.metadata;
    await untilTold(bob as EventStream, `ADDED ${name}`);
    await access.decide({ as: 'bob' }, request);
    await untilTold(bob as EventStream, `DELETED ${name}`);
    await untilTold(carol as EventStream, `MODIFIED ${name}`);
    await access.decide({ as: 'carol' }, request, false);
    await untilTold(carol as EventStream, `DELETED ${name}`);
    expect((alice as EventStream).told()).to.deep.equal([]);
  });

  it('compare the caller with the policies once for many rows', async () => {
    for (let count = 0; count < 16; count += 1) await access.end({ as: 'alice' }, await access.asked({ as: 'alice' }));
    const { keysOf } = People.prototype;
    let calls = 0;
    People.prototype.keysOf = function (account) {
      if (account.name === nameOf('bob@example.com')) calls += 1;
      return keysOf.call(this, account);
    };
    try {
      const stream = await follow('bob');
      expect(stream.told().filter((line) => line.startsWith('ADDED')).length).to.be.at.least(16);
      expect(calls).to.be.greaterThan(0).and.below(16);
    } finally {
      People.prototype.keysOf = keysOf;
    }
  });

  it('tell of the rows that match a filter', async () => {
    const stream = await follow('alice', 'accessrequests?watch=true&filterBy=phase,Pending&search=SEARCHED');
    const other = await access.asked({ as: 'alice' });
    const request = await access.asked({ as: 'alice' }, { policy: 'two', reason: 'a Searched reason' });
    await untilTold(stream, `ADDED ${request.metadata.name}`);
    await access.end({ as: 'alice' }, request);
    await untilTold(stream, `DELETED ${request.metadata.name}`);
    expect(toldOf(stream, other.metadata.name)).to.deep.equal([]);
    await access.end({ as: 'alice' }, other);
  });

  it('end with 410 once the caller may see others, and tell no more of the ones before', async () => {
    await applyKnown(server, aGroup('oncall', [nameOf('viewer@example.com')]));
    await access.apply(aPolicy('oncall', { subjects, approvers: [{ kind: 'Group', name: 'local:oncall' }] }));
    const seen = await access.asked({ as: 'alice' }, { policy: 'oncall' });
    const stream = await eventually(
      () => follow('viewer', 'accessrequests?watch=true&inbox=true'),
      (opened) => opened.told().includes(`ADDED ${seen.metadata.name}`),
    );
    await server.kubernetes.call('PATCH', '/apis/auth.platform.io/v1/groups/oncall', { spec: { users: [] } }, mergePatch);
    await stream.untilOver();
    expect(stream.events.at(-1)).to.deep.include({ event: 'ERROR', id: '' });
    expect(stream.events.at(-1)?.data.object).to.deep.include({ kind: 'Status', code: 410, reason: 'Expired' });

    expect((await follow('viewer', 'accessrequests?watch=true&inbox=true')).told()).to.deep.equal([]);
    await access.end({ as: 'alice' }, seen);
  });

  it('start again after a disconnection, unless the caller may watch all', async () => {
    const { lastEventID } = await follow('alice');
    const again = await open('alice', 'accessrequests?watch=true', { 'Last-Event-ID': lastEventID });
    expect([again.status, JSON.parse(await again.text()).reason]).to.deep.equal([410, 'Expired']);
    const all = await open('admin', 'accessrequests?watch=true', { 'Last-Event-ID': lastEventID });
    expect(all.status).to.equal(200);
    const listed = await server.request('/auth/v1/accessrequests', { as: 'alice' });
    const { resourceVersion } = ((await listed.json()) as { metadata: { resourceVersion: string } }).metadata;
    const stream = new EventStream(await open('alice', `accessrequests?watch=true&resourceVersion=${resourceVersion}`));
    const request = await access.asked({ as: 'alice' });
    await untilTold(stream, `ADDED ${request.metadata.name}`);
    expect(toldOf(stream, request.metadata.name)).to.include(`ADDED ${request.metadata.name}`);
    await access.end({ as: 'alice' }, request);
  });

  it('show all requests, and end with the right to watch them', async () => {
    const waiting = await access.asked({ as: 'alice' });
    await grant(server.kubernetes, 'viewer', 'atrium-access-view');
    const stream = await eventually(
      () => follow('viewer'),
      (opened) => opened.told().includes(`ADDED ${waiting.metadata.name}`),
    );
    await revoke(server.kubernetes, 'viewer', 'atrium-access-view');
    await stream.untilOver();
    expect(stream.events.at(-1)?.data.object).to.deep.include({ kind: 'Status', code: 403 });
    await access.end({ as: 'alice' }, waiting);
  });

  it('tell of policies that let the caller ask, without their subjects', async () => {
    const [alice, admin] = (await Promise.all((['alice', 'admin'] as const).map((as) => follow(as, 'accesspolicies?watch=true')))) as [
      EventStream,
      EventStream,
    ];
    expect(toldOf(alice, 'of-viewer')).to.deep.equal([]);
    await server.kubernetes.apply(aPolicy('moved', { subjects, approvers }));
    await untilTold(alice, 'ADDED moved');
    await untilTold(admin, 'ADDED moved');
    const spec = { subjects: [user('viewer')], description: 'hidden from alice' };
    await server.kubernetes.call('PATCH', `${policiesPath}/moved`, { spec }, mergePatch);
    await untilTold(alice, 'DELETED moved');
    await admin.until((events) => JSON.stringify(events).includes('hidden from alice'));

    expect(JSON.stringify(alice.events)).not.to.match(/"subjects"|"approvers"|carol|viewer|hidden from alice/);
    expect(JSON.stringify(admin.events)).to.include('"approvers"');
  });

  it('refuse parameters of pages, and answer requests for JSON as a list', async () => {
    const status = async (path: string, headers: Record<string, string>) =>
      (await server.request(`/auth/v1/${path}`, { as: 'alice', headers })).status;
    for (const list of ['accessrequests', 'accesspolicies']) {
      expect(await status(`${list}?watch=true&page=2`, accept)).to.equal(400);
      expect(await status(`${list}?watch=true`, { Accept: 'application/json' })).to.equal(400);
      expect(await status(`${list}?watch=false`, { Accept: 'application/json' })).to.equal(200);
    }
  });
});
