import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { claimsOf } from '../../service/identity/relying-party.ts';
import { Browser, loginInfoOf, userInfoOf } from '../../service/login/provider/browser.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { listUsers, logIn, sessionCookie, visit } from './console.ts';
import { KeycloakBrowser } from './page.ts';
import { clientSecret, password } from './realm.ts';
import { atKeycloak, bothCredentials, type Suite } from './suite.ts';

const run = promisify(execFile);

for (const credentials of bothCredentials) {
  describe(`login at Keycloak, ${credentials}`, () => {
    const { all, service, realm } = atKeycloak(credentials);
    const alice = forSuite(() => realm.person('alice', { groups: ['dev', 'oncall'] }), needsNoStop);
    const bob = forSuite(() => realm.person('bob', { groups: ['oncall'] }), needsNoStop);

    it('redeems a code with PKCE and the secret of the client', async () => {
      const { keycloak } = all;
      const { browser, user, authURL, answer } = await logIn(service, { keycloak, person: alice });

      expect(user).to.deep.include({ name: alice.email, uid: alice.id, email: alice.email, groups: ['dev', 'oncall'] });
      expect(user.ext).to.deep.include({
        issuer: all.realm(credentials).issuer,
        claims: { name: 'alice Doe', preferred_username: 'alice' },
      });
      expect([...answer.keys()].sort()).to.deep.equal(['code', 'iss', 'session_state', 'state']);
      expect((await browser.info('v2')).body).to.deep.include({ name: alice.email, groups: ['dev', 'oncall'] });
      // The client requires PKCE: Keycloak refuses the same request without it.
      for (const name of ['code_challenge', 'code_challenge_method']) authURL.searchParams.delete(name);
      expect((await new KeycloakBrowser(keycloak).get(authURL)).url.searchParams.get('error')).to.equal('invalid_request');
    });

    it('logs in with PKCE alone if the client is public', async () => {
      const { user } = await logIn(await all.service({ credentials, clientID: 'atrium-public' }), {
        keycloak: all.keycloak,
        person: alice,
      });

      expect(user).to.deep.include({ name: alice.email, groups: ['dev', 'oncall'] });
    });

    it('accepts an ID token from the fragment if no code is requested', async () => {
      const implicit = await all.service({ credentials, clientID: 'atrium-id-token', login: { responseMode: 'id_token' } });
      const { user, authURL, answer, browser } = await logIn(implicit, { keycloak: all.keycloak, person: alice });

      expect(authURL.searchParams.get('response_type')).to.equal('id_token');
      expect(answer.get('code')).to.equal('');
      expect(user).to.deep.include({ name: alice.email, groups: ['dev', 'oncall'] });
      expect((await listUsers(browser)).status).to.equal(200);
    });

    it('grants rights by groups of Keycloak', async () => {
      const { keycloak } = all;
      const allowed = await logIn(service, { keycloak, person: alice });
      const refused = await logIn(service, { keycloak, person: bob });

      expect((await listUsers(allowed.browser)).status).to.equal(200);
      expect((await listUsers(refused.browser)).status).to.equal(403);
    });

    it('uses the access token as the credential if its audience is the service', async () => {
      const { keycloak } = all;
      const { user, bearer } = await logIn(await all.service({ credentials, clientID: 'atrium-access-token' }), {
        keycloak,
        person: alice,
        storage: 'local',
      });

      expect(claimsOf(bearer)).to.include({ typ: 'Bearer', email: alice.email });
      expect(bearer).not.to.equal(user.ext.token?.id_token);
      const plain = await logIn(service, { keycloak, person: alice, storage: 'local' });
      expect(claimsOf(plain.bearer)).to.include({ typ: 'ID', aud: 'atrium' });
      expect(plain.bearer).to.equal(plain.user.ext.token?.id_token);
    });

    it(`issues a token with which kubectl ${credentials === 'passthrough' ? 'has the same rights' : 'is refused'}`, async () => {
      const { keycloak } = all;
      const { bearer } = await logIn(service, { keycloak, person: alice, storage: 'local' });
      const asAlice = await all.file(`kubeconfig-${credentials}`, kubeconfig(all, bearer));
      const kubectl = (...args: string[]) =>
        run('kubectl', [`--kubeconfig=${asAlice}`, ...args]).catch((error: { stderr: string }) => error);

      const { stdout: users, stderr } = { stdout: '', ...(await kubectl('get', 'users', '--output=name')) };

      expect((await listUsers(new Browser(service.url), bearer)).status).to.equal(200);
      if (credentials === 'passthrough') {
        expect(users).to.match(/^user\.auth\.platform\.io\//m);
        expect(await kubectl('auth', 'whoami', '--output=jsonpath={.status.userInfo.username}')).to.include({ stdout: alice.email });
        expect(await kubectl('auth', 'can-i', 'delete', 'users')).to.have.property('stdout', 'no\n');
      } else {
        expect(stderr).to.match(/Unauthorized|must be logged in/);
      }
    });

    it('refuses a user whose email Keycloak has not verified', async () => {
      const person = await all.realm(credentials).person('mallory', { groups: ['dev'], emailVerified: false });
      const { callback, browser } = await visit(service, { keycloak: all.keycloak, person });

      expect(callback.status, callback.text).to.equal(401);
      expect(browser.cookies.has(sessionCookie)).to.equal(false);
    });

    it('is 503 while Keycloak refuses the client secret', async () => {
      const clientSecretFile = await all.file('another-secret', 'another');
      const { callback, browser } = await visit(await all.service({ credentials, login: { clientSecretFile } }), {
        keycloak: all.keycloak,
        person: alice,
      });

      expect(callback.status, callback.text).to.equal(503);
      expect(browser.cookies.has(sessionCookie)).to.equal(false);
    });

    it('checks without a page for a session of the user at Keycloak', async () => {
      const { keycloak } = all;
      const silently = async (issuer: KeycloakBrowser) => {
        const browser = new Browser(service.url);
        const { url } = await issuer.get(loginInfoOf(await browser.login('v2', { prompt: 'none' })).auth_url);
        return browser.callback('v2', url.searchParams);
      };
      const { issuer } = await logIn(service, { keycloak, person: alice });

      expect(userInfoOf(await silently(issuer)).name).to.equal(alice.email);
      const { status, body } = await silently(new KeycloakBrowser(keycloak));
      expect({ status, body }).to.deep.nested.include({ status: 401, 'body.details.causes[0].reason': 'login_required' });
    });

    it('writes neither tokens nor secrets into its log', async () => {
      const { answer, user, bearer, refreshToken } = await logIn(service, { keycloak: all.keycloak, person: alice, storage: 'local' });
      const secrets = [answer.get('code'), answer.get('state'), bearer, refreshToken, user.ext.token?.access_token, clientSecret, password];

      const log = service.logLines.join('');
      expect(log).to.include('LoginSucceeded');
      for (const secret of secrets) expect(log).not.to.include(secret);
    });
  });
}

const kubeconfig = ({ cluster: { url, certificateAuthority } }: Suite, token: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [
      { name: 'test', cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } },
    ],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  });
