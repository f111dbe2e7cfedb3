import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aBinding, aGroup, aNamespace, Bindings, notYet } from './support.ts';

const lease = '/apis/coordination.k8s.io/v1/namespaces/atrium-system/leases/atrium-user-bindings';

describe('UserBindings and replicas', () => {
  const server = forSuite(() => startServer());
  let bindings: Bindings;
  before(async () => {
    bindings = new Bindings(server.kubernetes);
  });

  const holder = async () => {
    const { body } = await server.kubernetes.call('GET', lease);
    return (body as { spec?: { holderIdentity?: string } }).spec?.holderIdentity ?? '';
  };

  it('are reconciled by one, and by another once that one stops', async () => {
    const first = await eventually(holder, (name) => name !== '');
    await server.kubernetes.apply(aBinding('before'));
    await bindings.until('before', 'Synced');
    const other = await server.replica();
    await server.stopFirst();
    // No watch delivers changes that happen while no replica runs.
    await server.kubernetes.apply(aBinding('meanwhile'));
    const [made] = await bindings.made('before');
    await server.kubernetes.remove(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${made?.metadata.name}`);
    const second = await eventually(holder, (name) => name !== '' && name !== first);

    expect(second).to.not.equal(first);
    await bindings.until('meanwhile', 'Synced');
    await bindings.untilBound('before', ['User jane']);
    await other.stop();
  });
});

describe('two hundred UserBindings over a project', () => {
  let server: TestServer;
  let bindings: Bindings;
  const count = 200;
  const members = Array.from({ length: 10 }, (_, index) => `m${index}@example.com`);

  before(async () => {
    const names = Array.from({ length: count }, (_, index) => `many-${index}`);
    server = await startServer({
      objects: [
        ...members.map((email) => aUser(email)),
        aGroup('many', members.map(nameOf)),
        aNamespace('p1', 'many'),
        notYet('marker@example.com'),
        aBinding('marker', { subjects: [{ kind: 'User', name: nameOf('marker@example.com') }] }),
        ...names.map((name) =>
          aBinding(name, { subjects: [{ kind: 'Group', name: 'many' }], scope: 'project', constraint: [{ project: 'many' }] }),
        ),
      ],
    });
    bindings = new Bindings(server.kubernetes);
  });
  after(() => server.stop());

  const metric = async (name: string) => {
    const text = await (await fetch(`${server.metricsURL}/metrics`)).text();
    return new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1];
  };
  const writes = async () => {
    const text = await (await fetch(`${server.metricsURL}/metrics`)).text();
    const all = [
      ...text.matchAll(
        /^atrium_kubernetes_request_duration_seconds_count\{call="(create|patch) [a-z]*(rolebindings|userbindings)[^}]*\} (\d+)/gm,
      ),
    ];
    return all.reduce((sum, [, , , found]) => sum + Number(found), 0);
  };
  const phases = async () => {
    const { body } = await server.kubernetes.call('GET', '/apis/auth.platform.io/v1/userbindings');
    return (body as { items: { status?: { phase?: string } }[] }).items.filter(({ status }) => status?.phase === 'Synced').length;
  };

  it('become RoleBindings, of which a replica caches a line each, and no write follows', async () => {
    await eventually(phases, (synced) => synced === count);
    await eventually(
      () => metric('atrium_watch_objects\\{watch="made_rolebindings"\\}'),
      (kept) => kept === String(count),
    );
    await bindings.until('marker', 'Pending');
    // The watch delivers the writes of the controller, which then reconciles once more.
    let last = await writes();
    await eventually(async () => {
      const now = await writes();
      const isStill = now === last;
      last = now;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return isStill;
    }, Boolean);
    await server.kubernetes.apply(aUser('m0@example.com', { lastLoginTime: '2026-03-01T11:00:00Z' }));
    // Later changes of the same watch are reconciled after it: a binding is created and a status written, and no other write follows.
    const user = `/apis/auth.platform.io/v1/users/${nameOf('marker@example.com')}`;
    const change = { status: { subjectName: 'marker@corp' } };
    await server.kubernetes.call('PATCH', `${user}/status`, change, { 'content-type': 'application/merge-patch+json' });
    await bindings.until('marker', 'Synced');
    expect(await eventually(writes, (now) => now >= last + 2)).to.equal(last + 2);
  });

  it('follow a namespace that joins the project', async () => {
    await server.kubernetes.apply(aNamespace('p2', 'many'));
    await eventually(
      () => metric('atrium_watch_objects\\{watch="made_rolebindings"\\}'),
      (found) => found === String(count * 2),
    );
    expect(await bindings.bound('many-7')).to.have.lengthOf(2 * (members.length + 1));
  });
});
