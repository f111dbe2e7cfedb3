import type { CustomFetch } from 'openid-client';
import { Agent, fetch } from 'undici';
import { trustIn } from '../http/trust.ts';
import { IssuerFault } from './errors.ts';

/** The contract gives the issuer ten seconds (docs/contract/conventions.md); the rest is for our own answer. */
export const issuerTimeoutMs = 9_000;
const maxBytes = 1024 * 1024;
const maxConnections = 64;
/** An idle connection may have died without a word: with the time of a call on it, that is over within 35 s, whatever the issuer announces. */
const maxIdleMs = 20_000;

export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | URLSearchParams;
  signal: AbortSignal;
}

/** What the issuer answered, whole. */
export interface FetchedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** HTTP to the issuer, and nothing else: no redirect is followed, no answer is larger than 1 MiB, and all of it ends in time. */
export class IssuerFetch {
  readonly #caFile: string | undefined;
  #agent: Promise<Agent> | undefined;

  constructor({ caFile }: { caFile?: string | undefined }) {
    this.#caFile = caFile;
  }

  /** @throws Error if there was no answer, or none that fits */
  async send(url: string, { signal, ...options }: FetchOptions): Promise<FetchedAnswer> {
    const dispatcher = await this.#connections();
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(issuerTimeoutMs)]);
    const answer = await fetch(url, { ...options, redirect: 'manual', signal: bounded, dispatcher });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new IssuerFault('gave an answer that is too large');
      chunks.push(chunk);
    }
    return { status: answer.status, headers: Object.fromEntries(answer.headers), text: Buffer.concat(chunks).toString() };
  }

  async stop(): Promise<void> {
    await (await this.#agent?.catch(() => undefined))?.destroy();
  }

  /** @throws Error if the file with the certificate authority cannot be read; the next call tries again */
  #connections(): Promise<Agent> {
    if (this.#agent !== undefined) return this.#agent;
    const agent = trustIn(this.#caFile).then(
      (trust) => new Agent({ connect: trust, connections: maxConnections, keepAliveMaxTimeout: maxIdleMs }),
    );
    this.#agent = agent;
    agent.catch(() => {
      this.#agent = undefined;
    });
    return agent;
  }
}

/** For openid-client. @param onAnswer sees the answer first, and may throw */
export const customFetch =
  (issuer: IssuerFetch, signal: AbortSignal, onAnswer?: (answer: FetchedAnswer) => void): CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await issuer.send(url, { method, headers, signal, ...(body instanceof URLSearchParams && { body }) });
    onAnswer?.(answer);
    const hasNoBody = answer.status === 204 || answer.status === 304;
    return new Response(hasNoBody ? null : answer.text, { status: answer.status, headers: answer.headers });
  };

/** Only an issuer that is itself without TLS may have such places. */
export const isInsecure = (url: string): boolean => url.startsWith('http:');
