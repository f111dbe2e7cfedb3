import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { identitiesOf, namespace, notes, one, render } from './chart.ts';
import { grantsOf } from './granted.ts';

const server = { publicURL: 'https://console.example.com' };

describe('the first administrator of the chart', () => {
  const values = { 'config.server': server, 'admin.email': 'Ada@Example.com' };

  it('is created by a Job that may create that user and no other', async () => {
    const objects = await render(values);
    const name = recordName('ada@example.com');

    expect(JSON.stringify(one(objects, 'Job', 'atrium-first-admin').spec))
      .to.include('"create-admin"')
      .and.to.include('"Ada@Example.com"');
    expect(one(objects, 'ClusterRole', 'atrium-first-admin').rules).to.deep.equal([
      { apiGroups: ['auth.platform.io'], resources: ['users'], verbs: ['create'] },
      { apiGroups: ['auth.platform.io'], resources: ['users'], resourceNames: [name], verbs: ['get'] },
      { apiGroups: ['auth.platform.io'], resources: ['users/status'], resourceNames: [name], verbs: ['patch'] },
    ]);
    expect(one(objects, 'Role', 'atrium-first-admin').rules).to.deep.equal([
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['atrium-first-admin', `user-password-${name}`], verbs: ['get'] },
    ]);
  });

  it('E14 leaves with its account, whether the Job succeeds or fails', async () => {
    const hooks = (await render(values)).filter(({ metadata }) => metadata.annotations?.['helm.sh/hook']?.startsWith('post-install'));

    expect(hooks.map(({ kind }) => kind)).to.have.members([
      'ServiceAccount',
      'ClusterRole',
      'ClusterRoleBinding',
      'Role',
      'RoleBinding',
      'Job',
    ]);
    for (const { kind, metadata } of hooks)
      expect(metadata.annotations?.['helm.sh/hook-delete-policy'], kind).to.equal('before-hook-creation,hook-succeeded,hook-failed');
  });

  it('gets the chosen roles, under the Kubernetes user name', async () => {
    const claims = { 'config.login.claims.usernamePrefix': 'oidc:', 'admin.clusterRoles': ['cluster-admin'] };
    const { roleRef, subjects } = one(await render({ ...values, ...claims }), 'ClusterRoleBinding', 'atrium-first-admin-cluster-admin');

    expect(roleRef).to.have.property('name', 'cluster-admin');
    expect(subjects).to.have.nested.property('[0].name', 'oidc:Ada@Example.com');
  });

  it('is not created without an address, and has no password with an external issuer', async () => {
    const without = await render({ 'config.server': server });
    const elsewhere = await render({ ...values, 'config.login.issuer': 'https://issuer.example.com' });

    expect(identitiesOf(without).filter((identity) => identity.includes('first-admin'))).to.deep.equal([]);
    expect(identitiesOf(elsewhere).filter((identity) => identity.includes('first-admin'))).to.deep.equal([
      'ClusterRoleBinding  atrium-first-admin-atrium-users-admin',
    ]);
  });
});

describe('the notes after the installation', () => {
  it('describe the first login', async () => {
    const text = await notes({
      'config.server': { ...server, trustedProxies: ['10.0.0.0/8'] },
      'admin.email': 'ada@example.com',
      'ingress.enabled': true,
    });

    expect(text).to.include('1. Open https://console.example.com\n').and.to.include('Log in as ada@example.com');
    expect(text).to.include(
      `kubectl --namespace atrium-system get secret atrium-first-admin --output go-template='{{.data.password | base64decode}}{{"\\n"}}'`,
    );
  });

  it('list missing settings', async () => {
    expect(await notes({ 'config.server': server }))
      .to.include('No user exists yet: set admin.email')
      .and.to.include('not reachable from outside the cluster');
  });

  it('give the first administrator the right to see workloads, unless a role of the values has it', async () => {
    const command = 'kubectl create clusterrolebinding first-admin-view --clusterrole view --user "ada@example.com"';
    const admin = { 'config.server': server, 'admin.email': 'ada@example.com' };

    expect(await notes(admin)).to.include(command);
    expect(await notes({ ...admin, 'admin.subject': 'oidc:ada' })).to.include('--clusterrole view --user "oidc:ada"');
    expect(await notes({ ...admin, 'admin.clusterRoles': ['atrium-users-admin', 'cluster-admin'] })).not.to.include('first-admin-view');
  });

  it('warn of unbounded impersonation', async () => {
    const issuer = { 'config.server': server, 'config.login.issuer': 'https://issuer.example.com' };
    const older = '1.35.0';

    expect(await notes({ 'config.server': server }, older)).to.include('WARNING: the account of the service');
    expect(await notes({ 'config.server': server }, '1.36.0')).not.to.include('WARNING');
    expect(await notes({ 'config.server': server, 'rbac.impersonation.constrained': false })).to.include('WARNING');
    expect(await notes({ 'config.server': server, 'rbac.impersonation.groups': ['dev'] }, older)).not.to.include('WARNING');
    expect(await notes(issuer, older))
      .to.include('Log in at https://issuer.example.com')
      .and.not.to.include('WARNING');
    expect(await notes({ ...issuer, 'config.features.accessTokens': true }, older))
      .to.include('WARNING: the account of the service')
      .and.to.include('rbac.impersonation.groups. Access tokens need it (config.features.accessTokens).');
  });

  const rowsOf = (text: string) =>
    text.split('\n').flatMap((line) => /^ {2}([a-zA-Z.]+) +(cluster|namespace) +(.*)$/.exec(line)?.slice(1) ?? []);
  const headed = (text: string, heading: string) => text.slice(text.indexOf(heading)).split('\n\n').slice(0, 2).join('\n');

  it('print the rights of the profile as a table, which is that of the roles', async () => {
    const text = headed(await notes({ profile: 'team' }, '1.36.0'), 'Rights of the account of the service');
    const rows = rowsOf(text);
    const account = { name: 'atrium', namespace };
    const base = grantsOf(await render({ 'config.kubernetes.credentials': 'passthrough' }), account).length;

    expect(rows).to.include.members([
      'features.userBindings',
      'features.accessRequests',
      'features.accessTokens',
      'lists.preset',
      'kubernetes.credentials',
    ]);
    expect(text).to.match(/features\.userBindings +cluster +bind +clusterroles: atrium-users-view, view, edit, admin \(rbac/);
    expect(text).to.match(/impersonate:user-info +users/);
    expect(grantsOf(await render({ profile: 'team' }), account).length).to.be.above(base);
    expect(await notes({ profile: 'team', 'rbac.userBindings.clusterRoles': ['view'] })).to.match(/bind +clusterroles: view \(rbac/);
    expect(await notes({ profile: 'team', 'rbac.create': false })).not.to.include('VERBS');
  });

  it('print what the profile team would grant, with the command for it', async () => {
    const text = headed(await notes({}, '1.36.0'), 'Off with profile minimal:');

    expect(text).to.include(
      'features.accessRequests, features.accessTokens, features.userBindings, lists.preset. Profile team turns them on',
    );
    expect(rowsOf(text)).to.include.members(['features.userBindings', 'lists.preset']);
    expect(await notes({})).to.include(
      'helm upgrade atrium <chart> --namespace atrium-system --reset-then-reuse-values --set profile=team',
    );
    expect(await notes({}, '1.33.0')).to.include('Off with profile minimal:');
    expect(await notes({ profile: 'team' })).not.to.include('Off with profile');
    const on = { 'config.features.accessTokens': true, 'config.lists.preset': 'workloads', 'config.features.userBindings': true };
    expect(await notes({ ...on, 'config.features.accessRequests': true })).not.to.include('Off with profile');
  });
});
