import { Agent, type Dispatcher } from 'undici';
import { trustIn } from './trust.ts';

export interface TrustingAgentOptions {
  /** PEM bundle beside the system's authorities. */
  caFile: string | undefined;
  connections: number;
  /** Milliseconds until the connection must be open. */
  connectTimeoutMs: number;
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
    const { caFile, connections, connectTimeoutMs } = this.#options;
    this.#agent ??= trustIn(caFile).then(
      (trust) =>
        new Agent({
          connect: { ...trust, timeout: connectTimeoutMs },
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
