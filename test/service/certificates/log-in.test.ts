import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { nameOf } from '../users/a-user.ts';
import { issuedBy, kubectlWhoami } from './authorize.ts';

const jane = 'jane@example.com';
const password = 'correct horse battery';

describe('certificates of people who have logged in', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane], password }));
  let token: string;
  before(async () => {
    await service.admin.apply(clusterRoleBinding('jane-certificates', 'atrium-certificates', { kind: 'User', name: jane }));
    const { body } = await service.logIn(jane, password, '?token_storage=local');
    token = JSON.parse(body).ext.token.id_token;
  });

  const authorize = (spec = {}) =>
    service.request('/auth/v1/authorize', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ spec }),
    });

  it('name the groups that the API server knows of them, or some of these', async () => {
    const certificate = await issuedBy(await authorize({ user: nameOf(jane) }));
    expect(certificate.status.subject).to.deep.equal({ commonName: jane, organizations: ['dev'] });
    const { username, groups } = await kubectlWhoami(certificate);
    expect(username).to.equal(jane);
    expect(groups).to.have.members(['dev', 'system:authenticated']);

    const without = await issuedBy(await authorize({ groups: [] }));
    expect(without.status.subject.organizations).to.deep.equal([]);
  });

  it('CRT-04 are refused with 401 once the user is disabled, while those he has go on', async () => {
    const certificate = await issuedBy(await authorize());
    const patched = await service.admin.call(
      'PATCH',
      `/apis/auth.platform.io/v1/users/${nameOf(jane)}`,
      { spec: { is_disabled: true } },
      { 'content-type': 'application/merge-patch+json' },
    );
    expect(patched.status).to.equal(200);

    await eventually(
      async () => (await authorize()).status,
      (status) => status === 401,
    );
    expect((await kubectlWhoami(certificate)).username).to.equal(jane);
  });
});
