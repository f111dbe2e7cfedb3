/** Connections that the service opens: certificate authorities that it trusts there, and addresses that they may reach. */
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext, type SecureVersion } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import { within } from './client-address.ts';
import { atMost } from './limits/bounded-cache.ts';

/** Keyed by the oldest TLS version and the text of the file. Issuers of an installation mostly have one authority. */
const contexts = new LRUCache<string, SecureContext>(atMost(16));

/**
 * Options of TLS connections that trust the system's authorities and those in the file. They are parsed once, and not for each
 * connection: that holds the event loop for 11 ms, as a system has hundreds of authorities. The file is read each time, as it may change.
 *
 * @param caFile PEM; undefined for the authorities of the system alone
 * @param minVersion of TLS, which a connection with such options no longer decides; default: that of the process
 * @throws Error if the file cannot be read
 */
export async function tlsTrust(caFile: string | undefined, minVersion?: SecureVersion): Promise<{ secureContext?: SecureContext }> {
  if (caFile === undefined) return {};
  const authorities = await readFile(caFile, 'utf8');
  const key = `${minVersion} ${authorities}`;
  const known = contexts.get(key);
  if (known !== undefined) return { secureContext: known };
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), authorities], minVersion });
  contexts.set(key, secureContext);
  return { secureContext };
}

interface TrustingAgentOptions {
  /** PEM bundle beside the system's authorities. */
  caFile: string | undefined;
  connections: number;
  /** Milliseconds until the connection must be open. */
  connectTimeoutMs: number;
  /** Resolves host names. Default: that of Node.js. */
  lookup?: LookupFunction;
}

export interface OutgoingRequest {
  method?: string | undefined;
  headers: Record<string, string>;
  /** Parameters are sent as a form; a text and bytes need their media type among the headers. */
  body?: URLSearchParams | string | Uint8Array | undefined;
  signal: AbortSignal;
}

/** An idle connection may have died without a word: a call on it ends by its own signal, whatever the server announces. */
const maxIdleMs = 20_000;

/** HTTP to servers that are named by the configuration. No redirect is followed, and an answer comes as it is. */
export class TrustingAgent {
  readonly #options: TrustingAgentOptions;
  #agent: Promise<Agent> | undefined;

  constructor(options: TrustingAgentOptions) {
    this.#options = options;
  }

  /** Returns the answer with its body unread: the caller reads or discards it. @throws Error if there was no answer */
  async request(url: string, { method = 'GET', headers, body, signal }: OutgoingRequest): Promise<Dispatcher.ResponseData> {
    const { origin, pathname, search } = new URL(url);
    const agent = await this.#connections();
    return agent.request({
      origin,
      path: `${pathname}${search}`,
      method,
      // Without this header a server may choose a coding (RFC 9110, 12.5.3).
      headers: { 'accept-encoding': 'identity', ...(body instanceof URLSearchParams && formHeaders), ...headers },
      body: (body instanceof URLSearchParams ? body.toString() : body) || null,
      signal,
    });
  }

  async stop(): Promise<void> {
    await (await this.#agent?.catch(() => undefined))?.destroy();
  }

  /** @throws Error if the file with the certificate authority cannot be read; the next call tries again */
  #connections(): Promise<Agent> {
    const { caFile, connections, connectTimeoutMs, lookup } = this.#options;
    this.#agent ??= tlsTrust(caFile).then(
      (trust) =>
        new Agent({
          connect: { ...trust, timeout: connectTimeoutMs, ...(lookup && { lookup }) },
          connections,
          keepAliveMaxTimeout: maxIdleMs,
        }),
      (error: unknown) => {
        this.#agent = undefined;
        throw error;
      },
    );
    return this.#agent;
  }
}

const formHeaders = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' };

/** Discards an answer. A short body is read, so that the connection can be used again. */
export function discard(body: Dispatcher.ResponseData['body']): void {
  body.dump().catch(() => undefined);
}

/** Name resolution, and refused addresses. Receivers of the demo and the tests are on loopback. */
export interface Network {
  /** Resolves a host name. */
  resolve(hostname: string): Promise<readonly string[]>;
  /** Reports whether a name that resolves to the address is refused. */
  isRefused(address: string): boolean;
}

const refused = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  // Metadata services of clouds use this network and the two single addresses below.
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  refused.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
  // Networks that embed IPv4 addresses. No Service or receiver has such an address.
  ['64:ff9b::', 96],
  ['2002::', 16],
] as const)
  refused.addSubnet(network, prefix, 'ipv6');
refused.addAddress('100.100.100.200', 'ipv4');
refused.addAddress('fd00:ec2::254', 'ipv6');

/** Resolves names by DNS. Refuses loopback, link-local and multicast addresses, and metadata services of clouds. */
export const clusterNetwork: Network = {
  resolve: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  // An IPv4-mapped address is checked as the IPv4 address.
  isRefused: (address) => refused.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'),
};

const isNotPublic = within([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  'fc00::/7',
  'fec0::/10',
]);

/** Also refuses addresses that are not globally reachable (RFC 6890), such as those of the cluster. For addresses that strangers choose. */
export const publicNetwork: Network = {
  resolve: clusterNetwork.resolve,
  isRefused: (address) => clusterNetwork.isRefused(address) || isNotPublic(address),
};

/** Returns a `lookup` whose connections use the addresses of the function, so that DNS rebinding has no effect. */
export const lookupOf =
  (addressesOf: (hostname: string) => Promise<readonly string[]>): LookupFunction =>
  (hostname, { all }, callback) => {
    addressesOf(hostname).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (all) callback(null, found);
        else callback(null, first?.address ?? '', first?.family ?? 4);
      },
      (error: NodeJS.ErrnoException) => callback(error, all ? [] : '', 0),
    );
  };

/** Reads a received body. @returns undefined if it has more bytes; the rest is not awaited */
export async function readAtMost(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    // Leaving the loop destroys the stream.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
