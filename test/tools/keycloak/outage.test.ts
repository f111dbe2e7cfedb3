import { expect } from 'chai';
import { Browser, loginInfoOf } from '../../service/login/provider/browser.ts';
import { refresh, sessionObject } from '../../service/sessions/support.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { answerOf, logIn } from './console.ts';
import { KeycloakBrowser } from './page.ts';
import { password } from './realm.ts';
import { bothCredentials, type Suite, suite } from './suite.ts';

for (const credentials of bothCredentials) {
  describe(`Keycloak out of reach, ${credentials}`, () => {
    let all: Suite;
    before(async () => {
      all = await suite();
    });
    after(() => all.stopServices());
    afterEach(async () => {
      await all.keycloak.relay.cut().catch(() => undefined);
      await all.keycloak.relay.mend();
    });

    it('FLT-01 lets the service start, answers 503 to logins, and accepts them after it recovers', async () => {
      const { keycloak } = all;
      const person = await all.realm(credentials).person('omar');
      await keycloak.relay.cut();
      const service = await all.service({ credentials });

      const refused = await new Browser(service.url).login('v2');
      expect(refused.status, refused.text).to.equal(503);
      expect(refused.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
      expect((await fetch(`${service.url}/api/v1/i18n/languages`)).status).to.equal(200);
      expect(await (await fetch(`${service.url}/readyz?verbose`)).text()).to.include('[-]identity-provider');

      await keycloak.relay.mend();
      const answers = () => new Browser(service.url).login('v2').then(({ status }) => status);
      expect(await eventually(answers, (status) => status === 200)).to.equal(200);
      expect((await logIn(service, { keycloak, person })).user.name).to.equal(person.email);
    });

    it('FLT-01 keeps sessions, and answers 503 to an interrupted login', async () => {
      const { keycloak, kubernetes } = all;
      const person = await all.realm(credentials).person('olga');
      const service = await all.service({ credentials });
      const { browser, refreshToken, sessionPath } = await logIn(service, { keycloak, person });
      const interrupted = new Browser(service.url);
      const issuer = new KeycloakBrowser(keycloak);
      const page = await issuer.get(loginInfoOf(await interrupted.login('v2')).auth_url);
      const answer = answerOf(await issuer.submit(page, { username: person.username, password }));

      await keycloak.relay.cut();
      expect((await interrupted.callback('v2', answer)).status).to.equal(503);
      expect((await refresh(browser, refreshToken)).status).to.equal(503);
      expect((await browser.info('v2')).status).to.equal(200);
      expect(await sessionObject(kubernetes, sessionPath)).not.to.equal(undefined);

      await keycloak.relay.mend();
      const back = await eventually(
        () => refresh(browser, refreshToken),
        ({ status }) => status !== 503,
      );
      expect(back.status, back.text).to.equal(200);
      expect((await logIn(service, { keycloak, person })).callback.status).to.equal(200);
    });
  });
}
