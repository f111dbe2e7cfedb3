import { isIP } from 'node:net';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { Semaphore } from '@atrium/http/limits/semaphore.ts';
import { discard, lookupOf, type Network, readAtMost, TrustingAgent } from '@atrium/http/outgoing.ts';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

const timeoutMs = 5_000;
const maxBytes = 16 * 1024;
const maxLength = 512;
const maxRedirects = 10;
/** Fetches of documents that this replica does not know. Strangers cause them. */
const fetchesPerMinute = 60;
const turns = { atOnce: 4, maxWaiting: 32, what: 'fetches of client metadata' };
const maxFailed = 1_000;
/** Pause after a failure, in which the document is not fetched again. */
const failedMs = 30_000;

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** Reports whether a host of a URL is the user's own machine. */
export const isLoopback = (hostname: string): boolean => loopbackHosts.includes(hostname);

/** Invisible characters, which could change how a page shows the name. */
const invisible = /\p{C}/u;

const document = z.object({
  client_id: z.string(),
  client_name: z
    .string()
    .min(1)
    .max(80)
    .refine((name) => !invisible.test(name))
    .optional(),
  redirect_uris: z.array(z.string().max(maxLength)).min(1).max(maxRedirects),
});

/** Members of a metadata document that this issuer uses. */
interface AgentMetadata {
  client_id: string;
  client_name: string;
  application_type: 'native' | 'web';
  redirect_uris: string[];
  grant_types: string[];
  response_types: string[];
  token_endpoint_auth_method: 'none';
}

/** Reports whether a client id may be fetched: an https URL of a host name, with a path. The library refuses fragments and user names. */
function isDocumentURL(id: string): boolean {
  const url = id.length <= maxLength ? URL.parse(id) : null;
  if (url === null || url.protocol !== 'https:' || url.href !== id) return false;
  return url.pathname !== '/' && url.hostname.includes('.') && isIP(url.hostname) === 0 && !url.hostname.startsWith('[');
}

/**
 * Returns the metadata of a client that describes itself at its id (OAuth Client ID Metadata Document). Codes go to the host of the id, or
 * to the user's own machine. Members that would make this service call other addresses, such as `jwks_uri`, are dropped.
 *
 * @throws Error for a document of another client, or without usable redirect URLs
 */
function metadataOf(id: string, text: string): AgentMetadata {
  const { client_id, client_name, redirect_uris } = document.parse(JSON.parse(text));
  if (client_id !== id) throw new Error('the document describes another client');
  const { host } = new URL(id);
  const urls = redirect_uris.filter((uri) => isRedirect(uri, host));
  if (urls.length === 0) throw new Error('the document has no redirect URL at the host of the client or on loopback');
  const isNative = urls.some((uri) => uri.startsWith('http:'));
  return {
    client_id,
    client_name: client_name ?? host,
    application_type: isNative ? 'native' : 'web',
    redirect_uris: urls,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

function isRedirect(uri: string, host: string): boolean {
  const url = URL.parse(uri);
  if (url === null || url.hash !== '' || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' ? url.host === host : url.protocol === 'http:' && isLoopback(url.hostname);
}

interface DocumentOptions {
  /** PEM bundle beside the system's authorities. */
  caFile: string | undefined;
  network: Network;
  clock: () => number;
}

/** Fetches metadata documents of clients, within bounds: strangers choose the address. Redirects are not followed. */
export class ClientDocuments {
  readonly #agent: TrustingAgent;
  readonly #network: Network;
  readonly #limit: RateLimit;
  readonly #turns = new Semaphore(turns);
  readonly #failed: LRUCache<string, true>;

  constructor({ caFile, network, clock }: DocumentOptions) {
    this.#network = network;
    this.#limit = new RateLimit({ limit: fetchesPerMinute, clock });
    this.#failed = new LRUCache({ ...atMost(maxFailed), ttl: failedMs, ttlResolution: 0, perf: { now: clock } });
    this.#agent = new TrustingAgent({
      caFile,
      connections: 2,
      connectTimeoutMs: timeoutMs,
      lookup: lookupOf((hostname) => this.#addressesOf(hostname)),
    });
  }

  /** Reports whether a document may be fetched now. */
  readonly mayFetch = (id: string): boolean => isDocumentURL(id) && !this.#failed.has(id) && this.#limit.take('') === undefined;

  /** Returns the answer that the library reads in place of the document. @throws Error without a usable document */
  async answer(id: string): Promise<Response> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      return Response.json(await this.#turns.run(() => this.#read(id, signal), signal));
    } catch (error) {
      this.#failed.set(id, true);
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.#agent.stop();
  }

  async #read(id: string, signal: AbortSignal): Promise<AgentMetadata> {
    const { statusCode, body } = await this.#agent.request(id, { headers: { accept: 'application/json' }, signal });
    if (statusCode !== 200) {
      discard(body);
      throw new Error(`the host of the client answered ${statusCode}`);
    }
    const bytes = await readAtMost(body, maxBytes);
    if (bytes === undefined) throw new Error(`the document has more than ${maxBytes} bytes`);
    return metadataOf(id, bytes.toString());
  }

  /** @throws Error for a name with an address that is not public */
  async #addressesOf(hostname: string): Promise<readonly string[]> {
    const addresses = await this.#network.resolve(hostname);
    if (addresses.length === 0 || addresses.some((address) => this.#network.isRefused(address)))
      throw new Error('the host of the client has an address that is refused');
    return addresses;
  }
}
