/** kubectl-atrium at an external issuer. */
import { expect } from 'chai';
import { claimsOf } from '../../service/identity/relying-party.ts';
import { credentialOf, Machine, type Running, says, startAddress } from '../../service/kubectl-atrium/machine.ts';
import { type Played, visit } from '../../service/kubectl-atrium/play-browser.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { kubectl } from '../../support/kubectl.ts';
import { KeycloakBrowser } from './page.ts';
import { type Person, password, type Realm } from './realm.ts';
import { type Suite, suite } from './suite.ts';

/** Remaining lifetime below which the plugin renews tokens. */
const leastLifeMs = 10_000;

describe('kubectl-atrium at Keycloak', () => {
  let all: Suite;
  let realm: Realm;
  let machine: Machine;
  let person: Person;
  let caFile: string;
  let options: string[];

  before(async () => {
    all = await suite();
    realm = all.realm('passthrough');
    person = await realm.person('clio', { groups: ['dev'] });
    caFile = await all.file('keycloak-ca.crt', all.keycloak.certificateAuthority);
    options = ['--issuer', realm.issuer, '--ca-file', caFile, '--scopes', 'openid email groups'];
  });
  beforeEach(async () => {
    machine = await Machine.create();
  });
  afterEach(() => machine.remove());

  const play = async (running: Running): Promise<Played> => {
    const begun = await visit(await startAddress(running));
    const browser = new KeycloakBrowser(all.keycloak);
    const { url, answer } = await browser.submit(await browser.get(begun.headers.get('location') ?? ''), {
      username: person.username,
      password,
    });
    expect(url.pathname, answer?.text).to.equal('/callback');
    return visit(url, { cookie: (begun.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '' });
  };
  const logIn = async () => {
    const running = machine.start(['login', '--no-browser', ...options]);
    expect((await play(running)).status).to.equal(200);
    expect(await running.finished, running.output.stderr).to.include({ code: 0 });
  };
  const token = async () => credentialOf(await machine.token(options, { interactive: false })).token;
  const untilRenewalIsDue = async () => {
    const end = Number(claimsOf((await machine.entry()).tokens.idToken).exp) * 1000;
    await eventually(
      async () => end - Date.now(),
      (left) => left < leastLifeMs,
    );
  };

  it('logs in by the browser, for kubectl at a cluster that trusts Keycloak', async () => {
    await logIn();
    const { cluster } = all;
    const clusterCA = await all.file('cluster-ca.crt', cluster.certificateAuthority);

    const { stdout, stderr } = await kubectl(
      { url: cluster.url, caFile: clusterCA, token: await token() },
      'auth',
      'whoami',
      '--output=json',
    );
    expect(stderr).to.equal('');
    expect(JSON.parse(stdout).status.userInfo).to.deep.include({
      username: person.email,
      groups: ['dev', 'system:authenticated'],
    });
  });

  it('renews a single-use refresh token once', async () => {
    await logIn();
    const first = await machine.entry();
    await untilRenewalIsDue();

    // The last process must not be so late that the new token is due for renewal, too.
    await realm.changeClient('kubectl', { attributes: { 'access.token.lifespan': '40' } });
    const ran = await Promise.all(Array.from({ length: 5 }, () => machine.spawnToken(options, { interactive: false }))).finally(() =>
      realm.changeClient('kubectl', { attributes: { 'access.token.lifespan': '16' } }),
    );
    expect(new Set(ran.map((each) => credentialOf(each).token)).size).to.equal(1);
    const second = await machine.entry();
    expect(second.tokens.refreshToken).not.to.equal(first.tokens.refreshToken);
    await untilRenewalIsDue();
    expect(await token()).to.not.equal(second.tokens.idToken);
  });

  it('logs in on another device', async () => {
    const running = machine.start(['login', '--device', ...options]);
    const [place = '', code = ''] = await says(running, /open (\S+)\nand enter the code (\S+)\n/);
    const browser = new KeycloakBrowser(all.keycloak);
    const asked = await browser.submit(await browser.get(place), { device_user_code: code });
    const granting = await browser.submit(asked, { username: person.username, password });
    const done = await browser.submit(granting, { accept: 'Yes' });

    expect(done.answer?.status).to.equal(200);
    const { code: ended, stderr } = await running.finished;
    expect(ended, stderr).to.equal(0);
    expect(stderr).to.contain(`Logged in as ${person.email}.`);
  });

  it('revokes forgotten tokens at Keycloak', async () => {
    await logIn();
    const { refreshToken = '' } = (await machine.entry()).tokens;
    const redeem = () =>
      all.keycloak.request(`${realm.issuer}/protocol/openid-connect/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'kubectl', refresh_token: refreshToken }).toString(),
      });

    expect(await machine.run(['logout', ...options])).to.include({ code: 0, stderr: 'Logged out.\n' });
    const refused = await redeem();
    expect({ status: refused.status, ...JSON.parse(refused.text) }).to.include({ status: 400, error: 'invalid_grant' });
  });

  it('requires a new login after an administrator of Keycloak has ended the session', async () => {
    await logIn();
    await realm.admin('POST', `/users/${person.id}/logout`);
    await untilRenewalIsDue();

    const refused = await machine.token(options, { interactive: false });
    expect(refused).to.include({ code: 1, stdout: '' });
    expect(refused.stderr).to.match(/^you are not logged in/);
  });
});
