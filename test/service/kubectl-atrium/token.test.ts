import { readFile, stat, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { claimsOf } from '../identity/relying-party.ts';
import { endless, json, never } from '../login/provider/answers.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { credentialOf, Machine } from './machine.ts';

const notLoggedIn = 'you are not logged in, and there is no terminal to ask in: run kubectl atrium login first\n';

describe('kubectl-atrium token', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: 'kubectl' }));
  let machine: Machine;
  let options: string[];

  before(async () => {
    options = ['--issuer', provider.issuer];
  });
  beforeEach(async () => {
    machine = await Machine.create();
    provider.misbehave();
    provider.tokenSeconds = 900;
    provider.forgetRequests();
  });
  afterEach(() => machine.remove());

  /** @param seconds lifetime of the ID token; kubectl needs at least ten */
  const logIn = async (seconds = 900) => {
    provider.tokenSeconds = seconds;
    const { code, stderr } = await machine.logIn(options);
    expect(code, stderr).to.equal(0);
    provider.tokenSeconds = 900;
    provider.forgetRequests();
  };
  /** Options of kubectl without a terminal. */
  const alone = { interactive: false };

  it('logs in by the browser and prints the ID token, and nothing else', async () => {
    const ran = await machine.spawnToken(options);

    const { apiVersion, token, expirationTimestamp } = credentialOf(ran);
    expect(apiVersion).to.equal('client.authentication.k8s.io/v1');
    expect(claimsOf(token)).to.include({ iss: provider.issuer, aud: 'kubectl', email: 'jane@example.com' });
    expect(Date.parse(expirationTimestamp)).to.equal(Number(claimsOf(token).exp) * 1000);
    expect(ran.code).to.equal(0);
    expect(ran.stderr).to.match(/^Log in with the browser\. If it does not open: http:\/\/127\.0\.0\.1:\d+\/\S+\n$/);
    expect(provider.hits('authorize')).to.equal(1);
  });

  it('cases/91 prints a token whose claims are odd: an end after the year 9999, names that are null', async () => {
    const text = (json: string) => json.replace(/"exp":\d+/, '"exp":9223372036854775807');
    provider.misbehave({ idToken: { claims: { email: null, preferred_username: 7 }, text } });
    const ran = await machine.spawnToken(options);

    expect(ran.code, ran.stderr).to.equal(0);
    expect(credentialOf(ran).expirationTimestamp).to.equal('9999-12-31T23:59:59Z');
  });

  it('uses the cached token until it expires, without a request to the issuer', async () => {
    await logIn();
    const first = await machine.token(options, alone);
    const second = await machine.token(options, alone);

    expect(credentialOf(first)).to.deep.equal(credentialOf(second));
    expect(first.stderr).to.equal('');
    expect(provider.requests).to.deep.equal([]);
  });

  it('separates the logins of other clients, scopes and users', async () => {
    await logIn();
    for (const other of [['--client-id=other'], ['--scopes=openid'], ['--login-hint=bob']])
      expect(await machine.token([...options, ...other], alone)).to.include({ code: 1, stdout: '', stderr: notLoggedIn });
    const sameScopes = '--scopes=profile,email openid,groups offline_access';
    expect((await machine.token([...options, sameScopes], alone)).code).to.equal(0);
  });

  it('renews a token that is about to end', async () => {
    await logIn(9);
    const before = await machine.entry();

    const { token } = credentialOf(await machine.token(options, alone));

    expect(Number(claimsOf(token).exp) - Date.now() / 1000).to.be.greaterThan(800);
    expect([provider.hits('authorize'), provider.hits('token')]).to.deep.equal([0, 1]);
    const { tokens } = await machine.entry();
    expect(tokens.idToken).to.equal(token);
    expect(tokens.refreshToken).to.be.a('string').and.not.equal(before.tokens.refreshToken);
  });

  it('keeps a refresh token that is not rotated', async () => {
    await logIn(9);
    provider.misbehave({ keepsRefreshTokens: true });
    provider.tokenSeconds = 9;
    const before = await machine.entry();

    expect((await machine.token(options, alone)).code).to.equal(0);
    expect((await machine.token(options, alone)).code).to.equal(0);
    expect((await machine.entry()).tokens.refreshToken).to.equal(before.tokens.refreshToken);
  });

  it('renews it once, however many processes need it', async () => {
    await logIn(9);

    const ran = await Promise.all(Array.from({ length: 10 }, () => machine.spawnToken(options, alone)));

    expect(new Set(ran.map((each) => credentialOf(each).token)).size).to.equal(1);
    expect(provider.hits('token')).to.equal(1);
    expect(await machine.kept()).to.have.length(1);
  });

  it('opens one browser, however many want to log in', async () => {
    const ran = await Promise.all(Array.from({ length: 5 }, () => machine.token(options)));

    expect(new Set(ran.map((each) => credentialOf(each).token)).size).to.equal(1);
    expect(provider.hits('authorize')).to.equal(1);
  });

  it('logs in again when the issuer has ended the login, or fails with the reason if no user can be asked', async () => {
    await logIn(9);
    provider.misbehave({ answer: { token: json(400, { error: 'invalid_grant' }) } });
    expect(await machine.token(options, alone)).to.include({ code: 1, stdout: '', stderr: notLoggedIn });
    expect(await machine.kept()).to.deep.equal([]);
    provider.misbehave();

    expect(credentialOf(await machine.token(options)).token).to.be.a('string');
    expect(provider.hits('authorize')).to.equal(1);
  });

  for (const [what, refreshed] of Object.entries({
    'no ID token': 'absent',
    'one of somebody else': { claims: { sub: 'bob-1' } },
  } as const))
    it(`accepts no answer to a renewal with ${what}`, async () => {
      await logIn(9);
      provider.misbehave({ refreshed });

      expect(await machine.token(options, alone)).to.include({ code: 1, stdout: '', stderr: notLoggedIn });
    });

  it('keeps the login when the renewal fails for a moment', async () => {
    await logIn(9);
    for (const [answer, reason] of [
      [json(503, {}), /^the login could not be renewed: the answer has status 503\n$/],
      [json(401, { error: 'invalid_client' }), /^the login could not be renewed: invalid_client\n$/],
      [endless(20 * 1024 * 1024), /^the login could not be renewed: the issuer gave an answer that is too large\n$/],
    ] as const) {
      provider.misbehave({ answer: { token: answer } });
      const refused = await machine.token(options);
      expect(refused).to.include({ code: 1, stdout: '' });
      expect(refused.stderr).to.match(reason);
    }
    provider.misbehave();

    expect((await machine.token(options, alone)).code).to.equal(0);
    expect(provider.hits('authorize')).to.equal(0);
  });

  it('says why an issuer cannot be used', async () => {
    provider.misbehave({ metadata: { issuer: 'https://issuer.example' } });
    const unlike = await machine.token(options);
    expect(unlike.stderr).to.equal('the issuer cannot be used: the connection failed with OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED\n');
    const nobody = await machine.token(['--issuer', `http://127.0.0.1:${await freePort()}`]);
    expect(nobody.stderr).to.equal('the issuer cannot be used: the connection failed with ECONNREFUSED\n');
    const plain = await machine.token(['--issuer', 'http://issuer.example']);
    expect(plain.stderr).to.equal('--issuer must be an https URL; plain http is for this machine only\n');
    for (const { code, stdout } of [unlike, nobody, plain]) expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
  });

  it('ends at a signal, however silent the issuer is', async () => {
    provider.misbehave({ answer: { discovery: never } });
    const running = machine.spawn(machine.command(['token', ...options]));
    while (provider.hits('discovery') === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    running.signal('SIGTERM');

    expect(await running.finished).to.deep.equal({ code: 143, stdout: '', stderr: '' });
    expect(await machine.kept()).to.deep.equal([]);
  });

  it('answers in the version that kubectl asks for, and refuses others', async () => {
    await logIn();
    const apiVersion = 'client.authentication.k8s.io/v1beta1';
    expect(credentialOf(await machine.token(options, { apiVersion })).apiVersion).to.equal(apiVersion);

    const old = await machine.token(options, { apiVersion: 'client.authentication.k8s.io/v1alpha1' });
    expect(old).to.include({ code: 1, stdout: '' });
    expect(old.stderr).to.match(/^the kubeconfig must ask for client\.authentication\.k8s\.io\/v1 or /);
    for (const text of ['{', '[]', '{"kind":"Pod","apiVersion":"v1"}'])
      expect((await machine.run(['token', ...options], { KUBERNETES_EXEC_INFO: text })).stderr).to.equal(
        'KUBERNETES_EXEC_INFO holds no ExecCredential\n',
      );
  });

  it('keeps tokens where no other user can read them', async () => {
    await logIn();
    const [path = ''] = await machine.kept();

    expect((await stat(machine.cacheDirectory)).mode & 0o777).to.equal(0o700);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    expect(path).to.match(/\/[0-9a-f]{64}\.json$/);
  });

  it('replaces a file that it cannot read by a new login', async () => {
    await logIn();
    const [path = ''] = await machine.kept();
    const whole = await readFile(path, 'utf8');
    for (const text of [whole.slice(0, 100), '{}', '', JSON.stringify({ ...JSON.parse(whole), tokens: { idToken: 'x' } })]) {
      await writeFile(path, text, { mode: 0o600 });
      expect((await machine.token(options, alone)).stderr).to.equal(notLoggedIn);
    }
    expect((await machine.token(options)).code).to.equal(0);
  });
});
