import { reportPlaces } from '@atrium/http/limits/reports.ts';
import { Semaphore } from '@atrium/http/limits/semaphore.ts';
import { type OutgoingRequest, TrustingAgent } from '@atrium/http/outgoing.ts';
import type { Histogram, Metrics } from '@atrium/http/telemetry/metrics.ts';
import { beginCall } from '@atrium/http/telemetry/tracing.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import type { CustomFetch } from 'openid-client';
import { IssuerFault } from './errors.ts';

/** The contract gives the issuer ten seconds (docs/contract/conventions.md); the rest is for the answer of this service. */
export const issuerTimeoutMs = 9_000;
const maxBytes = 1024 * 1024;
/** Bounds of calls, whose flows take turns. */
const turns = { atOnce: 64, ofFlow: 8, maxWaiting: 1024, what: 'calls to the identity provider are waiting' };
/** Longer than the call, whose timeout is the clearer error. */
const connectTimeoutMs = issuerTimeoutMs + 1_000;

/** Complete answer of the issuer. */
export interface FetchedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** HTTP client for the issuer. Follows no redirect, accepts no answer above 1 MiB, and has a timeout for the whole call. */
export class IssuerFetch {
  readonly #agent: TrustingAgent;
  readonly #id: string;
  readonly #times: Histogram<'issuer' | 'outcome'>;
  readonly #turns = new Semaphore(turns);

  constructor({ id, caFile }: { id: string; caFile?: string | undefined }, metrics: Metrics) {
    this.#id = id;
    this.#times = metrics.histogram({
      name: 'atrium_issuer_request_duration_seconds',
      help: 'Time until an issuer answered with headers, by its id in the configuration and outcome (status code, timeout, aborted or unreachable).',
      labelNames: ['issuer', 'outcome'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    });
    reportPlaces(metrics, 'issuer', this.#turns);
    this.#agent = new TrustingAgent({ caFile, connections: turns.atOnce, connectTimeoutMs });
  }

  /** @throws Error without an answer, or for one that is too large */
  async send(url: string, request: OutgoingRequest): Promise<FetchedAnswer> {
    const answer = await this.#request(url, request);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new IssuerFault('gave an answer that is too large');
      chunks.push(chunk);
    }
    return { status: answer.statusCode, headers: headersOf(answer.headers), text: Buffer.concat(chunks).toString() };
  }

  async #request(url: string, { signal, method = 'GET', headers, body }: OutgoingRequest) {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(issuerTimeoutMs)]);
    return this.#turns.hold(
      () => this.#timed(url, { method, headers, body, signal: bounded }, signal),
      (answer) => answer.body,
      bounded,
    );
  }

  async #timed(url: string, request: OutgoingRequest, outer: AbortSignal) {
    const { method = 'GET', headers, signal } = request;
    const endTimer = this.#times.startTimer({ issuer: this.#id });
    const outgoing = beginCall({ name: `issuer ${this.#id}`, method, server: new URL(url).host }, endTimer);
    try {
      const answer = await this.#agent.request(url, { ...request, headers: { ...headers, ...outgoing.headers } });
      outgoing.end(answer.statusCode);
      return answer;
    } catch (error) {
      outgoing.end(outer.aborted ? 'aborted' : signal.aborted ? 'timeout' : 'unreachable');
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.#agent.stop();
  }
}

const headersOf = (headers: Record<string, string | readonly string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** An answer, with the members of its JSON object that openid-client receives. */
export interface InspectedAnswer extends FetchedAnswer {
  readonly members: Record<string, unknown> | undefined;
}

type Members = Record<string, unknown>;

/** Drops members that are null or empty: issuers send them for absent members, and most clients treat them as absent. */
export const withoutEmpty = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''));

/** Returns the members of a JSON object, without empty members; undefined for any other text. */
function membersOf(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? withoutEmpty({ ...value }) : undefined;
  } catch {
    return undefined;
  }
}

/** Adapts `IssuerFetch` to openid-client. @param onAnswer receives the answer first, and may remove members or throw */
export const customFetch =
  (issuer: IssuerFetch, signal: AbortSignal, onAnswer?: (answer: InspectedAnswer) => void): CustomFetch =>
  async (url, { method, headers, body }) => {
    const answer = await issuer.send(url, { method, headers, signal, ...(body instanceof URLSearchParams && { body }) });
    const members = membersOf(answer.text);
    onAnswer?.({ ...answer, members });
    const hasNoBody = answer.status === 204 || answer.status === 304;
    const text = members === undefined ? answer.text : JSON.stringify(members);
    return new Response(hasNoBody ? null : text, { status: answer.status, headers: answer.headers });
  };

/** Reports whether a URL lacks TLS. Only an issuer without TLS may have such endpoints. */
export const isInsecure = (url: string): boolean => url.startsWith('http:');
