import { expect } from 'chai';
import { embeddedClientOf, identityURLOf } from '../../../src/config/issuers.ts';
import { ConfigError, parseConfig } from '../../../src/config/load.ts';
import { configSchema } from '../../../src/config/schema.ts';
import { clientsOf } from '../../../src/identity/clients.ts';
import { Provider } from '../../../src/identity/oidc-provider.ts';

const https = 'https://console.example.com';

/** Settings with the field that is refused; undefined for settings that the embedded issuer accepts. */
const cases: Record<string, [settings: Record<string, unknown>, field: string | undefined]> = {
  'the code flow at http://localhost': [{ server: { publicURL: 'http://localhost:8080' } }, undefined],
  'the id_token flow with https': [{ server: { publicURL: https }, login: { responseMode: 'id_token' } }, undefined],
  'the id_token flow at https://localhost': [
    { server: { publicURL: 'https://localhost:8443' }, login: { responseMode: 'id_token' } },
    'login.responseMode',
  ],
  'the id_token flow at https://LOCALHOST': [
    { server: { publicURL: 'https://LOCALHOST' }, login: { responseMode: 'id_token' } },
    'login.responseMode',
  ],
  'the id_token flow at http://127.0.0.1': [
    { server: { publicURL: 'http://127.0.0.1:8080' }, login: { responseMode: 'id_token' } },
    'login.responseMode',
  ],
  'the id_token flow at https://127.0.0.1': [
    { server: { publicURL: 'https://127.0.0.1:8443' }, login: { responseMode: 'id_token' } },
    undefined,
  ],
  'the id_token flow with a redirect URL at localhost': [
    { server: { publicURL: https }, login: { responseMode: 'id_token', redirectURLs: [`${https}/`, 'https://localhost:5173/'] } },
    'login.redirectURLs',
  ],
  'the id_token flow with a return from the logout at http': [
    { server: { publicURL: https }, login: { responseMode: 'id_token', postLogoutRedirectURLs: ['http://console.example.com/'] } },
    'login.postLogoutRedirectURLs',
  ],
  'the id_token flow of an issuer among several, with its own redirect URL at localhost': [
    {
      server: { publicURL: https },
      login: {
        issuers: [
          { id: 'corp', issuer: 'https://issuer.example.com', claims: { usernamePrefix: 'corp:', groupsPrefix: 'corp:' } },
          { id: 'local', responseMode: 'id_token', redirectURL: 'https://localhost/?issuer=local' },
        ],
      },
    },
    'login.issuers[1].redirectURL',
  ],
  'the id_token flow of another issuer, beside the embedded one at http': [
    {
      server: { publicURL: 'http://console.example.com' },
      login: { issuer: 'https://issuer.example.com', responseMode: 'id_token' },
      identity: { enabled: true },
    },
    'login.responseMode',
  ],
  'a client id with an umlaut': [{ server: { publicURL: https }, login: { clientID: 'köln' } }, 'login.clientID'],
  'a further client id with a line break': [
    { server: { publicURL: https }, identity: { clients: [{ id: 'a\nb', redirectURLs: [`${https}/cb`] }] } },
    'identity.clients[0].id',
  ],
  'a further client with the id of the console': [
    { server: { publicURL: https }, identity: { clients: [{ id: 'atrium', redirectURLs: [`${https}/cb`] }] } },
    'identity.clients[0].id',
  ],
  'a further client called kubectl': [
    { server: { publicURL: https }, identity: { clients: [{ id: 'kubectl', redirectURLs: ['http://localhost:8000'] }] } },
    undefined,
  ],
  'a further client at https://localhost alone': [
    { server: { publicURL: https }, identity: { clients: [{ id: 'tool', redirectURLs: ['https://localhost:8000/cb'] }] } },
    'identity.clients[0].redirectURLs',
  ],
  'a further client at loopback addresses, with and without TLS': [
    {
      server: { publicURL: https },
      identity: { clients: [{ id: 'tool', redirectURLs: ['http://127.0.0.1/cb', 'https://[::1]:8000/cb'] }] },
    },
    'identity.clients[0].redirectURLs',
  ],
  'a further client at https://localhost and elsewhere': [
    { server: { publicURL: https }, identity: { clients: [{ id: 'tool', redirectURLs: ['https://localhost/cb', `${https}/cb`] }] } },
    undefined,
  ],
};

describe('clients of the embedded issuer in the configuration', () => {
  for (const [what, [settings, field]] of Object.entries(cases))
    it(`are ${field === undefined ? 'accepted' : 'refused'} by the check and by the issuer alike: ${what}`, async () => {
      expect(fieldsRefused(settings)).to.deep.equal(field === undefined ? [] : [field]);
      expect(await isRefusedByIssuer(settings)).to.equal(field !== undefined);
    });

  it('need a name that is not empty', () => {
    const clients = [{ id: 'tool', name: '', redirectURLs: [`${https}/cb`] }];
    expect(fieldsRefused({ server: { publicURL: https }, identity: { clients } })).to.deep.equal(['identity.clients[0].name']);
  });
});

function fieldsRefused(settings: Record<string, unknown>): string[] {
  try {
    parseConfig({ yaml: JSON.stringify(settings) });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path }) => path);
  }
}

/** Reads the clients as the embedded issuer does at the first login. */
async function isRefusedByIssuer(settings: Record<string, unknown>): Promise<boolean> {
  const config = configSchema.parse(settings);
  const publicURL = config.server.publicURL ?? '';
  const login = embeddedClientOf(config);
  const clients = await clientsOf({ publicURL, login, clients: config.identity.clients, title: 'Atrium', backchannelLogout: true });
  try {
    const provider = new Provider(identityURLOf(config) ?? '', {
      clients,
      responseTypes: ['code', 'id_token', 'code id_token'],
      clientAuthMethods: ['none'],
      features: { backchannelLogout: { enabled: true }, deviceFlow: { enabled: true } },
    });
    for (const { client_id } of clients) await provider.Client.find(client_id);
    return false;
  } catch (error) {
    expect(error)
      .to.have.property('error')
      .that.matches(/^invalid_(client_metadata|redirect_uri)$/);
    return true;
  }
}
