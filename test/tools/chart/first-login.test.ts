import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { chart, helm, identitiesOf, namespace, one, render, type Values } from './chart.ts';

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
  const notes = async (values: Values) => {
    const options = Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
    const text = await helm('install', 'atrium', chart, `--namespace=${namespace}`, '--dry-run=client', '--hide-secret', ...options);
    return text.slice(text.indexOf('NOTES:'));
  };

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
    expect(await notes({}))
      .to.include('No user can log in yet: set config.server.publicURL')
      .and.to.include('--namespace atrium-system --reset-then-reuse-values');
    expect(await notes({ 'config.server': server }))
      .to.include('No user exists yet: set admin.email')
      .and.to.include('not reachable from outside the cluster');
  });

  it('warn of unbounded impersonation', async () => {
    const issuer = { 'config.server': server, 'config.login.issuer': 'https://issuer.example.com' };

    expect(await notes({ 'config.server': server })).to.include('WARNING: the account of the service');
    expect(await notes({ 'config.server': server, 'rbac.impersonation.groups': ['dev'] })).not.to.include('WARNING');
    expect(await notes(issuer))
      .to.include('Log in at https://issuer.example.com')
      .and.not.to.include('WARNING');
    expect(await notes({ ...issuer, 'config.features.accessTokens': true }))
      .to.include('WARNING: the account of the service')
      .and.to.include('rbac.impersonation.groups. Access tokens need it (config.features.accessTokens).');
  });

  it('list disabled features with the reason', async () => {
    const on = { 'config.features.accessTokens': true, 'config.features.userBindings': true };
    const why = 'Disabled, because they give the account of the service far-reaching rights (docs/install.md): ';

    expect(await notes({ 'config.server': server })).to.include(
      `${why}config.features.accessTokens, config.features.userBindings, config.users.certificates.enabled.`,
    );
    expect(await notes({ 'config.server': server, ...on })).to.include(`${why}config.users.certificates.enabled.`);
    expect(await notes({ 'config.server': server, ...on, 'config.users.certificates.enabled': true })).not.to.include('Disabled, because');
  });
});
