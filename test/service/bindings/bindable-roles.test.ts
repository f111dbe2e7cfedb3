/** Roles that the service account may not bind, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, Bindings, bindingsPath, grantBinding, rbac } from './support.ts';

const path = '/auth/v2/userbindings';
const rolePath = `/apis/${rbac}/v1/clusterroles/atrium-user-bindings`;
const merge = { 'content-type': 'application/merge-patch+json' };

interface Status {
  message: string;
  details?: { causes?: { reason: string; field: string; message: string }[] };
}

/** `manager` may bind all of these; the service may bind all but the last two. */
const roles = ['view', 'edit', 'admin', 'atrium-users-view', 'cluster-admin', 'auditors'];

describe('the check that the service may bind a role', () => {
  const server = forSuite(() => startServer());
  let bindings: Bindings;

  before(async () => {
    bindings = new Bindings(server.kubernetes);
    const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'] }];
    await server.kubernetes.apply(aNamespace('shop'), {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'auditors' },
      rules,
    });
    await grantBinding(server.kubernetes, roles);
    await eventually(
      () => create('probe', { roleRef: 'view' }, '?dryRun=All'),
      ({ status }) => status === 201,
    );
  });

  const create = (name: string, spec: object, query = '') =>
    server.request(`${path}${query}`, {
      method: 'POST',
      as: 'manager',
      body: { metadata: { name }, spec: aBinding(name, { ...spec }).spec },
    });

  it('K2 refuses them at creation and dry run, names the roles that work, and writes nothing', async () => {
    const inShop = { scope: 'namespace', constraint: [{ namespace: 'shop' }] };
    const inProject = { scope: 'project', constraint: [{ project: 'web' }] };
    for (const query of ['', '?dryRun=All']) {
      for (const spec of [{}, inShop, inProject]) {
        const response = await create('beyond', { roleRef: 'cluster-admin', ...spec }, query);
        const { details, message } = (await response.json()) as Status;
        expect(response.status, message).to.equal(422);
        expect(details?.causes).to.deep.equal([
          {
            reason: 'FieldValueNotSupported',
            message:
              'Unsupported value: "cluster-admin": the service may bind "admin", "atrium-users-view", "edit", "view"; rbac.userBindings.clusterRoles of the chart adds roles, or deploy/manifests/user-bindings.yaml',
            field: 'spec.roleRef',
          },
        ]);
      }
    }
    expect(await bindings.read('beyond')).to.equal(undefined);
  });

  it('N1 lists ClusterRoles with the reason why one cannot be bound, for callers who may list them', async () => {
    const list = (as: 'admin' | 'manager') => server.request('/auth/v2/bindableroles', { as });
    expect((await list('manager')).status).to.equal(403);
    const response = await list('admin');
    expect(response.status).to.equal(200);
    const { items } = (await response.json()) as { items: { name: string; bindable: { isBindable: boolean; reason?: string } }[] };
    const bindable = new Map(items.map(({ name, bindable }) => [name, bindable]));
    expect(bindable.get('edit')).to.deep.equal({ isBindable: true });
    expect(bindable.get('cluster-admin')?.isBindable).to.equal(false);
    expect(bindable.get('auditors')?.reason).to.match(/the service may not bind it; rbac\.userBindings\.clusterRoles of the chart/);
  });

  it('K2 binds view, edit and admin with the rights that an installation applies', async () => {
    for (const roleRef of ['view', 'edit', 'admin']) {
      expect((await create(`with-${roleRef}`, { roleRef })).status).to.equal(201);
      await bindings.until(`with-${roleRef}`, 'Synced');
      await bindings.remove(`with-${roleRef}`);
    }
  });

  it('K2 accepts a role once the service may bind it, or holds its rules', async () => {
    const { body } = await server.kubernetes.call('GET', rolePath);
    const { rules } = body as { rules: unknown[] };
    const given = { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['get'] };
    expect((await create('audit', { roleRef: 'auditors' })).status).to.equal(422);
    await server.kubernetes.call('PATCH', rolePath, { rules: [...rules, given] }, merge);
    await eventually(
      () => create('audit', { roleRef: 'auditors' }, '?dryRun=All'),
      ({ status }) => status === 201,
    );
    expect((await create('audit', { roleRef: 'auditors' })).status).to.equal(201);
    await bindings.until('audit', 'Synced');
    await server.kubernetes.call('PATCH', rolePath, { rules }, merge);
  });

  it('K2 names the file to apply where the service may bind no role', async () => {
    const { body } = await server.kubernetes.call('GET', rolePath);
    const { rules } = body as { rules: { verbs: string[] }[] };
    await server.kubernetes.call('PATCH', rolePath, { rules: rules.filter(({ verbs }) => !verbs.includes('bind')) }, merge);
    const refused = await eventually(
      () => create('none', { roleRef: 'admin' }, '?dryRun=All'),
      ({ status }) => status === 422,
    );
    expect(((await refused.json()) as Status).message).to.include(
      'Unsupported value: "admin": the service may bind no ClusterRole; run kubectl apply -f deploy/manifests/user-bindings.yaml, or set config.features.userBindings in the chart',
    );
    await server.kubernetes.call('PATCH', rolePath, { rules }, merge);
    // The authorizer of the API server learns of the rule by a watch.
    await eventually(
      () => server.kubernetes.call('POST', `${bindingsPath}?dryRun=All`, aBinding('none', { roleRef: 'view' })),
      ({ warnings }) => warnings.length === 0,
    );
  });

  it('K2 warns kubectl of them, and makes the UserBinding', async () => {
    const warned = async (name: string, roleRef: string) => {
      const { status, warnings } = await server.kubernetes.call('POST', bindingsPath, aBinding(name, { roleRef }));
      expect(status).to.equal(201);
      return warnings;
    };
    expect(await warned('by-kubectl', 'view')).to.deep.equal([]);
    expect(await warned('by-kubectl-too', 'cluster-admin')).to.deep.equal([
      "Validation failed for ValidatingAdmissionPolicy 'atrium-user-bindings' with binding 'atrium-user-bindings': the service may not bind the ClusterRole \"cluster-admin\"; roles it may bind: atrium-users-view, view, edit, admin",
    ]);
    await bindings.until('by-kubectl-too', 'Failed');
  });
});
