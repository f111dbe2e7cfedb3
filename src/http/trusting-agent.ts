import { readFile } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext, type SecureVersion } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { Agent, type Dispatcher } from 'undici';
import { atMost } from '../limits/eviction-queue.ts';

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

export interface TrustingAgentOptions {
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
  /** Parameters are sent as a form; a text needs its media type among the headers. */
  body?: URLSearchParams | string | undefined;
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
      body: body ? body.toString() : null,
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
