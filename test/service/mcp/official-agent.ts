/** The official client of MCP as an agent that describes itself: its metadata document, its credentials, and its connections. */
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
import { fetch as undiciFetch } from 'undici';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import { listen, stopListening } from '../../support/listening.ts';

/** Credentials of one client in memory. */
class Credentials implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadataUrl: string;
  asked: URL | undefined;
  saved: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor(clientMetadataUrl: string, redirectUrl: string) {
    this.clientMetadataUrl = clientMetadataUrl;
    this.redirectUrl = redirectUrl;
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

/** Options of an embedded login that reads the documents of agents of this machine. */
export const onThisMachine = { network: { resolve: async () => ['127.0.0.1'], isRefused: () => false } };

export class OfficialAgent {
  readonly credentials: Credentials;
  readonly #login: EmbeddedLogin;
  readonly #documents: Server;
  #asking: StreamableHTTPClientTransport | undefined;

  private constructor(login: EmbeddedLogin, documents: Server, credentials: Credentials) {
    this.#login = login;
    this.#documents = documents;
    this.credentials = credentials;
  }

  /** Publishes the metadata document. @param redirectURL on loopback, at any port */
  static async start(login: EmbeddedLogin, redirectURL = 'http://127.0.0.1:49152/callback'): Promise<OfficialAgent> {
    const { certificate: cert, key } = login.cluster.serving;
    let id = '';
    const documents = createServer({ cert, key }, (_request, response) => {
      const metadata = { client_id: id, client_name: 'Official', redirect_uris: ['http://127.0.0.1/callback'] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    });
    id = `https://agent.example.com:${await listen(documents)}/client.json`;
    return new OfficialAgent(login, documents, new Credentials(id, redirectURL));
  }

  stop(): Promise<void> {
    return stopListening(this.#documents);
  }

  /** Connects without a token. @returns the address that the agent opens in a browser */
  async ask(): Promise<URL> {
    this.#asking = this.#transport();
    const refused = await this.#client()
      .connect(this.#asking)
      .catch((error: unknown) => error);
    if (!(refused instanceof UnauthorizedError) || this.credentials.asked === undefined)
      throw new Error('the agent was not asked to log in');
    return this.credentials.asked;
  }

  /** Redeems the code with which the browser has returned. */
  async finish(returned: URLSearchParams): Promise<void> {
    await this.#asking?.finishAuth(returned);
  }

  async connect(): Promise<Client> {
    const client = this.#client();
    await client.connect(this.#transport());
    return client;
  }

  #client = () => new Client({ name: 'official', version: '1.0.0' });

  #transport = () =>
    new StreamableHTTPClientTransport(new URL(`${this.#login.url}/mcp`), { authProvider: this.credentials, fetch: fetchOf(this.#login) });
}

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
