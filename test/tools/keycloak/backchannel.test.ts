import { expect } from 'chai';
import { Browser } from '../../service/login/provider/browser.ts';
import { refresh, sessionObject } from '../../service/sessions/support.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { logIn, visit } from './console.ts';
import type { KeycloakBrowser } from './page.ts';
import { atKeycloak, bothCredentials, type Credentials } from './suite.ts';

describe('back-channel logout of Keycloak', () => {
  for (const credentials of bothCredentials) describe(credentials, () => told(credentials));
});

function told(credentials: Credentials): void {
  const { all, service, realm } = atKeycloak(credentials);

  before(async () => {
    // Setting of docs/install-keycloak.md.
    await realm.changeClient('atrium', {
      attributes: {
        'backchannel.logout.url': `${service.url}/api/v2/token/backchannel-logout`,
        'backchannel.logout.session.required': 'true',
      },
    });
  });
  after(() => realm.changeClient('atrium', { attributes: { 'backchannel.logout.url': '' } }));

  const isIn = async (browser: Browser) => (await browser.info('v2')).status === 200;
  const whenOut = (browser: Browser) =>
    eventually(
      () => isIn(browser),
      (stillIn) => !stillIn,
    );
  const endSession = async (issuer: KeycloakBrowser, clientID: string) =>
    issuer.submit(await issuer.get(`${realm.issuer}/protocol/openid-connect/logout?client_id=${clientID}`), { confirmLogout: 'Logout' });

  it('ends all sessions of a user when an administrator ends them', async () => {
    const { keycloak, kubernetes } = all;
    const person = await realm.person('bea');
    const bystander = await logIn(service, { keycloak, person: await realm.person('ben') });
    const here = await logIn(service, { keycloak, person });
    const there = await logIn(service, { keycloak, person });

    await realm.admin('POST', `/users/${person.id}/logout`);

    for (const { browser, sessionPath } of [here, there]) {
      await whenOut(browser);
      expect(await sessionObject(kubernetes, sessionPath)).to.equal(undefined);
    }
    expect(await isIn(bystander.browser)).to.equal(true);
    // The event is recorded once the session is deleted.
    const isTold = (log: string) => /"audit":"LoggedOut".*"reason":"BackChannel"/.test(log);
    await eventually(() => service.logLines.join(''), isTold);
  });

  it('ends one session when its user logs out at another client', async () => {
    const { keycloak } = all;
    const person = await realm.person('bill');
    const { browser, issuer } = await logIn(service, { keycloak, person });
    const elsewhere = await logIn(service, { keycloak, person });

    await endSession(issuer, 'atrium-public');

    await whenOut(browser);
    expect(await isIn(elsewhere.browser)).to.equal(true);
    expect((await visit(service, { keycloak, person, issuer })).wasAsked).to.equal(true);
  });

  it('ends tokens that the client stores', async () => {
    const { keycloak } = all;
    const person = await realm.person('bobo');
    const { bearer, refreshToken, issuer } = await logIn(service, { keycloak, person, storage: 'local' });
    expect((await new Browser(service.url).info('v2', bearer)).status).to.equal(200);

    await endSession(issuer, 'atrium');

    const refused = await eventually(
      () => new Browser(service.url).info('v2', bearer),
      ({ status }) => status === 401,
    );
    expect(refused.body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
    expect((await refresh(new Browser(service.url), refreshToken)).status).to.equal(401);
  });

  it('lets the user return by another login', async () => {
    const { keycloak } = all;
    const person = await realm.person('brit');
    const { browser, issuer } = await logIn(service, { keycloak, person });
    await endSession(issuer, 'atrium');
    await whenOut(browser);

    expect(await isIn((await logIn(service, { keycloak, person, issuer })).browser)).to.equal(true);
  });
}
