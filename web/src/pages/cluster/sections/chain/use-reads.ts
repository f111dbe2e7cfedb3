/** Objects of a namespace, read by the caller's own rights, and again while the page is open. */
import { useEffect } from 'preact/hooks';
import { apiPath, type Kind, kindId } from '../../../../api/kinds';
import { pageSize } from '../../../../api/list-path';
import { type Load, useLoad } from '../../../../api/load';
import { type ClusterObject, getJson } from '../../../../api/objects';
import { away } from '../../../../api/outage';
import { usePoll } from '../../../../api/poll';
import { asProblem, isAbort } from '../../../../api/problem';
import { may, type Right, useRights } from '../../../../app/rights';
import type { ChainRead } from './chain-reads';

const everyMs = 10_000;

/** A kind that is missing in the chain, or is there in part. */
export interface Gap {
  kind: Kind;
  why: 'forbidden' | 'failed' | 'part';
  right: Right;
  message: string;
  /** Number of objects that were read. */
  count: number;
}

export interface Found {
  objects: readonly ClusterObject[];
  gaps: readonly Gap[];
}

/** @returns the objects that were read, and the gaps of kinds that the caller may not list */
export function useReads(purpose: string, { metadata }: ClusterObject, reads: readonly ChainRead[]): { load: Load<Found>; refused: Gap[] } {
  const { namespace = '', resourceVersion, name } = metadata;
  const rightOf = ({ kind: { group, resource } }: ChainRead): Right => ({ verb: 'list', group, resource, namespace });
  useRights(reads.map(rightOf));
  const isKnown = reads.every((read) => may(rightOf(read)) !== undefined);
  const allowed = reads.filter((read) => may(rightOf(read)));
  const key = JSON.stringify([namespace, name, allowed.map((read) => [kindId(read.kind), read.selection])]);
  const load = useLoad(isKnown ? `${purpose}/${key}` : undefined, (signal) => readAll(allowed, signal));
  usePoll(load, everyMs);
  useEffect(() => {
    if (load.data.peek() !== undefined) void load.reload();
  }, [resourceVersion]);
  const refused = reads
    .filter((read) => may(rightOf(read)) === false)
    .map((read): Gap => ({ kind: read.kind, why: 'forbidden', right: rightOf(read), message: '', count: 0 }));
  return { load, refused };

  async function readAll(those: readonly ChainRead[], signal: AbortSignal): Promise<Found> {
    const parts = await Promise.all(those.map((read) => readOne(read, signal)));
    return { objects: parts.flatMap(({ objects }) => objects), gaps: parts.flatMap(({ gaps }) => gaps) };
  }

  /** A list that fails leaves a gap in the chain, and the others stand. */
  async function readOne(read: ChainRead, signal: AbortSignal): Promise<Found> {
    const right = rightOf(read);
    const query = new URLSearchParams({ ...read.selection, limit: String(pageSize) });
    try {
      const { apiVersion, items, metadata } = await getJson<List>(`${apiPath(read.kind, { namespace })}?${query}`, signal);
      const objects = (items ?? []).map((item) => ({ ...item, apiVersion, kind: read.kind.kind }));
      return { objects, gaps: metadata.continue ? [{ kind: read.kind, why: 'part', right, message: '', count: objects.length }] : [] };
    } catch (error) {
      const { status, message, isOutage } = asProblem(error);
      // The chain that was read stays while the service is away.
      if (isAbort(error) || (isOutage && (status === 0 || away.peek() !== undefined))) throw error;
      return { objects: [], gaps: [{ kind: read.kind, why: status === 403 ? 'forbidden' : 'failed', right, message, count: 0 }] };
    }
  }
}

interface List {
  apiVersion: string;
  items: readonly ClusterObject[] | null;
  metadata: { continue?: string };
}
