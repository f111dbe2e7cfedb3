/** The official client of MCP from a 401 to a list of tools: discovery, client metadata, PKCE, consent and renewal. */
import type { Server } from 'node:http';
import { createServer } from 'node:https';
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { fetch as undiciFetch } from 'undici';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { Browser } from '../identity/browser.ts';

const password = 'correct horse battery';
const ada = 'ada@example.com';

/** Credentials of one client in memory. */
class Credentials implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:49152/callback';
  readonly clientMetadataUrl: string;
  asked: URL | undefined;
  saved: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor(clientMetadataUrl: string) {
    this.clientMetadataUrl = clientMetadataUrl;
  }

  get clientMetadata() {
    return { client_name: 'Official', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none' };
  }

  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => {
    this.#client = client;
  };
  tokens = () => this.saved;
  saveTokens = (tokens: OAuthTokens) => {
    this.saved = tokens;
  };
  redirectToAuthorization = (url: URL) => {
    this.asked = url;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discovered = state;
  };
  discoveryState = () => this.#discovered;
}

describe('the official client', () => {
  let documents: Server | undefined;
  const login = forSuite(() =>
    startEmbeddedLogin({
      emails: [ada],
      password,
      credentials: 'impersonate',
      features: { mcp: true },
      pluginContext: { network: { resolve: async () => ['127.0.0.1'], isRefused: () => false } },
    }),
  );
  let id = '';

  before(async () => {
    const { certificate: cert, key } = login.cluster.serving;
    documents = createServer({ cert, key }, (_request, response) => {
      const metadata = { client_id: id, client_name: 'Official', redirect_uris: ['http://127.0.0.1/callback'] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    });
    id = `https://agent.example.com:${await listen(documents)}/client.json`;
  });
  after(async () => {
    if (documents) await stopListening(documents);
  });

  it('gets from a 401 to a list of tools, and renews its tokens', async () => {
    const credentials = new Credentials(id);
    const transport = () =>
      new StreamableHTTPClientTransport(new URL(`${login.url}/mcp`), { authProvider: credentials, fetch: fetchOf(login) });
    const first = transport();
    const refused = await new Client({ name: 'official', version: '1.0.0' }).connect(first).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(UnauthorizedError);
    const { asked } = credentials;
    expect(asked?.searchParams.get('resource')).to.equal(`${login.url}/mcp`);
    expect(asked?.searchParams.get('client_id')).to.equal(id);

    const browser = new Browser(login.url, [login.url], { dispatcher: login.dispatcher });
    const page = await browser.submit(await browser.get(asked ?? ''), { email: ada, password });
    expect(page.body).to.include('Official (agent.example.com');
    const { url } = await browser.submit(page, {});
    await first.finishAuth(url.searchParams);

    const client = new Client({ name: 'official', version: '1.0.0' });
    await client.connect(transport());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.include('list');
    await client.close();

    const before = credentials.saved;
    credentials.saved = { ...(before ?? { access_token: '', token_type: 'Bearer' }), access_token: 'not-a-token' };
    const renewed = new Client({ name: 'official', version: '1.0.0' });
    await renewed.connect(transport());
    expect((await renewed.listTools()).tools.length).to.equal(tools.length);
    expect(credentials.saved?.refresh_token).to.be.a('string').and.not.equal(before?.refresh_token);
    await renewed.close();
  });
});

const fetchOf =
  ({ dispatcher }: EmbeddedLogin) =>
  async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET', body, headers, signal } = init;
    const answer = await undiciFetch(url, {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body != null && { body: String(body) }),
      ...(signal && { signal }),
      dispatcher,
    });
    return new Response(await answer.arrayBuffer(), { status: answer.status, headers: Object.fromEntries(answer.headers) });
  };
