import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import {
  aBinding,
  aNamespace,
  Bindings,
  bindingsPath,
  clusterRoleBindingsPath,
  conditionOf,
  rbac,
  removeRole,
  type UserBinding,
} from './support.ts';

const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('the RBAC of a UserBinding', () => {
  const server = forSuite(() => startServer());
  let bindings: Bindings;

  before(async () => {
    bindings = new Bindings(server.kubernetes);
    await server.kubernetes.apply(
      aNamespace('shop', 'sales'),
      aNamespace('till', 'sales'),
      aNamespace('lab', 'research'),
      aNamespace('plain'),
    );
  });

  const patch = async (path: string, change: unknown) => {
    const { status, body } = await server.kubernetes.call('PATCH', path, change, mergePatch);
    expect(status, JSON.stringify(body)).to.equal(200);
  };
  const roleBindingPath = (namespace: string, name: string) => `/apis/${rbac}/v1/namespaces/${namespace}/rolebindings/${name}`;

  it('is a ClusterRoleBinding for the platform, labelled, owned and reported by the status', async () => {
    await server.kubernetes.apply(aBinding('everywhere'));
    const binding = await bindings.until('everywhere', 'Synced');
    const [made, ...more] = await bindings.made('everywhere');

    expect(more).to.deep.equal([]);
    expect(made?.metadata).to.deep.include({ labels: { 'auth.platform.io/userbinding': 'everywhere' } });
    expect(made?.metadata.name).to.match(/^ub-[0-9a-f]{24}$/);
    expect(made?.metadata.annotations).to.deep.equal({ 'auth.platform.io/userbinding': 'everywhere' });
    expect(made?.metadata.ownerReferences).to.deep.include.members([
      { apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', name: 'everywhere', uid: binding.metadata.uid, controller: true },
    ]);
    expect(made?.roleRef).to.deep.equal({ apiGroup: rbac, kind: 'ClusterRole', name: 'view' });
    expect(made?.subjects).to.deep.equal([{ apiGroup: rbac, kind: 'User', name: 'jane' }]);
    expect(binding.status?.bindingsCreated).to.deep.equal({ clusterRoleBindings: 1, roleBindings: 0 });
    expect(binding.metadata.finalizers).to.deep.equal(['auth.platform.io/userbinding']);
    expect(binding.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).to.deep.equal([
      'Ready True',
      'SubjectsFound True',
      'RoleFound True',
      'NamespacesFound True',
      'BindingsMade True',
    ]);
    expect(conditionOf(binding, 'SubjectsFound')?.message).to.equal('names reserved for Kubernetes: jane');
  });

  it('is a RoleBinding in each namespace that is named, and in one that comes later', async () => {
    const constraint = [{ namespace: 'shop', cluster: 'host' }, { namespace: 'plain' }, { namespace: 'later' }, { namespace: 'shop' }];
    await server.kubernetes.apply(aBinding('places', { scope: 'namespace', constraint }));
    const pending = await bindings.until('places', 'Pending', ({ status }) => status?.bindingsCreated?.roleBindings === 2);

    expect(conditionOf(pending, 'NamespacesFound')).to.include({
      status: 'False',
      reason: 'NamespaceNotFound',
      message: 'namespaces that do not exist yet: later',
    });
    expect(pending.status?.bindingsCreated).to.deep.equal({ clusterRoleBindings: 0, roleBindings: 2 });
    expect(await bindings.bound('places')).to.deep.equal(['User jane in plain', 'User jane in shop']);

    await server.kubernetes.apply(aNamespace('later'));
    await bindings.until('places', 'Synced');
    await bindings.untilBound('places', ['User jane in plain', 'User jane in shop', 'User jane in later']);

    await patch(`${bindingsPath}/places`, { spec: { constraint: [{ namespace: 'later' }] } });
    await bindings.untilBound('places', ['User jane in later']);
    expect((await bindings.until('places', 'Synced')).status?.bindingsCreated?.roleBindings).to.equal(1);
  });

  it('follows the namespaces of projects, as they are labelled', async () => {
    await server.kubernetes.apply(aBinding('projects', { scope: 'project', constraint: [{ project: 'sales' }, { project: 'none' }] }));
    await bindings.untilBound('projects', ['User jane in shop', 'User jane in till']);

    await patch('/api/v1/namespaces/lab', { metadata: { labels: { 'console.platform.io/project': 'none' } } });
    await bindings.untilBound('projects', ['User jane in shop', 'User jane in till', 'User jane in lab']);
    await patch('/api/v1/namespaces/lab', { metadata: { labels: { 'console.platform.io/project': 'research' } } });
    await bindings.untilBound('projects', ['User jane in shop', 'User jane in till']);
    await server.kubernetes.remove('/api/v1/namespaces/till');
    await bindings.untilBound('projects', ['User jane in shop']);
    await bindings.until('projects', 'Synced');
  });

  it('waits for a project without namespaces', async () => {
    await server.kubernetes.apply(aBinding('empty', { scope: 'project', constraint: [{ project: 'nobody' }] }));
    expect(conditionOf(await bindings.until('empty', 'Pending'), 'NamespacesFound')?.reason).to.equal('NoNamespace');
  });

  it('is repaired when it is edited or deleted', async () => {
    await server.kubernetes.apply(aBinding('drift', { scope: 'namespace', constraint: [{ namespace: 'shop' }] }), aBinding('drift-wide'));
    await bindings.until('drift', 'Synced');
    await bindings.until('drift-wide', 'Synced');
    const [made] = await bindings.made('drift');
    const [wide] = await bindings.made('drift-wide');
    const path = roleBindingPath('shop', made?.metadata.name ?? '');
    const widePath = `${clusterRoleBindingsPath}/${wide?.metadata.name}`;

    const intruder = { apiGroup: rbac, kind: 'User', name: 'intruder' };
    await patch(path, { subjects: [...(made?.subjects ?? []), intruder] });
    await bindings.untilBound('drift', ['User jane in shop']);
    await patch(path, { subjects: [{ kind: 'ServiceAccount', name: 'intruder', namespace: 'shop' }] });
    await bindings.untilBound('drift', ['User jane in shop']);
    await patch(path, { metadata: { labels: { 'auth.platform.io/userbinding': null } } });
    await bindings.untilBound('drift', ['User jane in shop']);
    await patch(path, { metadata: { ownerReferences: null, annotations: null } });
    await eventually(
      () => bindings.made('drift'),
      ([found]) => found?.metadata.ownerReferences?.length === 1 && found.metadata.annotations !== undefined,
    );
    await server.kubernetes.remove(path);
    await server.kubernetes.remove(widePath);
    await bindings.untilBound('drift', ['User jane in shop']);
    await bindings.untilBound('drift-wide', ['User jane']);
    await patch(widePath, { metadata: { labels: { mine: 'yes' } } });
    expect((await bindings.until('drift', 'Synced')).status?.bindingsCreated?.roleBindings).to.equal(1);
    expect((await bindings.made('drift-wide'))[0]?.metadata.labels).to.include({ mine: 'yes' });
  });

  it('is made again when its role was exchanged', async () => {
    await server.kubernetes.apply(aBinding('exchanged'));
    await bindings.until('exchanged', 'Synced');
    const [made] = await bindings.made('exchanged');
    const path = `${clusterRoleBindingsPath}/${made?.metadata.name}`;
    await server.kubernetes.remove(path);
    // A role reference is immutable, so another client has to create the binding first; the controller may be faster.
    await server.kubernetes.call('POST', clusterRoleBindingsPath, {
      ...made,
      metadata: { name: made?.metadata.name, labels: made?.metadata.labels, ownerReferences: made?.metadata.ownerReferences },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'edit' },
    });
    await eventually(
      () => bindings.made('exchanged'),
      ([found]) => found?.roleRef.name === 'view',
    );
  });

  it('leaves a binding alone that has the name and was not made for it', async () => {
    await server.kubernetes.apply(aBinding('foreign', { scope: 'namespace', constraint: [{ namespace: 'shop' }] }));
    await bindings.until('foreign', 'Synced');
    const [made] = await bindings.made('foreign');
    const path = roleBindingPath('shop', made?.metadata.name ?? '');
    await patch(path, { metadata: { labels: null, ownerReferences: null }, subjects: [{ apiGroup: rbac, kind: 'User', name: 'joe' }] });
    const binding = await bindings.until('foreign', 'Failed');

    expect(conditionOf(binding, 'BindingsMade')).to.include({ status: 'False', reason: 'NameTaken' });
    expect(conditionOf(binding, 'Ready')).to.include({ status: 'False', reason: 'NameTaken' });
    expect(binding.status?.bindingsCreated?.roleBindings).to.equal(0);
    await bindings.remove('foreign');
    await bindings.untilGone('foreign');
    const { status, body } = await server.kubernetes.call('GET', path);
    expect(status).to.equal(200);
    expect((body as { subjects: unknown }).subjects).to.deep.equal([{ apiGroup: rbac, kind: 'User', name: 'joe' }]);
  });

  it('goes before the UserBinding does', async () => {
    const constraint = [{ namespace: 'shop' }, { namespace: 'plain' }];
    await server.kubernetes.apply(aBinding('going', { scope: 'namespace', constraint }));
    await bindings.until('going', 'Synced');
    // A finalizer of another client keeps the UserBinding, so that the deletion of its RBAC objects can be seen.
    await patch(`${bindingsPath}/going`, { metadata: { finalizers: ['auth.platform.io/userbinding', 'example.com/hold'] } });
    await bindings.remove('going');
    await bindings.untilBound('going', []);
    const held = await eventually(
      () => bindings.read('going'),
      (found) => found?.metadata.finalizers?.length === 1,
    );
    expect(held?.metadata.finalizers).to.deep.equal(['example.com/hold']);
    await patch(`${bindingsPath}/going`, { metadata: { finalizers: [] } });
    await bindings.untilGone('going');
  });

  it('ends in phase Failed for a role that the service may not bind, and recovers once it may', async () => {
    await server.kubernetes.apply(aBinding('beyond', { roleRef: 'cluster-admin' }));
    const failed = await bindings.until('beyond', 'Failed');

    expect(conditionOf(failed, 'BindingsMade')).to.include({ status: 'False', reason: 'NotAllowedToBind' });
    expect(conditionOf(failed, 'BindingsMade')?.message).to.include('may not bind the ClusterRole cluster-admin');
    expect(await bindings.made('beyond')).to.deep.equal([]);
    const role = (name: string) => `/apis/${rbac}/v1/clusterroles/${name}`;
    const mine = { apiGroups: [rbac], resources: ['clusterroles'], resourceNames: ['cluster-admin'], verbs: ['bind'] };
    const { body } = await server.kubernetes.call('GET', role('atrium-user-bindings'));
    const { rules } = body as { rules: unknown[] };
    await patch(role('atrium-user-bindings'), { rules: [...rules, mine] });
    await bindings.until('beyond', 'Synced');

    await patch(`${bindingsPath}/beyond`, {
      spec: {
        subjects: [
          { kind: 'User', name: 'jane' },
          { kind: 'User', name: 'joe' },
        ],
      },
    });
    await bindings.untilBound('beyond', ['User jane', 'User joe']);
    await patch(role('atrium-user-bindings'), { rules });
    // Without the right to bind the role, no subject can be removed from a binding, so the controller deletes the binding.
    await eventually(
      async () => {
        await patch(`${bindingsPath}/beyond`, { spec: { subjects: [{ kind: 'User', name: 'jane' }] } });
        return bindings.read('beyond');
      },
      (found) => found?.status?.phase !== undefined,
    );
    await eventually(
      () => bindings.bound('beyond'),
      (bound) => !bound.includes('User joe'),
    );
  });

  it('says of a role that is not there that it is not, also if the service may not bind it', async () => {
    await server.kubernetes.apply(aBinding('unknown-role', { roleRef: 'not-there' }));
    const found = await bindings.until('unknown-role', 'Failed');
    expect(conditionOf(found, 'RoleFound')).to.include({ status: 'False', reason: 'RoleNotFound' });
    expect(conditionOf(found, 'Ready')).to.include({ status: 'False', reason: 'RoleNotFound' });
    expect(conditionOf(found, 'BindingsMade')).to.include({ status: 'False', reason: 'NotAllowedToBind' });
    expect(await bindings.bound('unknown-role')).to.deep.equal([]);
  });

  it('reports when its role is deleted, and when it exists again', async () => {
    const role = 'atrium-users-view';
    const shown = { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: role }, rules: [] };
    await server.kubernetes.apply(aBinding('role-goes', { roleRef: role }));
    await bindings.until('role-goes', 'Synced');
    const roleFound = (status: string) =>
      eventually(
        async () => (await bindings.read('role-goes')) as UserBinding,
        (found) => conditionOf(found, 'RoleFound')?.status === status,
      );
    await roleFound('True');
    await server.kubernetes.remove(`/apis/${rbac}/v1/clusterroles/${role}`);
    expect(conditionOf(await roleFound('False'), 'RoleFound')).to.include({ reason: 'RoleNotFound' });
    await server.kubernetes.apply(shown);
    expect(conditionOf(await roleFound('True'), 'RoleFound')).to.include({ reason: 'AsExpected' });
  });

  it('waits for a role that is not there', async () => {
    const binding = aBinding('no-role', { roleRef: 'atrium-users-view' });
    await removeRole(server, 'atrium-users-view');
    await server.kubernetes.apply(binding);
    const pending = await bindings.until('no-role', 'Pending');
    expect(conditionOf(pending, 'RoleFound')).to.include({ status: 'False', reason: 'RoleNotFound' });
    await server.kubernetes.apply({
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'atrium-users-view' },
      rules: [],
    });
    await bindings.until('no-role', 'Synced');
  });
});
