/** Requests, limits and capacity beside the usage, summed up from the lists of pods and nodes that the service keeps. */
import type { Caller } from '@atrium/http/caller.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { ResourceRow } from '../listed-resources/row.ts';
import type { ListsService, VisibleRows } from '../listed-resources/service.ts';
import type { UsageHistory } from './schema.ts';

type Bounds = NonNullable<UsageHistory['bounds']>;
type Amounts = NonNullable<Bounds['requests']>;

/** Default: the cluster. */
interface BoundsTarget {
  namespace?: string;
  node?: string;
}

/** Rows between two checks of the time. */
const chunk = 512;

export class UsageBounds {
  readonly #lists: Pick<ListsService, 'visible'>;

  constructor(lists: Pick<ListsService, 'visible'>) {
    this.#lists = lists;
  }

  /** Returns the bounds of a namespace, a node or the cluster. Sums that the caller may not see whole are left out. */
  async of({ namespace, node }: BoundsTarget, caller: Caller, signal: AbortSignal): Promise<Bounds> {
    const [pods, nodes] = await Promise.all([
      this.#visible('pods', namespace, caller, signal),
      namespace === undefined ? this.#visible('nodes', undefined, caller, signal) : undefined,
    ]);
    const nodeOf = pods?.read('node');
    const [ofPods, ofNodes] = await Promise.all([
      pods && sumsOf(pods, (row) => node === undefined || nodeOf?.(row) === node, ['Requests', 'Limits']),
      nodes && sumsOf(nodes, ({ shownName }) => node === undefined || shownName === node, ['Allocatable']),
    ]);
    const [requests, limits] = ofPods ?? [];
    const [capacity] = ofNodes ?? [];
    return { ...(capacity && { capacity }), ...(requests && { requests }), ...(limits && { limits }) };
  }

  /** Returns the rows if the caller may list all of them: a sum of a part would look like the whole. */
  async #visible(resource: string, namespace: string | undefined, caller: Caller, signal: AbortSignal): Promise<VisibleRows | undefined> {
    const target = { group: 'core', version: 'v1', resource, ...(namespace !== undefined && { namespace }) };
    try {
      const rows = await this.#lists.visible(target, caller, signal);
      return namespace === undefined && rows?.fits !== undefined ? undefined : rows;
    } catch (error) {
      if (error instanceof StatusError) return undefined;
      throw error;
    }
  }
}

/** Sums up pairs of columns in one pass, for example `cpuRequests` and `memoryRequests`. */
async function sumsOf(
  { rows, fits, figure }: VisibleRows,
  isMeant: (row: ResourceRow) => boolean,
  suffixes: readonly string[],
): Promise<Amounts[]> {
  const sums = suffixes.map((suffix) => ({ cpuOf: figure(`cpu${suffix}`), memoryOf: figure(`memory${suffix}`), cpu: 0, memory: 0 }));
  const slices = new Slices();
  let seen = 0;
  for (const row of rows) {
    seen += 1;
    if (seen % chunk === 0) await slices.end();
    if (!isMeant(row) || (fits !== undefined && !fits(row))) continue;
    for (const sum of sums) {
      sum.cpu += sum.cpuOf(row);
      sum.memory += sum.memoryOf(row);
    }
  }
  return sums.map(({ cpu, memory }) => ({ cpu: Number(cpu.toPrecision(7)), memory: Math.round(memory) }));
}
