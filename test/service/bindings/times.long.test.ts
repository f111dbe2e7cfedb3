/** UserBindings with a beginning and an end. On the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, Bindings, bindingsPath, conditionOf, grantBinding, removeRole, type UserBinding } from './support.ts';

const merge = { 'content-type': 'application/merge-patch+json' };
const path = '/auth/v2/userbindings';

/** Returns a time in whole seconds. */
const secondsAhead = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;

/** `manager` may write all UserBindings and bind `view`; `alice` may write all and bind no role. */
describe('UserBindings with a beginning and an end', () => {
  const server = forSuite(() => startServer());
  let bindings: Bindings;

  before(async () => {
    bindings = new Bindings(server.kubernetes);
    await grantBinding(server.kubernetes, ['view']);
    await eventually(
      () => server.request(path, { as: 'alice' }),
      ({ status }) => status === 200,
    );
    // The first Synced binding shows that the controller is running.
    await server.kubernetes.apply(aBinding('first'));
    await bindings.until('first', 'Synced');
  });

  /**
   * Polls a condition. After that time, and a write of the test, it counts polls and not time: a slow or suspended machine slows down the
   * controller too.
   */
  const expectSoonAfter = async (time: string, isDone: () => Promise<boolean>, withinMs = 2_000) => {
    const [at, pauseMs] = [Date.parse(time), 20];
    while (Date.now() < at) {
      if (await isDone()) {
        expect(Date.now(), 'not before its time').to.be.at.least(at);
        return;
      }
      await sleep(pauseMs);
    }
    await server.kubernetes.apply(aNamespace(`probe-${crypto.randomUUID()}`));
    for (let waitedMs = 0; !(await isDone()); waitedMs += pauseMs) {
      expect(waitedMs, 'milliseconds after the test’s own').to.be.below(withinMs);
      await sleep(pauseMs);
    }
  };
  const isBound = (name: string, wanted: readonly string[]) => async () => (await bindings.bound(name)).join() === wanted.join();

  const patch = (name: string, spec: object) => server.kubernetes.call('PATCH', `${bindingsPath}/${name}`, { spec }, merge);

  it('REC-08 revoke the role within two seconds of the end, and stay, in phase Expired', async () => {
    await server.kubernetes.apply(aBinding('ends', { expiresAt: secondsAhead(3600) }));
    const begun = await bindings.until('ends', 'Synced');
    expect(conditionOf(begun, 'InEffect')).to.include({ status: 'True' });
    expect(await bindings.bound('ends')).to.deep.equal(['User jane']);

    const expiresAt = secondsAhead(3);
    expect((await patch('ends', { expiresAt })).status).to.equal(200);
    await expectSoonAfter(expiresAt, isBound('ends', []));
    const ended = await bindings.until('ends', 'Expired');
    expect(ended.status?.bindingsCreated).to.deep.equal({ clusterRoleBindings: 0, roleBindings: 0 });
    expect(conditionOf(ended, 'InEffect')).to.include({ status: 'False', reason: 'Expired' });
    expect(conditionOf(ended, 'Ready')).to.include({ status: 'False', reason: 'Expired' });
  });

  it('REC-09 grant the role within two seconds of the beginning, and are in phase Pending before', async () => {
    await server.kubernetes.apply(aBinding('begins', { notBefore: secondsAhead(3600) }));
    const early = await bindings.until('begins', 'Pending');
    expect(conditionOf(early, 'Ready')).to.include({ status: 'False', reason: 'NotYetValid' });
    expect(await bindings.bound('begins')).to.deep.equal([]);

    const notBefore = secondsAhead(3);
    expect((await patch('begins', { notBefore })).status).to.equal(200);
    await expectSoonAfter(notBefore, isBound('begins', ['User jane']));
    await bindings.until('begins', 'Synced');
  });

  it('end in time also if they cannot be made RBAC in full', async () => {
    const role = 'atrium-users-view';
    await removeRole(server, role);
    await server.kubernetes.apply(aBinding('no-role', { roleRef: role, expiresAt: secondsAhead(3600) }));
    await bindings.until('no-role', 'Pending');

    const expiresAt = secondsAhead(3);
    expect((await patch('no-role', { expiresAt })).status).to.equal(200);
    await expectSoonAfter(expiresAt, async () => (await bindings.read('no-role'))?.status?.phase === 'Expired');
    expect(await bindings.bound('no-role')).to.deep.equal([]);
  });

  it('grant the role again when their end is put off or removed', async () => {
    await server.kubernetes.apply(aBinding('again', { expiresAt: secondsAhead(-60) }));
    await bindings.until('again', 'Expired');
    expect(await bindings.bound('again')).to.deep.equal([]);

    expect((await patch('again', { expiresAt: secondsAhead(3600) })).status).to.equal(200);
    await bindings.untilBound('again', ['User jane']);
    expect((await patch('again', { expiresAt: secondsAhead(-1) })).status).to.equal(200);
    await bindings.untilBound('again', []);
    expect((await patch('again', { expiresAt: null })).status).to.equal(200);
    await bindings.untilBound('again', ['User jane']);
    expect(conditionOf(await bindings.until('again', 'Synced'), 'InEffect')).to.equal(undefined);
  });

  it('are refused with a beginning that is not before the end, or a value that is not a time', async () => {
    const refused = async (times: Record<string, unknown>) => {
      const { status, body } = await server.kubernetes.call('POST', bindingsPath, aBinding('refused', times));
      expect(status, JSON.stringify(body)).to.equal(422);
    };
    await refused({ notBefore: '2030-01-01T00:00:00Z', expiresAt: '2030-01-01T00:00:00Z' });
    // The texts are in order, and the times are not.
    await refused({ notBefore: '2030-01-01T00:00:00-10:00', expiresAt: '2030-01-01T05:00:00Z' });
    await refused({ expiresAt: 'tomorrow' });
    await refused({ expiresAt: '2030-01-01' });
    expect(await bindings.read('refused')).to.equal(undefined);
  });

  describe('by the API', () => {
    const create = (spec: Record<string, unknown>, as: Person = 'manager') =>
      server.request(path, {
        method: 'POST',
        as,
        body: {
          metadata: { generateName: 'timed-' },
          spec: { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform', ...spec },
        },
      });

    it('are made with their times, and sorted by their end', async () => {
      const [late, soon] = ['2031-01-01T00:00:00Z', '2030-12-31T20:00:00-03:30'];
      const made = await Promise.all([late, soon].map(async (expiresAt) => (await create({ expiresAt })).json() as Promise<UserBinding>));
      expect(made.map(({ spec }) => spec.expiresAt)).to.deep.equal([late, soon]);
      const stored = await bindings.read(made[0]?.metadata.name ?? '');
      expect(stored?.spec.expiresAt).to.equal(late);

      const response = await server.request(`${path}?search=timed-&sortBy=d,expiresAt`, { as: 'manager' });
      const { items } = (await response.json()) as { items: UserBinding[] };
      expect(items.map(({ spec }) => spec.expiresAt)).to.deep.equal([late, soon]);
    });

    it('are refused with every violation', async () => {
      const causes = async (spec: Record<string, unknown>) => {
        const response = await create(spec);
        expect(response.status).to.equal(422);
        const { details } = (await response.json()) as { details?: { causes?: { reason: string; field: string }[] } };
        return details?.causes?.map(({ reason, field }) => `${reason} ${field}`);
      };
      expect(await causes({ expiresAt: 'tomorrow', notBefore: '2030-01-01T00:00Z' })).to.have.members([
        'FieldValueInvalid spec.expiresAt',
        'FieldValueInvalid spec.notBefore',
      ]);
      expect(await causes({ notBefore: '2030-01-01T00:00:00Z', expiresAt: '2030-01-01T01:00:00+02:00' })).to.deep.equal([
        'FieldValueInvalid spec.notBefore',
      ]);
    });

    it('take the right to bind, ended or not', async () => {
      expect((await create({ expiresAt: secondsAhead(-60) }, 'alice')).status).to.equal(403);
    });
  });

  // Last: the replica that all others ask is stopped.
  describe('while no replica runs', () => {
    it('REC-10 are revoked within five seconds of the next start if they have expired', async () => {
      await server.kubernetes.apply(aBinding('pause', { expiresAt: secondsAhead(3600) }));
      await bindings.untilBound('pause', ['User jane']);
      await server.stopFirst();
      const expiresAt = secondsAhead(1);
      expect((await patch('pause', { expiresAt })).status).to.equal(200);
      await sleep(Math.max(0, Date.parse(expiresAt) + 500 - Date.now()));
      expect(await bindings.bound('pause')).to.deep.equal(['User jane']);

      const startedAt = new Date().toISOString();
      const other = await server.replica();
      await expectSoonAfter(startedAt, isBound('pause', []), 5_000);
      expect((await bindings.until('pause', 'Expired')).spec.expiresAt).to.equal(expiresAt);
      await other.stop();
    });
  });
});
