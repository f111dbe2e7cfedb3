import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Trace of the caller, as its headers describe it (W3C Trace Context). */
export interface TraceParent {
  readonly traceID: string;
  readonly spanID: string;
  readonly isSampled: boolean;
  /** Vendor data of the caller, or ''. */
  readonly state: string;
}

/** Version, trace, span and flags; a later version may have more after them (section 3.2.2). */
const traceparentSyntax = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]{0,256})?$/;
const noTrace = '0'.repeat(32);
const noSpan = '0'.repeat(16);

/** Bounds of tracestate (section 3.3.1). */
const maxStateLength = 512;
const maxMembers = 32;
const member = /^(?:[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256})?$/;

/** Returns the caller's trace. Undefined without a valid `traceparent`; `tracestate` then has no meaning (section 3.3.1). */
export function readTraceParent({ traceparent, tracestate }: IncomingHttpHeaders): TraceParent | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceID = noTrace, spanID = noSpan, flags = '', more] = traceparentSyntax.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || traceID === noTrace || spanID === noSpan) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceID, spanID, isSampled: (Number.parseInt(flags, 16) & 1) === 1, state: validState([tracestate ?? ''].flat().join(',')) };
}

function validState(text: string): string {
  if (text.length > maxStateLength) return '';
  const members = text.split(',').map((one) => one.trim());
  return members.length <= maxMembers && members.every((one) => member.test(one)) ? members.filter((one) => one !== '').join(',') : '';
}

/** Returns the headers that continue a trace. */
const traceHeaders = ({ traceID, spanID, isSampled, state }: TraceParent): Record<string, string> => ({
  traceparent: `00-${traceID}-${spanID}-${isSampled ? '01' : '00'}`,
  ...(state !== '' && { tracestate: state }),
});

/** Ended span. Names and attributes are from closed sets: no path, query, header or name of a user. */
export interface Span {
  readonly kind: 'server' | 'client';
  readonly name: string;
  readonly traceID: string;
  readonly spanID: string;
  readonly parentID: string | undefined;
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly method: string;
  /** Server of a call. */
  readonly server?: string;
  /** Status code, or the outcome of a call without an answer. */
  readonly outcome: number | string;
}

interface Call {
  /** Label of the call in the metrics. */
  readonly name: string;
  readonly method: string;
  readonly server: string;
}

/** Outgoing call whose duration is measured. */
export interface OutgoingCall {
  /** Headers that continue the trace; empty without a trace. */
  readonly headers: Readonly<Record<string, string>>;
  /** @param outcome status code, or a word from a closed set */
  end(outcome: number | string): void;
}

const nowMs = () => performance.timeOrigin + performance.now();
const newSpanID = () => randomBytes(8).toString('hex');

/** Trace to which a request belongs. */
export class Trace {
  readonly #context: TraceParent;
  readonly #parentID: string | undefined;
  readonly #startedAt = nowMs();
  /** Undefined if spans are not recorded. */
  readonly #record: ((span: Span) => void) | undefined;

  constructor(context: TraceParent, parentID?: string, record?: (span: Span) => void) {
    this.#context = context;
    this.#parentID = parentID;
    this.#record = record;
  }

  get id(): string {
    return this.#context.traceID;
  }

  call({ name, method, server }: Call): OutgoingCall {
    const record = this.#record;
    if (record === undefined) return { headers: traceHeaders(this.#context), end: () => undefined };
    const { traceID, spanID: parentID } = this.#context;
    const spanID = newSpanID();
    const startedAt = nowMs();
    const end = (outcome: number | string) =>
      record({ kind: 'client', name, traceID, spanID, parentID, startedAt, endedAt: nowMs(), method, server, outcome });
    return { headers: traceHeaders({ ...this.#context, spanID }), end };
  }

  /** Records the span of the request. */
  end(name: string, method: string, outcome: number): void {
    const { traceID, spanID } = this.#context;
    const span = { traceID, spanID, parentID: this.#parentID, startedAt: this.#startedAt, endedAt: nowMs() };
    this.#record?.({ kind: 'server', name, method, outcome, ...span });
  }
}

export interface TracingOptions {
  /** Part of the requests without a trace of their own that is recorded, from 0 to 1. */
  sampleRatio: number;
  record: (span: Span) => void;
}

/**
 * Traces requests. Without options, a caller's trace is passed on unchanged, and requests without one have none. With options, each request
 * has a trace; the caller decides about recording where it sends one.
 */
export class Tracing {
  readonly #options: TracingOptions | undefined;

  constructor(options?: TracingOptions) {
    this.#options = options;
  }

  traceOf(headers: IncomingHttpHeaders): Trace | undefined {
    if (this.#options === undefined && headers.traceparent === undefined) return undefined;
    const parent = readTraceParent(headers);
    if (this.#options === undefined) return parent && new Trace(parent);
    const { record, sampleRatio } = this.#options;
    const { traceID = randomBytes(16).toString('hex'), isSampled = Math.random() < sampleRatio, state = '' } = parent ?? {};
    const context = { traceID, spanID: newSpanID(), isSampled, state };
    return new Trace(context, parent?.spanID, isSampled ? record : undefined);
  }
}

const current = new AsyncLocalStorage<Trace | undefined>();

/** Runs the work of a request as part of its trace. */
export const runInTrace = <T>(trace: Trace, work: () => T): T => current.run(trace, work);

/** Runs work that outlives the request in which it begins. */
export const runOutsideTraces = <T>(work: () => T): T => current.exit(work);

/** Returns the id of the current request's trace, undefined if it has none. */
export const currentTraceID = (): string | undefined => current.getStore()?.id;

const noHeaders = {};

/**
 * Begins an outgoing call, which continues the trace of the current request if there is one.
 *
 * @param endTimer ends the timer of the metric
 */
export function beginCall(call: Call, endTimer: (labels: { outcome: number | string }) => void): OutgoingCall {
  const traced = current.getStore()?.call(call);
  const end = (outcome: number | string) => {
    endTimer({ outcome });
    traced?.end(outcome);
  };
  return { headers: traced?.headers ?? noHeaders, end };
}
