import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { type Fault, FaultProxy, halfAnswer, loseAnswer, type ProxiedRequest, refuse, reset } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { applyKnown } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

const groups = '/auth/v1/groups';
const own = '/apis/auth.platform.io/v1';
const stored = `${own}/groups`;
const door = `/api/kubernetes${stored}`;

/** Sends status and begin of the answer, and ends the connection once they have arrived. */
const breakOff: Fault = ({ pass, response }) =>
  pass((answer) => {
    response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json', 'content-length': '100000' });
    answer.resume();
    response.write('{', () => response.socket?.end());
  });

/** Starts a service whose connection to the cluster has faults. */
async function withFaults() {
  const auditStore = await SqliteStore.open(':memory:');
  const started = Promise.withResolvers<FaultProxy>();
  const server = await startServer({
    auditStore,
    config: { features: { groups: true } },
    async between({ url, certificateAuthority, serving }) {
      started.resolve(await FaultProxy.start({ target: url, certificateAuthority, serving }));
      return started.promise;
    },
  });
  const faults = await started.promise;
  return {
    ...server,
    auditStore,
    /** Sends a write as an administrator, with a fault of its call. @returns the status */
    async write(method: 'DELETE' | 'PATCH' | 'POST', path: string, fault: Fault, body?: object): Promise<number> {
      const isOfWrite = (request: ProxiedRequest) => request.method === method && request.path.startsWith(own);
      faults.inject(fault, isOfWrite);
      const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
      const { status } = await server.request(path, { method, as: 'admin', ...(body && { body }), headers });
      faults.mend();
      return status;
    },
    /** Returns outcome, verb and code of the events about a group, oldest first, once there are that many. */
    async eventsOn(about: { name?: string; verb?: string }, count: number) {
      const { events } = await eventually(
        () => auditStore.list({ resource: 'groups', ...about }, { limit: 100 }),
        ({ events: all }) => all.length >= count,
      );
      return events.toReversed().map(({ verb, outcome, responseStatus }) => [verb, outcome, responseStatus?.code]);
    },
    async stop() {
      await server.stop();
      await auditStore.stop();
    },
  };
}

describe('the event of a write whose answer is lost', () => {
  const server = forSuite(withFaults);
  const exists = async (name: string) => (await server.kubernetes.call('GET', `${stored}/${name}`)).status;
  const make = (name: string) =>
    server.kubernetes.apply({ apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name }, spec: {} });

  for (const [what, fault] of Object.entries({ 'before it begins': loseAnswer, 'in its middle': halfAnswer })) {
    it(`says that the outcome of a deletion is unknown if it is lost ${what}`, async () => {
      const name = `gone-${fault.name.toLowerCase()}`;
      await make(name);
      expect(await server.write('DELETE', `${groups}/${name}`, fault)).to.equal(503);

      expect(await exists(name)).to.equal(404);
      expect(await server.eventsOn({ name }, 1)).to.deep.equal([['delete', 'unknown', undefined]]);
    });

    it(`says that the outcome of a creation and of a change is unknown if it is lost ${what}`, async () => {
      const name = `made-${fault.name.toLowerCase()}`;
      const body = { metadata: { name }, spec: {} };
      expect(await server.write('POST', groups, fault, body)).to.equal(503);
      expect(await exists(name)).to.equal(200);
      await eventually(
        async () => (await server.request(`${groups}/${name}`, { as: 'admin' })).status,
        (status) => status === 200,
      );
      expect(await server.write('PATCH', `${groups}/${name}`, fault, { metadata: { labels: { team: 'shop' } } })).to.equal(503);

      // The name of a new object is not in its path.
      expect((await server.eventsOn({ verb: 'create' }, 1)).at(-1)).to.deep.equal(['create', 'unknown', undefined]);
      expect(await server.eventsOn({ name }, 1)).to.deep.equal([['patch', 'unknown', undefined]]);
    });
  }

  it('is absent for a dry run', async () => {
    const body = { metadata: { name: 'tried' }, spec: {} };
    expect(await server.write('POST', `${groups}?dryRun=All`, loseAnswer, body)).to.equal(503);
    expect(await server.write('POST', groups, (exchange) => exchange.pass(), body)).to.equal(201);
    expect(await server.eventsOn({ name: 'tried' }, 1)).to.deep.equal([['create', 'success', 201]]);
    const creations = await server.eventsOn({ verb: 'create' }, 1);
    expect(creations.filter(([, outcome]) => outcome === 'unknown')).to.have.length(2);
  });

  it('is absent for a write that the API server refuses', async () => {
    await make('kept');
    expect(await server.write('DELETE', `${groups}/kept`, refuse(409, 'Conflict'))).to.equal(409);
    expect(await server.write('DELETE', `${groups}/kept`, (exchange) => exchange.pass())).to.equal(204);
    expect(await server.eventsOn({ name: 'kept' }, 1)).to.deep.equal([['delete', 'success', 204]]);
  });

  for (const [what, lose] of Object.entries({ 'with an effect': loseAnswer, 'without an effect': reset }))
    it(`is that of the deletion if it is made again after an attempt ${what}`, async () => {
      const [email, later] = [`${lose.name.toLowerCase()}@example.com`, `after-${lose.name.toLowerCase()}`];
      await applyKnown(server, aUser(email));
      await make(later);
      let calls = 0;
      const once: Fault = (exchange) => {
        calls += 1;
        // A dry run comes first.
        if (calls === 2) lose(exchange);
        else exchange.pass();
      };
      expect(await server.write('DELETE', `/auth/v1/users/${nameOf(email)}`, once)).to.equal(204);
      expect(calls).to.equal(3);

      expect(await server.write('DELETE', `${groups}/${later}`, (exchange) => exchange.pass())).to.equal(204);
      // Events of one replica arrive in their order.
      await server.eventsOn({ name: later }, 1);
      const { events } = await server.auditStore.list({ resource: 'users', name: nameOf(email) }, { limit: 10 });
      expect(events.map(({ verb, outcome }) => [verb, outcome])).to.deep.equal([['delete', 'success']]);
    });

  it('says at the door that the outcome is unknown, unless the status of the answer came', async () => {
    for (const name of ['passed', 'halved', 'late']) await make(name);
    expect(await server.write('DELETE', `${door}/passed`, loseAnswer)).to.equal(503);
    expect(await server.write('DELETE', `${door}/late`, refuse(504, 'Timeout'))).to.equal(504);
    const labels = { metadata: { labels: { team: 'shop' } } };
    expect(await server.write('PATCH', `${door}/halved`, breakOff, labels)).to.equal(503);

    expect(await server.eventsOn({ name: 'passed' }, 1)).to.deep.equal([['delete', 'unknown', 503]]);
    expect(await server.eventsOn({ name: 'late' }, 1)).to.deep.equal([['delete', 'unknown', 504]]);
    expect(await server.eventsOn({ name: 'halved' }, 1)).to.deep.equal([['patch', 'success', 200]]);
  });
});
