import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { type RecordingStore, recordingPage, recordingParts } from '@atrium/audit-store/recording.ts';
import { type AuditStore, auditCounts, auditPage, chainPart, proposal, type StoreUsage } from '@atrium/audit-store/store.ts';
import { foundRecording, foundUsage, maxBodyBytes, maxEvents, recordingDone } from '@atrium/audit-store/wire.ts';
import { discard, TrustingAgent } from '@atrium/http/outgoing.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import { badRequest, serviceUnavailable, timedOut } from '@atrium/objects/status.ts';
import type { Dispatcher } from 'undici';
import { z } from 'zod';

/** A store that does not answer within this time is away. */
const timeoutMs = 10_000;
/** Connections: one for batches, the others for queries. */
const connections = 8;
/** Bytes of a request beside its events. */
const envelopeBytes = 64;
const maxReasonLength = 256;

interface RemoteStoreOptions {
  url: string;
  caFile?: string | undefined;
  /** File with the token of the service account, which a kubelet renews. */
  tokenFile: string;
}

const refusal = z.object({ message: z.string() });

/** Events in `atrium audit-store`, over HTTP. */
export class RemoteStore implements AuditStore {
  readonly recordings: RecordingStore = {
    keep: async (step) => (await this.#ask('/v1/recordings', step, recordingDone)).isDone,
    list: (filter, page) => this.#ask('/v1/recordings/list', { filter, ...page }, recordingPage),
    get: async (id) => (await this.#ask('/v1/recordings/get', { id }, foundRecording)).recording,
    read: async (id, after) => (await this.#ask('/v1/recordings/read', { id, after }, recordingParts)).parts,
    delete: async (id) => (await this.#ask('/v1/recordings/delete', { id }, recordingDone)).isDone,
  };
  readonly #options: RemoteStoreOptions;
  readonly #url: string;
  #agent: TrustingAgent;

  constructor(options: RemoteStoreOptions) {
    this.#options = options;
    this.#url = options.url.replace(/\/{1,8}$/, '');
    this.#agent = this.#newAgent();
  }

  /** @throws StatusError 400 if the store refuses an event; 503 or 504 while it cannot take events */
  async append(events: readonly AuditEvent[]): Promise<void> {
    for (const body of bodiesOf(events)) discard((await this.#post('/v1/events', body)).body);
  }

  list(...[filter, page]: Parameters<AuditStore['list']>): ReturnType<AuditStore['list']> {
    return this.#ask('/v1/queries', { filter, ...page }, auditPage);
  }

  count(...[filter, by]: Parameters<AuditStore['count']>): ReturnType<AuditStore['count']> {
    return this.#ask('/v1/counts', { filter, by }, auditCounts);
  }

  chain(after: number, limit: number): ReturnType<AuditStore['chain']> {
    return this.#ask('/v1/chain', { after, limit }, chainPart);
  }

  propose(...[kept, removable]: Parameters<AuditStore['propose']>): ReturnType<AuditStore['propose']> {
    return this.#ask('/v1/checkpoints', { kept, ...removable }, proposal);
  }

  async usage(): Promise<StoreUsage | undefined> {
    return (await this.#ask('/v1/usage', {}, foundUsage)).usage;
  }

  /** Returns the reason why the store does not answer a question, undefined if it does. */
  async problem(): Promise<string | undefined> {
    try {
      await this.list({}, { limit: 1 });
      return undefined;
    } catch (error) {
      return failureReason(error);
    }
  }

  async stop(): Promise<void> {
    await this.#agent.stop();
  }

  /** @throws StatusError 400, 503, 504 */
  async #ask<T>(path: string, question: unknown, schema: z.ZodType<T>): Promise<T> {
    const answer = await this.#post(path, JSON.stringify(question));
    const content = schema.safeParse(await answer.body.json().catch(unavailable));
    if (!content.success) throw unavailable(content.error);
    return content.data;
  }

  async #post(path: string, body: string): Promise<Dispatcher.ResponseData> {
    const signal = AbortSignal.timeout(timeoutMs);
    const answer = await this.#send(path, body, signal).catch((error: unknown) => {
      // Another certificate authority is read with the next connection.
      const failed = this.#agent;
      this.#agent = this.#newAgent();
      void failed.stop();
      throw signal.aborted ? timedOut('the audit store', { cause: error }) : unavailable(error);
    });
    if (answer.statusCode < 300) return answer;
    const { data } = refusal.safeParse(await answer.body.json().catch(() => undefined));
    const reason = `status ${answer.statusCode}: ${data?.message.slice(0, maxReasonLength) ?? 'no reason'}`;
    if (answer.statusCode === 400 || answer.statusCode === 413) throw badRequest(`the audit store refuses the request: ${reason}`);
    throw unavailable(new Error(reason));
  }

  async #send(path: string, body: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const token = await readSecretFile(this.#options.tokenFile);
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    return this.#agent.request(`${this.#url}${path}`, { method: 'POST', headers, body, signal });
  }

  #newAgent(): TrustingAgent {
    return new TrustingAgent({ caFile: this.#options.caFile, connections, connectTimeoutMs: timeoutMs });
  }
}

const unavailable = (cause: unknown) => serviceUnavailable('the audit store', { cause });

/** Names the cause of an answer that says only that the store is not available. */
export function failureReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : 'unknown error';
}

/** Returns requests that the store takes, in the order of the events. */
function bodiesOf(events: readonly AuditEvent[]): string[] {
  const bodies: string[] = [];
  let texts: string[] = [];
  let bytes = envelopeBytes;
  const end = () => {
    if (texts.length > 0) bodies.push(`{"events":[${texts.join(',')}]}`);
    texts = [];
    bytes = envelopeBytes;
  };
  for (const event of events) {
    const text = JSON.stringify(event);
    const length = Buffer.byteLength(text) + 1;
    if (texts.length === maxEvents || bytes + length > maxBodyBytes) end();
    texts.push(text);
    bytes += length;
  }
  end();
  return bodies;
}
