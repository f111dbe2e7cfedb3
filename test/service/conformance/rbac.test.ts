import { expect } from 'chai';
import type { ApiClient } from './api-client.ts';
import { failure } from './api-client.ts';
import { eventually } from './eventually.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const group = 'conformance.example.com';

describe('role-based access control', () => {
  const { workspace, admin } = suiteWorkspace();
  let alice: ApiClient;
  let bob: ApiClient;
  let carol: ApiClient;
  /** Cluster-wide objects, which have the name of the namespace and are deleted after the suite. */
  const clusterWide: string[] = [];
  before(async () => {
    [alice, bob, carol] = await Promise.all([workspace.as('alice'), workspace.as('bob'), workspace.as('carol')]);
    await admin.create(workspace.widgets, aWidget('first'));
    await admin.create(workspace.widgets, aWidget('second'));
  });
  after(async () => {
    for (const path of clusterWide) await admin.delete(path);
  });

  const create = async (
    kind: 'roles' | 'rolebindings' | 'clusterroles' | 'clusterrolebindings',
    name: string,
    content: Record<string, unknown>,
  ) => {
    const isClusterWide = kind.startsWith('cluster');
    const collection = isClusterWide ? `${rbac}/${kind}` : `${rbac}/namespaces/${workspace.namespace}/${kind}`;
    const metadata = { name: isClusterWide ? `${workspace.namespace}-${name}` : name, ...(content.metadata ?? {}) };
    const object = await admin.create(collection, { ...content, metadata });
    if (isClusterWide) clusterWide.push(`${collection}/${object.metadata.name}`);
    return object.metadata.name;
  };
  const user = (name: string) => [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }];
  const role = (kind: 'Role' | 'ClusterRole', name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
  const status = async (call: Promise<{ status: number }>) => (await call).status;
  /** Waits for a status: the authorizer learns of a grant by a watch. */
  const becomes = (expected: number, call: () => Promise<{ status: number }>) =>
    eventually(async () => expect(await status(call())).to.equal(expected));

  it('lets system:masters do everything', async () => {
    expect(await status(admin.get('/api/v1/secrets'))).to.equal(200);
    expect(await status(admin.get('/conformance-path'))).not.to.equal(403);
  });

  it('has cluster-admin, discovery and self-review roles from the start', async () => {
    for (const name of ['cluster-admin', 'system:discovery', 'system:basic-user', 'system:public-info-viewer']) {
      expect(await status(admin.get(`${rbac}/clusterroles/${name}`)), name).to.equal(200);
      expect(await status(admin.get(`${rbac}/clusterrolebindings/${name}`)), name).to.equal(200);
    }
  });

  it('answers 403 Forbidden, naming user, verb and resource, at the cluster scope', async () => {
    const answer = await bob.get('/api/v1/namespaces');

    expect(answer.status).to.equal(403);
    expect(answer.body).to.deep.equal(
      failure(
        403,
        'Forbidden',
        'namespaces is forbidden: User "bob" cannot list resource "namespaces" in API group "" at the cluster scope',
        { kind: 'namespaces' },
      ),
    );
  });

  it('answers 403 for one object in a namespace, whether it is there or not', async () => {
    for (const name of ['first', 'missing']) {
      const answer = await bob.get(`${workspace.widgets}/${name}`);

      expect(answer.status).to.equal(403);
      expect(answer.body).to.deep.include({
        message: `widgets.${group} "${name}" is forbidden: User "bob" cannot get resource "widgets" in API group "${group}" in the namespace "${workspace.namespace}"`,
        details: { name, group, kind: 'widgets' },
      });
    }
  });

  it('names the verb of every method, and the subresource', async () => {
    const path = `${workspace.widgets}/first`;
    const calls: [string, ReturnType<ApiClient['get']>][] = [
      ['create resource "widgets"', bob.post(workspace.widgets, aWidget('x'))],
      ['update resource "widgets"', bob.put(path, aWidget('first'))],
      ['patch resource "widgets"', bob.patch(path, {})],
      ['delete resource "widgets"', bob.delete(path)],
      ['deletecollection resource "widgets"', bob.delete(workspace.widgets)],
      ['watch resource "widgets"', bob.get(workspace.widgets, { watch: true })],
      ['patch resource "widgets/status"', bob.patch(`${path}/status`, {})],
    ];
    for (const [expected, call] of calls) {
      const answer = await call;

      expect(answer.status, expected).to.equal(403);
      expect(answer.body).to.have.property('message').that.includes(`User "bob" cannot ${expected} in API group "${group}"`);
    }
  });

  it('grants the rules of a Role in the namespace of its RoleBinding', async () => {
    await create('roles', 'reader', { rules: [{ apiGroups: [group], resources: ['widgets'], verbs: ['get', 'list'] }] });
    await create('rolebindings', 'reader', { subjects: user('alice'), roleRef: role('Role', 'reader') });

    await becomes(200, () => alice.get(workspace.widgets));
    expect(await status(alice.get(`${workspace.widgets}/first`))).to.equal(200);
    expect(await status(alice.delete(`${workspace.widgets}/first`))).to.equal(403);
    expect(await status(alice.get(workspace.widgets, { watch: true }))).to.equal(403);
    expect(await status(alice.get(workspace.configMaps))).to.equal(403);
    expect(await status(alice.get(`/apis/${group}/v1/widgets`))).to.equal(403);
    expect(await status(alice.get(`/apis/${group}/v1/namespaces/default/widgets`))).to.equal(403);
  });

  it('takes a star for every group, resource or verb', async () => {
    await create('roles', 'star', { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['list'] }] });
    await create('rolebindings', 'star', { subjects: user('dave'), roleRef: role('Role', 'star') });
    const dave = (path: string, method = 'GET') => admin.send(method, path, { headers: { 'impersonate-user': 'dave' } });

    await becomes(200, () => dave(workspace.widgets));
    expect(await status(dave(`/api/v1/namespaces/${workspace.namespace}/secrets`))).to.equal(200);
    expect(await status(dave(`${workspace.widgets}/first`))).to.equal(403);
    expect(await status(dave('/api/v1/namespaces/default/secrets'))).to.equal(403);
  });

  it('lets view, edit and admin be bound in a namespace', async () => {
    const secrets = `/api/v1/namespaces/${workspace.namespace}/secrets`;
    const roles = `${rbac}/namespaces/${workspace.namespace}/roles`;
    const expected = { view: [200, 403, 403], edit: [200, 200, 403], admin: [200, 200, 200] };
    for (const [name, statuses] of Object.entries(expected)) {
      await create('rolebindings', name, { subjects: user(`the-${name}`), roleRef: role('ClusterRole', name) });
      const get = (path: string) => admin.send('GET', path, { headers: { 'impersonate-user': `the-${name}` } });

      await becomes(200, () => get(workspace.configMaps));
      expect([200, await status(get(secrets)), await status(get(roles))], name).to.deep.equal(statuses);
    }
  });

  it('takes a grant back when its binding goes', async () => {
    await create('roles', 'passing', { rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }] });
    await create('rolebindings', 'passing', { subjects: user('alice'), roleRef: role('Role', 'passing') });
    const secrets = `/api/v1/namespaces/${workspace.namespace}/secrets`;
    await becomes(200, () => alice.get(secrets));
    await admin.delete(`${rbac}/namespaces/${workspace.namespace}/rolebindings/passing`);

    await becomes(403, () => alice.get(secrets));
  });

  it('grants a ClusterRole in one namespace by a RoleBinding', async () => {
    const name = await create('clusterroles', 'editor', { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }] });
    await create('rolebindings', 'editor', { subjects: user('alice'), roleRef: role('ClusterRole', name) });

    await becomes(200, () => alice.get(workspace.configMaps));
    expect(await status(alice.post(workspace.configMaps, { metadata: { name: 'hers' } }))).to.equal(201);
    expect(await status(alice.get('/api/v1/namespaces/default/configmaps'))).to.equal(403);
  });

  it('grants a ClusterRole everywhere by a ClusterRoleBinding', async () => {
    const name = await create('clusterroles', 'lister', { rules: [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['list'] }] });
    await create('clusterrolebindings', 'lister', { subjects: user('carol'), roleRef: role('ClusterRole', name) });

    await becomes(200, () => carol.get('/api/v1/serviceaccounts'));
    expect(await status(carol.get('/api/v1/namespaces/default/serviceaccounts'))).to.equal(200);
  });

  it('grants only the resourceNames of a rule', async () => {
    const rules = [{ apiGroups: [group], resources: ['widgets'], resourceNames: ['second'], verbs: ['get', 'list', 'patch', 'create'] }];
    await create('roles', 'named', { rules });
    await create('rolebindings', 'named', { subjects: user('bob'), roleRef: role('Role', 'named') });

    await becomes(200, () => bob.get(`${workspace.widgets}/second`));
    expect(await status(bob.get(`${workspace.widgets}/first`))).to.equal(403);
    expect(await status(bob.get(workspace.widgets))).to.equal(403);
    expect(await status(bob.get(workspace.widgets, { fieldSelector: 'metadata.name=second' }))).to.equal(200);
    expect(await status(bob.post(workspace.widgets, aWidget('second')))).to.equal(403);
  });

  it('grants a subresource apart from its resource', async () => {
    await create('roles', 'status', { rules: [{ apiGroups: [group], resources: ['widgets/status'], verbs: ['patch'] }] });
    await create('rolebindings', 'status', { subjects: user('carol'), roleRef: role('Role', 'status') });
    const path = `${workspace.widgets}/first`;

    await becomes(200, () => carol.patch(`${path}/status`, { status: { phase: 'Ready' } }));
    expect(await status(carol.patch(path, { spec: { size: 2 } }))).to.equal(403);
    expect(await status(carol.get(path))).to.equal(403);
  });

  it('grants paths by nonResourceURLs, a star at the end included', async () => {
    const rules = [{ nonResourceURLs: ['/conformance', '/conformance/*'], verbs: ['get'] }];
    const name = await create('clusterroles', 'paths', { rules });
    const before = await carol.get('/conformance/deep/path');
    await create('clusterrolebindings', 'paths', { subjects: user('carol'), roleRef: role('ClusterRole', name) });

    expect(before.status).to.equal(403);
    expect(before.body).to.have.property('message', 'forbidden: User "carol" cannot get path "/conformance/deep/path"');
    await becomes(404, () => carol.get('/conformance/deep/path'));
    expect(await status(carol.get('/conformance'))).to.equal(404);
    expect(await status(carol.get('/conformances'))).to.equal(403);
    expect(await status(carol.post('/conformance', {}))).to.equal(403);
  });

  it('grants by group: system:authenticated is everyone with a name', async () => {
    const name = await create('clusterroles', 'everyone', { rules: [{ nonResourceURLs: ['/everyone'], verbs: ['get'] }] });
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }];
    await create('clusterrolebindings', 'everyone', { subjects, roleRef: role('ClusterRole', name) });

    await becomes(404, () => bob.get('/everyone'));
    expect(await status(carol.get('/everyone'))).to.equal(404);
  });

  it('collects the rules of an aggregated ClusterRole by label, and follows their changes', async () => {
    const selector = { [`conformance.example.com/${workspace.namespace}`]: 'true' };
    const name = await create('clusterroles', 'sum', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: selector }] }, rules: [] });
    await create('clusterrolebindings', 'sum', { subjects: user('bob'), roleRef: role('ClusterRole', name) });
    const leases = '/apis/coordination.k8s.io/v1/leases';
    expect(await status(bob.get(leases))).to.equal(403);
    const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['list'] }];
    const part = await create('clusterroles', 'part', { metadata: { labels: selector }, rules });

    await becomes(200, () => bob.get(leases));
    expect(await admin.read(`${rbac}/clusterroles/${name}`)).to.have.deep.property('rules', rules);
    await admin.delete(`${rbac}/clusterroles/${part}`);
    await becomes(403, () => bob.get(leases));
  });

  it('refuses to change the roleRef of a binding', async () => {
    await create('roles', 'old', { rules: [] });
    await create('rolebindings', 'fixed', { subjects: user('bob'), roleRef: role('Role', 'old') });
    const answer = await admin.patch(`${rbac}/namespaces/${workspace.namespace}/rolebindings/fixed`, { roleRef: { name: 'new' } });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'roleRef');
  });

  describe('escalation', () => {
    const rolesOf = (namespace: string) => `${rbac}/namespaces/${namespace}/roles`;
    before(async () => {
      const rules = [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create'] },
        { apiGroups: [''], resources: ['events'], verbs: ['list'] },
      ];
      await create('roles', 'delegate', { rules });
      await create('rolebindings', 'delegate', { subjects: user('carol'), roleRef: role('Role', 'delegate') });
      await becomes(200, () => carol.get(`/api/v1/namespaces/${workspace.namespace}/events`));
    });

    it('is refused in a Role: users cannot grant permissions that they do not have', async () => {
      const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
      const answer = await carol.post(rolesOf(workspace.namespace), { metadata: { name: 'greedy' }, rules });

      expect(answer.status).to.equal(403);
      expect(answer.body).to.include({ reason: 'Forbidden' });
      expect(answer.body).to.have.property('message').that.includes('is attempting to grant RBAC permissions not currently held');
      const modest = { metadata: { name: 'modest' }, rules: [{ apiGroups: [''], resources: ['events'], verbs: ['list'] }] };
      expect(await status(carol.post(rolesOf(workspace.namespace), modest))).to.equal(201);
    });

    it('is refused in a binding: no user binds a role that grants more than they have', async () => {
      const bindings = `${rbac}/namespaces/${workspace.namespace}/rolebindings`;
      const greedy = { metadata: { name: 'greedy' }, subjects: user('carol'), roleRef: role('ClusterRole', 'cluster-admin') };
      const answer = await carol.post(bindings, greedy);

      expect(answer.status).to.equal(403);
      expect(answer.body).to.have.property('message').that.includes('is attempting to grant RBAC permissions not currently held');
    });

    it('is 404 in a binding of a role that there is not, told as if the binding were missing, by the name of the role', async () => {
      const bindings = `${rbac}/namespaces/${workspace.namespace}/rolebindings`;
      for (const kind of ['ClusterRole', 'Role'] as const) {
        const answer = await carol.post(bindings, {
          metadata: { name: 'early' },
          subjects: user('carol'),
          roleRef: role(kind, 'not-there'),
        });
        const message = 'rolebindings.rbac.authorization.k8s.io "not-there" not found';
        const details = { name: 'not-there', group: 'rbac.authorization.k8s.io', kind: 'rolebindings' };
        expect(answer.body, kind).to.deep.equal(failure(404, 'NotFound', message, details));
      }
    });
  });
});
