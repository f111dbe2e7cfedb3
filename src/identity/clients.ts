import { discard, TrustingAgent } from '@atrium/http/outgoing.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import type { ClientMetadata, Configuration } from 'oidc-provider';
import type { Config } from '../config/schema.ts';
import { redirectURLsOf } from '../issuer/issuer.ts';

/** Timeout of the requests, which run in parallel while the user waits for the logout. */
const timeoutMs = 2_500;
const maxConnections = 16;

type ProviderFetch = NonNullable<Configuration['fetch']>;

/**
 * Notifies relying parties of logouts by HTTP. The addresses come from the configuration, and may be inside the cluster, which the
 * provider's own dispatcher would refuse. Redirects are not followed, and only the status of the answer is read.
 */
export class LogoutRequests {
  readonly #agent: TrustingAgent;

  constructor({ caFile }: { caFile: string | undefined }) {
    this.#agent = new TrustingAgent({ caFile, connections: maxConnections, connectTimeoutMs: timeoutMs });
  }

  /** @throws Error if there is no answer in time */
  readonly fetch: ProviderFetch = async (url, { method, headers, body } = {}) => {
    const answer = await this.#agent.request(String(url), {
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body instanceof URLSearchParams && { body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    discard(answer.body);
    return new Response(null, { status: answer.statusCode });
  };

  stop(): Promise<void> {
    return this.#agent.stop();
  }
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/** Redirect URLs of command-line tools (RFC 8252, 7.3), valid with any port. */
const loopbackURLs = ['localhost', '127.0.0.1', '[::1]'].flatMap((host) => ['', '/', '/callback'].map((path) => `http://${host}${path}`));

interface ClientsOptions {
  /** Has no trailing slash. */
  publicURL: string;
  login: Pick<Config['login'], 'clientID' | 'clientSecretFile' | 'responseMode' | 'redirectURLs' | 'postLogoutRedirectURLs'>;
  clients: Config['identity']['clients'];
  title: string;
  /** Notifies the console of logouts here. */
  backchannelLogout: boolean;
}

/** Returns the relying parties: the console, `kubectl`, and the configured ones. Reads their secret files. */
export async function clientsOf({ clients, ...console }: ClientsOptions): Promise<ClientMetadata[]> {
  const own = await consoleClient(console);
  const further = await Promise.all(clients.map(furtherClient));
  const isTaken = (id: string) => [own, ...further].some(({ client_id }) => client_id === id);
  return [own, ...(isTaken('kubectl') ? [] : [commandLineClient]), ...further];
}

const commandLineClient: ClientMetadata = {
  client_id: 'kubectl',
  client_name: 'kubectl',
  application_type: 'native',
  redirect_uris: loopbackURLs,
  grant_types: ['authorization_code', 'refresh_token', deviceGrant],
  token_endpoint_auth_method: 'none',
};

async function consoleClient({ publicURL, login, title, backchannelLogout }: Omit<ClientsOptions, 'clients'>): Promise<ClientMetadata> {
  const isFrontChannel = login.responseMode === 'id_token';
  return {
    client_id: login.clientID,
    client_name: title,
    redirect_uris: redirectURLsOf(publicURL, login),
    post_logout_redirect_uris: login.postLogoutRedirectURLs ?? [`${publicURL}/`],
    grant_types: ['authorization_code', 'refresh_token', ...(isFrontChannel ? ['implicit'] : [])],
    response_types: isFrontChannel ? ['code', 'id_token', 'code id_token'] : ['code'],
    ...(backchannelLogout && backchannelLogoutOf(`${publicURL}/api/v2/token/backchannel-logout`)),
    ...(await authentication(login.clientSecretFile)),
  };
}

/** Converts a configured client. A client without redirect URLs uses the device flow. */
async function furtherClient({
  id,
  name,
  redirectURLs,
  backchannelLogoutURL,
  secretFile,
}: Config['identity']['clients'][number]): Promise<ClientMetadata> {
  const isNative = redirectURLs.length > 0 && redirectURLs.every((url) => loopbackURLs.includes(`http://${new URL(url).hostname}`));
  return {
    client_id: id,
    client_name: name ?? id,
    application_type: isNative ? 'native' : 'web',
    redirect_uris: redirectURLs,
    response_types: redirectURLs.length > 0 ? ['code'] : [],
    grant_types: redirectURLs.length > 0 ? ['authorization_code', 'refresh_token'] : [deviceGrant, 'refresh_token'],
    ...(backchannelLogoutURL !== undefined && backchannelLogoutOf(backchannelLogoutURL)),
    ...(await authentication(secretFile)),
  };
}

/** Returns the address for logout tokens. They require the session id, which adds `sid` to the client's ID tokens, too. */
const backchannelLogoutOf = (url: string): Partial<ClientMetadata> => ({
  backchannel_logout_uri: url,
  backchannel_logout_session_required: true,
});

/** Reads the secret file, if there is one. */
async function authentication(
  secretFile: string | undefined,
): Promise<Pick<ClientMetadata, 'token_endpoint_auth_method' | 'client_secret'>> {
  if (secretFile === undefined) return { token_endpoint_auth_method: 'none' };
  return { token_endpoint_auth_method: 'client_secret_basic', client_secret: await readSecretFile(secretFile) };
}
