import { image, objectsFor } from '../../service/documented-client/embedded.ts';
import { documentedInterface, type SetUp } from '../../service/documented-client/suite.ts';
import { answerOf } from './console.ts';
import { KeycloakBrowser } from './page.ts';
import { password } from './realm.ts';
import { type ServiceOptions, suite } from './suite.ts';

async function atKeycloak(username: string, options: Omit<ServiceOptions, 'credentials'> = {}): Promise<SetUp> {
  const all = await suite();
  const { keycloak, kubernetes } = all;
  const person = await all.realm('passthrough').person(username, { groups: ['dev'] });
  await kubernetes.apply(...objectsFor(person.email));
  const service = await all.service({ ...options, credentials: 'passthrough' });
  return {
    base: service.url,
    async authenticate(authURL) {
      const browser = new KeycloakBrowser(keycloak);
      return answerOf(await browser.submit(await browser.get(new URL(authURL)), { username, password }));
    },
    canRenew: options.login?.responseMode === undefined,
    image,
    file: '/',
    stop: () => all.stopServices(),
  };
}

documentedInterface('with Keycloak', () => atKeycloak('documented'));
documentedInterface('with Keycloak, ID token flow', () =>
  atKeycloak('implicit', { clientID: 'atrium-id-token', login: { responseMode: 'id_token' } }),
);
