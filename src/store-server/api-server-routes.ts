/** The audit webhook of kube-apiserver, which brings what went past the doors. The API server has a token of its own for it. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { ApiServerEvent, Joined } from '@atrium/audit-store/store.ts';
import { bodyBytesReader } from '@atrium/http/body.ts';
import { badInput } from '@atrium/http/input.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { badRequest, unauthorized } from '@atrium/objects/status.ts';
import { type BatchReader, eventsOf } from './api-server-batch.ts';
import { eventList, isOwnCheckpoint, joinableBy } from './api-server-events.ts';

/**
 * Bound of a batch: with the flags of docs/audit.md, a batch has four events of at most 8 MiB. The event of a write that succeeds has at
 * most 6.4 MB: the API server takes headers of 1 MiB, and tells a sign of the URI with up to six bytes.
 */
const maxBatchBytes = 33 * 1024 * 1024;

interface IntakeOptions {
  /** File with the token of the API server, which is read for each batch. */
  tokenFile: string;
  /** Service accounts of Atrium. */
  accounts: readonly string[];
  reader: BatchReader;
  join(events: readonly ApiServerEvent[]): Promise<Joined>;
  metrics: Metrics;
}

export function apiServerOperation({ tokenFile, accounts, reader, join, metrics }: IntakeOptions): Operation {
  const readBody = bodyBytesReader({ limit: maxBatchBytes, mediaTypes: ['application/json'] });
  const received = metrics.counter({
    name: 'atrium_audit_store_received_total',
    help: 'Events of the API server by outcome (appended, joined with the event of a door, waiting for one, ignored).',
    labelNames: ['outcome'],
  });
  const isOwn = isOwnCheckpoint(accounts);
  return operation({
    id: 'ReceiveEvents',
    method: 'POST',
    paths: ['/v1/kube-apiserver'],
    tag: 'events',
    summary: 'Takes events of kube-apiserver (audit.k8s.io/v1 EventList); answers when all are on disk',
    description: 'A batch can be sent again.',
    // The token is not one of the cluster: the API server cannot review it while it starts.
    credential: 'none',
    ignoredQuery: ['timeout'],
    bodyLimit: maxBatchBytes,
    described: { body: { 'application/json': eventList } },
    answers: { 204: { description: 'All events are on disk.' } },
    async handle({ ctx }) {
      const [, given] = /^Bearer (\S{1,1024})$/i.exec(ctx.get('Authorization')) ?? [];
      if (given === undefined || !isEqual(given, await readSecretFile(tokenFile))) throw unauthorized({ tokenGiven: given !== undefined });
      const batch = await reader.read(async () => (await readBody(ctx)) ?? new Uint8Array());
      if (batch === 'no JSON') throw badRequest('the body is not valid JSON');
      if ('violations' in batch) throw badInput(batch.violations);
      received.inc({ outcome: 'ignored' }, batch.ignored);
      for (const part of batch.parts) {
        const told = eventsOf(part);
        const kept = told.filter((event) => !isOwn(event)).map(joinableBy(accounts));
        received.inc({ outcome: 'ignored' }, told.length - kept.length);
        for (const [outcome, count] of Object.entries(await join(kept))) received.inc({ outcome }, count);
      }
      ctx.status = 204;
    },
  });
}

const digest = (token: string) => createHash('sha256').update(token).digest();

const isEqual = (given: string, expected: string): boolean => timingSafeEqual(digest(given), digest(expected));
