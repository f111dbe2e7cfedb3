import type { Logger } from 'pino';
import type { Counter } from 'prom-client';
import { discard, TrustingAgent } from './outgoing.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Span } from './telemetry/tracing.ts';

/** Bounds of the SDKs of OpenTelemetry for batches (specification, Batching processor). */
const maxWaiting = 2048;
const maxBatch = 512;
const everyMs = 5_000;
const timeoutMs = 10_000;
const lastTimeoutMs = 2_000;
/** Interval of log entries about a collector that does not answer. */
const logEveryMs = 60_000;

/** Numbers of `SpanKind` and `Status.StatusCode` (opentelemetry-proto, trace/v1/trace.proto). */
const kinds = { server: 2, client: 3 } as const;
const errorStatus = { code: 2 };

export interface SpanExporterOptions {
  /** Address of a collector, to which `/v1/traces` is added (OTLP/HTTP). */
  endpoint: string;
  caFile: string | undefined;
  service: { version: string; instance: string };
  log: Logger;
  metrics: Metrics;
}

/**
 * Sends spans to a collector in batches, as OTLP/HTTP with JSON. Spans that do not fit into the queue are dropped, and so are failed
 * batches.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #spans: Counter<'outcome'>;
  readonly #agent: TrustingAgent;
  readonly #url: string;
  readonly #stopping = new AbortController();
  #waiting: Span[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#spans = options.metrics.counter({
      name: 'atrium_trace_spans_total',
      help: 'Spans of traces, by outcome (exported or dropped).',
      labelNames: ['outcome'],
    });
    this.#url = `${options.endpoint.replace(/\/{1,8}$/, '')}/v1/traces`;
    this.#agent = new TrustingAgent({ caFile: options.caFile, connections: 1, connectTimeoutMs: timeoutMs });
  }

  readonly record = (span: Span): void => {
    if (this.#waiting.length >= maxWaiting) {
      this.#count('dropped', 1);
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= maxBatch) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), everyMs).unref();
  };

  /** Sends the spans that wait, for a moment at most. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(new Error('the service stops')), lastTimeoutMs);
    while (this.#sending !== undefined || this.#waiting.length > 0) {
      this.#send();
      await this.#sending;
    }
    clearTimeout(timer);
    clearTimeout(this.#timer);
    await this.#agent.stop();
  }

  #send(): void {
    if (this.#sending !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting.splice(0, maxBatch);
    this.#sending = this.#post(batch).finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#send(), everyMs).unref();
    });
  }

  /** Never throws. */
  async #post(batch: readonly Span[]): Promise<void> {
    const body = JSON.stringify(exportRequest(batch, this.#options.service));
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const headers = { 'content-type': 'application/json' };
      const answer = await this.#agent.request(this.#url, { method: 'POST', headers, body, signal });
      discard(answer.body);
      if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode}`);
      this.#count('exported', batch.length);
    } catch (error) {
      this.#count('dropped', batch.length);
      this.#tell(error);
    }
  }

  #count(outcome: 'exported' | 'dropped', spans: number): void {
    this.#spans.inc({ outcome }, spans);
  }

  #tell(error: unknown): void {
    if (performance.now() - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = performance.now();
    const reason = error instanceof Error ? error.message : 'unknown';
    this.#options.log.warn({ endpoint: this.#options.endpoint, reason }, 'export of spans failed');
  }
}

/** Returns an ExportTraceServiceRequest in the JSON encoding of OTLP: ids in hex, times as strings of nanoseconds. */
const exportRequest = (batch: readonly Span[], { version, instance }: SpanExporterOptions['service']) => ({
  resourceSpans: [
    {
      resource: {
        attributes: [text('service.name', 'atrium'), text('service.version', version), text('service.instance.id', instance)],
      },
      scopeSpans: [{ scope: { name: 'atrium', version }, spans: batch.map(encoded) }],
    },
  ],
});

function encoded({ kind, name, traceID, spanID, parentID, startedAt, endedAt, method, server, outcome }: Span) {
  const isError = typeof outcome === 'string' || outcome >= (kind === 'server' ? 500 : 400);
  const result =
    typeof outcome === 'number'
      ? { key: 'http.response.status_code', value: { intValue: String(outcome) } }
      : { key: 'error.type', value: { stringValue: outcome } };
  return {
    traceId: traceID,
    spanId: spanID,
    ...(parentID !== undefined && { parentSpanId: parentID }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: [text('http.request.method', method), result, ...(server === undefined ? [] : [text('server.address', server)])],
    ...(isError && { status: errorStatus }),
  };
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** A double holds microseconds since 1970 exactly, and nanoseconds not. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1000)}000`;
