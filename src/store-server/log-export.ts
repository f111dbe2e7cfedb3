/** Audit events as logs of OpenTelemetry, for those who keep them in a system of their own. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditDatabase, ChainPart } from '@atrium/audit-store/store.ts';
import { readAtMost, TrustingAgent } from '@atrium/http/outgoing.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import type { Counter, Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../config/schema.ts';

const batchSize = 500;
const idleMs = 2_000;
const retryMs = 5_000;
const timeoutMs = 10_000;
const maxAnswerBytes = 64 * 1024;
/** Answers that tell that a batch is not taken again either (OTLP specification, Failures). */
const refusals = [400, 413, 422];
/** Numbers of `SeverityNumber` (opentelemetry-proto, logs/v1/logs.proto). */
const severities = { success: { number: 9, text: 'INFO' }, others: { number: 13, text: 'WARN' } } as const;

type LinkedEvent = ChainPart['events'][number];

interface LogExportOptions {
  store: Pick<AuditDatabase, 'chain' | 'exported' | 'setExported'>;
  settings: NonNullable<Config['auditStore']['otlp']>;
  version: string;
  metrics: Metrics;
  log: Logger;
}

/**
 * Sends the events of a store to a collector, in the order of their arrival, as OTLP/HTTP with JSON. The store remembers the last one that
 * the collector took: none is left out after an outage or a restart, and a few may be sent twice.
 */
export class LogExport {
  readonly #options: LogExportOptions;
  readonly #agent: TrustingAgent;
  readonly #url: string;
  readonly #exported: Counter<'outcome'>;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #failure: string | undefined;

  constructor(options: LogExportOptions) {
    this.#options = options;
    const { endpoint, caFile } = options.settings;
    this.#url = `${endpoint.replace(/\/{1,8}$/, '')}/v1/logs`;
    this.#agent = new TrustingAgent({ caFile, connections: 1, connectTimeoutMs: timeoutMs });
    this.#exported = options.metrics.counter({
      name: 'atrium_audit_store_exported_total',
      help: 'Events for the collector of logs, by outcome (sent, refused by the collector, expired before they were sent).',
      labelNames: ['outcome'],
    });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Returns the reason why the collector took no events at the last attempt, undefined if it took them. */
  readonly failure = (): string | undefined => this.#failure;

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#agent.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let size = batchSize;
    while (!signal.aborted) {
      let pauseMs = 0;
      try {
        const { isRefused, count } = await this.#sendNext(size);
        size = isRefused ? Math.ceil(count / 2) : batchSize;
        if (count === 0) pauseMs = idleMs;
        this.#tell(undefined);
      } catch (error) {
        if (signal.aborted) return;
        this.#tell(error);
        pauseMs = retryMs;
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Sends the next events. A refused batch is left to the next call, which sends a smaller one; a refused event is left out. */
  async #sendNext(size: number): Promise<{ isRefused: boolean; count: number }> {
    const { store, log } = this.#options;
    const after = await store.exported();
    const { events } = await store.chain(after, size);
    const [first, last] = [events[0], events.at(-1)];
    if (first === undefined || last === undefined) return { isRefused: false, count: 0 };
    const isRefused = !(await this.#post(events));
    if (isRefused && events.length > 1) return { isRefused, count: events.length };
    await store.setExported(last.sequence);
    const expired = first.sequence - after - 1;
    if (expired > 0) log.error({ count: expired }, 'audit events expired before they were exported');
    if (isRefused) log.error({ sequence: first.sequence }, 'audit event is refused by the collector, and left out');
    this.#exported.inc({ outcome: 'expired' }, expired);
    this.#exported.inc({ outcome: isRefused ? 'refused' : 'sent' }, events.length);
    return { isRefused: false, count: events.length };
  }

  /** Returns false if the collector will not take these events later either. @throws Error if it may */
  async #post(events: readonly LinkedEvent[]): Promise<boolean> {
    const { settings, version } = this.#options;
    const token = settings.tokenFile === undefined ? undefined : await readSecretFile(settings.tokenFile);
    const answer = await this.#agent.request(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(exportRequest(events, version)),
      signal: AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(timeoutMs)]),
    });
    const body = await readAtMost(answer.body, maxAnswerBytes);
    if (refusals.includes(answer.statusCode)) return false;
    if (answer.statusCode >= 300) throw new Error(`status ${answer.statusCode}`);
    return rejectedOf(body) === 0;
  }

  /** Logs an outage once, not at each attempt. */
  #tell(error: unknown): void {
    const { log, settings } = this.#options;
    const { endpoint } = settings;
    const reason = error === undefined ? undefined : error instanceof Error ? error.message : 'unknown';
    if (reason !== undefined && this.#failure === undefined) log.warn({ endpoint, reason }, 'audit events cannot be exported');
    if (reason === undefined && this.#failure !== undefined) log.info({ endpoint }, 'audit events are exported again');
    this.#failure = reason;
  }
}

/** ExportLogsServiceResponse, as far as it is read here. Numbers of 64 bits are texts in JSON. */
const exportAnswer = z.object({ partialSuccess: z.object({ rejectedLogRecords: z.coerce.number().default(0) }).optional() });

function rejectedOf(body: Buffer | undefined): number {
  try {
    return exportAnswer.parse(JSON.parse(body?.toString() ?? '')).partialSuccess?.rejectedLogRecords ?? 0;
  } catch {
    // A collector may answer with an empty body.
    return 0;
  }
}

/** Returns an ExportLogsServiceRequest in the JSON encoding of OTLP. */
const exportRequest = (events: readonly LinkedEvent[], version: string) => ({
  resourceLogs: [
    {
      resource: {
        attributes: [text('service.name', 'atrium-audit-store'), text('service.version', version), text('service.instance.id', hostname())],
      },
      scopeLogs: [{ scope: { name: 'atrium.audit', version }, logRecords: events.map(encoded) }],
    },
  ],
});

/** Members of an event that are attributes of its record. */
const told = z.object({
  auditID: z.string(),
  cluster: z.string(),
  verb: z.string(),
  user: z.object({ username: z.string() }).optional(),
  objectRef: z.object({ resource: z.string(), namespace: z.string().optional(), name: z.string().optional() }),
  requestReceivedTimestamp: z.string(),
  outcome: z.string(),
  traceID: z.string().optional().catch(undefined),
});

function encoded({ sequence, hash, event }: LinkedEvent) {
  const { auditID, cluster, verb, user, objectRef, requestReceivedTimestamp, outcome, traceID } = told.parse(event);
  const { number, text: severityText } = outcome === 'success' ? severities.success : severities.others;
  const attributes = {
    ...{ 'audit.id': auditID, 'audit.hash': hash, 'audit.verb': verb, 'audit.outcome': outcome, 'audit.resource': objectRef.resource },
    ...{
      'audit.name': objectRef.name,
      'k8s.cluster.name': cluster,
      'k8s.namespace.name': objectRef.namespace,
      'user.name': user?.username,
    },
  };
  return {
    timeUnixNano: `${Date.parse(requestReceivedTimestamp)}000000`,
    observedTimeUnixNano: `${Date.now()}000000`,
    severityNumber: number,
    severityText,
    eventName: 'atrium.audit',
    body: { stringValue: JSON.stringify(event) },
    attributes: [
      { key: 'audit.sequence', value: { intValue: String(sequence) } },
      ...Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [text(key, value)])),
    ],
    ...(traceID !== undefined && /^[0-9a-f]{32}$/.test(traceID) && { traceId: traceID }),
  };
}

const text = (key: string, value: string) => ({ key, value: { stringValue: value.toWellFormed() } });
