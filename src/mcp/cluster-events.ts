import { reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import type { ClusterReads } from './cluster.ts';
import type { ToolCall } from './tool.ts';

const events = { type: { group: '', version: 'v1', resource: 'events' }, kind: 'Event', isNamespaced: true };
/** Events in one answer of the API server, which sorts them by name. */
const maxRead = 500;

const readEvents = reader(
  z.object({
    metadata: z.object({ continue: z.string() }),
    items: z.array(
      z.object({
        metadata: z.object({ namespace: z.string(), creationTimestamp: z.string() }),
        involvedObject: z.object({ kind: z.string(), name: z.string() }),
        type: z.string(),
        reason: z.string(),
        message: z.string(),
        count: z.number(),
        firstTimestamp: z.string(),
        lastTimestamp: z.string(),
        eventTime: z.string(),
        series: z.object({ count: z.number(), lastObservedTime: z.string() }),
        source: z.object({ component: z.string() }),
        reportingComponent: z.string(),
      }),
    ),
  }),
);

interface EventsQuery {
  readonly namespace: string | undefined;
  /** Conditions of a field selector. */
  readonly fields: Readonly<Record<string, string>>;
  readonly limit: number;
}

/** Returns events of the cluster, newest first, and whether there are others. */
export async function readClusterEvents(reads: ClusterReads, { namespace, fields, limit }: EventsQuery, call: ToolCall) {
  const fieldSelector = Object.entries(fields)
    .map(([field, value]) => `${field}=${value}`)
    .join(',');
  const query = new URLSearchParams({ limit: String(maxRead), ...(fieldSelector !== '' && { fieldSelector }) });
  const { items = [], metadata } = readEvents(await reads.list(events, namespace, { query }, call));
  const shown = items.map(({ metadata: { namespace: of, creationTimestamp } = {}, involvedObject, series, source, ...event }) => ({
    last: series?.lastObservedTime || event.lastTimestamp || event.eventTime || creationTimestamp || '',
    type: event.type,
    reason: event.reason,
    ...(fields['involvedObject.name'] === undefined && {
      object: `${involvedObject?.kind ?? ''}/${involvedObject?.name ?? ''}`,
      ...(namespace === undefined && { namespace: of }),
    }),
    message: event.message,
    count: series?.count ?? event.count ?? 1,
    from: event.reportingComponent || source?.component,
  }));
  const newest = shown.toSorted((one, other) => (one.last < other.last ? 1 : -1));
  const isWhole = metadata?.continue === undefined || metadata.continue === '';
  return { items: newest.slice(0, limit), isCut: newest.length > limit || !isWhole, isWhole };
}
