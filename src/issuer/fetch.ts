import type { CustomFetch } from 'openid-client';
import { type OutgoingRequest, TrustingAgent } from '../http/trusting-agent.ts';
import { IssuerFault } from './errors.ts';
import { membersOf } from './members.ts';

/** The contract gives the issuer ten seconds (docs/contract/conventions.md); the rest is for our own answer. */
export const issuerTimeoutMs = 9_000;
const maxBytes = 1024 * 1024;
const maxConnections = 64;
/** After the end of the call, which says better what was wrong. */
const connectTimeoutMs = issuerTimeoutMs + 1_000;

/** What the issuer answered, whole. */
export interface FetchedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** HTTP to the issuer, and nothing else: no redirect is followed, no answer is larger than 1 MiB, and all of it ends in time. */
export class IssuerFetch {
  readonly #agent: TrustingAgent;

  constructor({ caFile }: { caFile?: string | undefined }) {
    this.#agent = new TrustingAgent({ caFile, connections: maxConnections, connectTimeoutMs });
  }

  /** @throws Error if there was no answer, or none that fits */
  async send(url: string, { signal, ...request }: OutgoingRequest): Promise<FetchedAnswer> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(issuerTimeoutMs)]);
    const answer = await this.#agent.request(url, { ...request, signal: bounded });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new IssuerFault('gave an answer that is too large');
      chunks.push(chunk);
    }
    return { status: answer.statusCode, headers: headersOf(answer.headers), text: Buffer.concat(chunks).toString() };
  }

  stop(): Promise<void> {
    return this.#agent.stop();
  }
}

const headersOf = (headers: Record<string, string | readonly string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** An answer, and the members of the JSON object in it that openid-client gets to see. */
export interface SeenAnswer extends FetchedAnswer {
  readonly members: Record<string, unknown> | undefined;
}

/** For openid-client. @param onAnswer sees the answer first, and may take members from it, or throw */
export const customFetch =
  (issuer: IssuerFetch, signal: AbortSignal, onAnswer?: (answer: SeenAnswer) => void): CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await issuer.send(url, { method, headers, signal, ...(body instanceof URLSearchParams && { body }) });
    const members = membersOf(answer.text);
    onAnswer?.({ ...answer, members });
    const hasNoBody = answer.status === 204 || answer.status === 304;
    const text = members === undefined ? answer.text : JSON.stringify(members);
    return new Response(hasNoBody ? null : text, { status: answer.status, headers: answer.headers });
  };

/** Only an issuer that is itself without TLS may have such places. */
export const isInsecure = (url: string): boolean => url.startsWith('http:');
