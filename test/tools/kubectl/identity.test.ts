/** Tokens of the embedded provider at API servers: a cluster that trusts it, and a cluster that does not. */

import { expect } from 'chai';
import { z } from 'zod';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { kubectl } from '../../support/kubectl.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const handedOut = z.object({ ext: z.object({ token: z.object({ id_token: z.string() }) }) });

async function idToken(service: EmbeddedLogin): Promise<string> {
  const { status, body } = await service.logIn(jane.email, jane.password, '?token_storage=local');
  expect(status, body).to.equal(200);
  return handedOut.parse(JSON.parse(body)).ext.token.id_token;
}

/** Lets members of the group `dev` read users. */
const bindDevelopers = ({ admin }: EmbeddedLogin) =>
  admin.apply(clusterRoleBinding('dev-sees-users', 'atrium-users-view', { kind: 'Group', name: 'dev' }));

describe('an ID token of the embedded provider, at a cluster that trusts it', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password }));
  let token: string;

  before(async () => {
    token = await idToken(service);
  });

  const asJane = (...args: string[]) => kubectl({ url: service.cluster.url, caFile: service.caFile, token }, ...args);

  it('identifies its user to kubectl', async () => {
    const { stdout, stderr } = await asJane('auth', 'whoami', '--output=json');

    expect(stderr).to.equal('');
    const { username, groups } = JSON.parse(stdout).status.userInfo;
    expect({ username, groups }).to.deep.equal({ username: jane.email, groups: ['dev', 'system:authenticated'] });
  });

  it('gives kubectl the rights of the user, as soon as they are granted', async () => {
    const refused = await asJane('get', 'users');
    expect(refused).to.include({ isDone: false, stdout: '' });
    expect(refused.stderr).to.match(
      /^Error from server \(Forbidden\): users\.auth\.platform\.io is forbidden: User "jane@example\.com" cannot list/,
    );
    await bindDevelopers(service);

    const { stdout } = await eventually(
      () => asJane('get', 'users', '--output=name'),
      ({ isDone }) => isDone,
    );
    expect(stdout).to.equal(`user.auth.platform.io/${nameOf(jane.email)}\n`);
    expect((await asJane('delete', 'user', nameOf(jane.email))).stderr).to.match(/^Error from server \(Forbidden\)/);
  });

  it('is invalid with another signature', async () => {
    const [head, claims] = token.split('.');
    const target = { url: service.cluster.url, caFile: service.caFile, token: `${head}.${claims}.${'A'.repeat(342)}` };

    expect((await kubectl(target, 'auth', 'whoami')).stderr).to.match(/Unauthorized|must be logged in/);
  });
});

describe('the embedded provider, at a cluster that does not trust it', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane.email], password: jane.password, credentials: 'impersonate' }));

  /** Sends an access review with a token, as a script does. */
  const may = async (verb: string, resource: string): Promise<unknown> => {
    const group = resource === 'users' ? 'auth.platform.io' : '';
    const answer = await service.request('/auth/v1/selfsubjectaccessreviews', {
      method: 'POST',
      headers: { authorization: `Bearer ${await idToken(service)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ spec: { resourceAttributes: { verb, group, resource } } }),
    });
    expect(answer.status).to.equal(201);
    return z.object({ status: z.object({ allowed: z.boolean() }) }).parse(await answer.json()).status.allowed;
  };

  it('issues tokens that the API server refuses to kubectl', async () => {
    const target = { url: service.cluster.url, caFile: service.caFile, token: await idToken(service) };

    expect((await kubectl(target, 'auth', 'whoami')).stderr).to.match(/Unauthorized|must be logged in/);
  });

  it('logs in impersonated users, with their rights and no others', async () => {
    const { browser, status, body } = await service.logIn(jane.email, jane.password);
    expect(status, body).to.equal(200);
    expect(JSON.parse(body)).to.deep.include({ name: jane.email, groups: ['dev'] });
    const users = () => browser.get(`${service.url}/auth/v2/users?limit=10`);
    expect((await users()).response.status).to.equal(403);
    await bindDevelopers(service);

    // The watch of bindings invalidates the cached refusal.
    const listed = await eventually(users, ({ response }) => response.status === 200);
    expect(JSON.parse(listed.body).items.map(({ spec }: { spec: { email: string } }) => spec.email)).to.deep.equal([jane.email]);
    expect(await may('list', 'users')).to.equal(true);
    expect(await may('delete', 'users')).to.equal(false);
    expect(await may('list', 'secrets')).to.equal(false);
  });
});
