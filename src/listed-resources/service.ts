import type { Caller } from '@atrium/http/caller.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import type { ReadonlyRows } from '@atrium/lists/list-index.ts';
import type { LiveParameters } from '@atrium/lists/live-list-answer.ts';
import type { Page } from '@atrium/lists/page.ts';
import { holderOf, type Scope } from '@atrium/lists/query.ts';
import type { ListParameters } from '@atrium/lists/schema.ts';
import type { RightCheck } from '@atrium/lists/while-allowed.ts';
import { exactValue } from '@atrium/objects/json.ts';
import { badParameter, forbidden, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { namesKey } from '../access/allowed-namespaces.ts';
import type { Namespaces } from '../access/namespaces.ts';
import type { Services } from '../services.ts';
import { type Column, shownColumn, type Value } from './columns.ts';
import { type ListedResource, rowsApiVersion } from './listed-resource.ts';
import { defaultSort, type ResourceRow } from './row.ts';

/** Resource and namespace of a list. */
export interface Target {
  /** `core` for the core group. */
  group: string;
  version: string;
  resource: string;
  /** Default: all objects that the caller may list. */
  namespace?: string;
}

/** A resource that is listed, and its columns. */
type Offered = ResourceType & { columns: Pick<Column, 'name' | 'title' | 'type'>[] };

/** Objects of a resource that a caller may see: all, or those in these namespaces. */
type VisibleNamespaces = 'all' | ReadonlySet<string>;

/** Rows that a caller may list, in the form that a search reads. */
export interface VisibleRows {
  rows: Iterable<ResourceRow>;
  /** Undefined if the caller may list all of them. */
  fits: Scope<ResourceRow>['fits'];
  /** Returns a reader of the first of these columns that the resource has. */
  read(...columns: string[]): (row: ResourceRow) => string;
  /** Returns a reader of a column of numbers; 0 where a row has none. */
  figure(column: string): (row: ResourceRow) => number;
}

/** Lists rows of resources. Totals, order, summaries and continue tokens depend only on the objects that the caller may list. */
export class ListsService {
  readonly #access: AccessReviews;
  readonly #resources: ReadonlyMap<string, ListedResource>;
  readonly #allowed: Namespaces['allowed'] | undefined;
  readonly #summaries = new Summaries();

  /** @param resources resources by `group/version/resource` */
  constructor({ access }: Services, resources: ReadonlyMap<string, ListedResource>, allowed: Namespaces['allowed'] | undefined) {
    this.#access = access;
    this.#resources = resources;
    this.#allowed = allowed;
  }

  /** Returns the resources that have lists, in the order of the configuration. Resources that the API server does not know are left out. */
  offered(): Offered[] {
    return [...this.#resources.values()].flatMap(({ type, columns }) =>
      columns === undefined ? [] : [{ ...type, columns: columns.map(shownColumn) }],
    );
  }

  /** All resources of the configuration, in the same order. */
  get resources(): ResourceType[] {
    return [...this.#resources.values()].map(({ type }) => type);
  }

  /**
   * Returns the rows that a list would show, in no order.
   *
   * @returns undefined if the resource has no namespaces, and a namespace is given
   * @throws StatusError 403, 404, 429, 503, 504
   */
  async visible(target: Target, caller: Caller, signal: AbortSignal): Promise<VisibleRows | undefined> {
    if (target.namespace !== undefined && this.#listed(target).isOfCluster) return undefined;
    const { rows, scope } = await this.#seen(target, 'list', caller, signal);
    const { columns, collection } = rows;
    return {
      rows: collection.cache.values(),
      fits: scope.fits,
      read(...names) {
        const index = columns.findIndex(({ name }) => names.includes(name));
        return (row) => String(row.values[index] ?? '');
      },
      figure(column) {
        const index = columns.findIndex(({ name }) => name === column);
        return (row) => Number(row.values[index] ?? 0);
      },
    };
  }

  /** Returns a ResourceRowList. @throws StatusError 400, 403, 404, 410, 429, 503, 504 */
  async list(target: Target, parameters: ListParameters, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { rows, scope } = await this.#seen(target, 'list', caller, signal);
    return rows.collection.lister.list(ordered(parameters), signal, scope);
  }

  /** Counts the objects with each value of a property. @throws StatusError 400, 403, 404, 429, 503, 504 */
  async summary(target: Target, property: string, parameters: ListParameters, caller: Caller, signal: AbortSignal): Promise<Summary> {
    for (const name of ['continue', 'page'] as const)
      if (parameters[name]) throw badParameter(name, 'cannot be used together with summary', 'FieldValueForbidden');
    const { rows: found, scope } = await this.#seen(target, 'list', caller, signal);
    const { rows, resourceVersion } = await found.collection.lister.rows(ordered({ ...parameters, sortBy: '' }), signal, scope);
    return this.#summaries.of({ rows, resourceVersion, columns: found.columns, property });
  }

  /** Answers with events until the permission or the credential is revoked. @throws StatusError 400, 403, 404, 429, 503, 504 */
  async live(ctx: Context, target: Target, parameters: LiveParameters, caller: Caller, signal: AbortSignal): Promise<void> {
    const { rows, scope, sight } = await this.#seen(target, 'watch', caller, signal);
    const check: RightCheck = async (bearer, lasting) => {
      const now = await this.#sightOf(target, 'watch', { ...caller, ...bearer }, lasting);
      const lost = lostOf(sight, now);
      if (lost !== undefined) throw this.#refusal(target, 'watch', caller, lost);
    };
    await rows.live.answer(ctx, ordered(parameters), { caller, check, scope, signal });
  }

  /** @throws StatusError 403, 404, 429, 503, 504 */
  async #seen(target: Target, verb: 'list' | 'watch', caller: Caller, signal: AbortSignal) {
    const listed = this.#listed(target);
    const sight = await this.#sightOf(target, verb, caller, signal);
    const rows = listed.rows();
    const { lister } = rows.collection;
    await lister.whenReady(signal);
    // Permissions in namespaces do not apply to objects without a namespace.
    if (listed.isOfCluster && (sight !== 'all' || target.namespace !== undefined))
      throw this.#refusal(target, verb, caller, target.namespace ?? '');
    return { rows, sight, scope: scopeOf(sight, caller) };
  }

  /** Returns the objects that the caller may see. @throws StatusError 403 if there are none; 429, 503, 504 */
  async #sightOf(target: Target, verb: string, caller: Caller, signal: AbortSignal): Promise<VisibleNamespaces> {
    const { group, resource } = this.#listed(target).type;
    const { namespace } = target;
    const right = { verb, group, resource };
    if (namespace !== undefined) {
      if (await this.#access.can(caller, { ...right, namespace }, signal)) return new Set([namespace]);
      throw this.#refusal(target, verb, caller, namespace);
    }
    if (await this.#access.can(caller, right, signal)) return 'all';
    const names = await this.#allowed?.of({ ...right, subresource: '' }, caller, signal);
    if (names === undefined || names.size === 0) throw this.#refusal(target, verb, caller, '');
    return names;
  }

  /** @throws StatusError 404 */
  #listed({ group, version, resource }: Target): ListedResource {
    const found = this.#resources.get(`${group === 'core' ? '' : group}/${version}/${resource}`);
    if (found !== undefined) return found;
    throw new StatusError(404, 'NotFound', `${resource} are not offered as a list: the setting lists.resources does not name them`);
  }

  #refusal(target: Target, verb: string, { identity }: Caller, namespace: string): StatusError {
    const { group, resource } = this.#listed(target).type;
    return forbidden({ group, resource, verb, user: identity.name, namespace });
  }
}

/** Sorts rows with equal values by namespace and name. */
const ordered = <T extends ListParameters>(parameters: T): T =>
  parameters.sortBy === '' ? parameters : { ...parameters, sortBy: `${parameters.sortBy},${defaultSort}` };

function scopeOf(sight: VisibleNamespaces, caller: Caller): Scope<ResourceRow> {
  const holder = holderOf(caller);
  if (sight === 'all') return { key: '', fits: undefined, holder };
  return { key: namesKey(sight), fits: ({ namespace }) => sight.has(namespace), holder };
}

/** Returns a namespace that the caller may no longer see, '' if the caller may no longer see the whole cluster. */
function lostOf(before: VisibleNamespaces, now: VisibleNamespaces): string | undefined {
  if (now === 'all') return undefined;
  return before === 'all' ? '' : [...before].find((name) => !now.has(name));
}

/** Bound of the values that are shown. Objects with other values are counted together. */
const maxValues = 100;
/** Rows between two checks of the time. */
const chunk = 512;

interface Summary {
  apiVersion: typeof rowsApiVersion;
  kind: 'ResourceSummary';
  metadata: { resourceVersion: string };
  total: number;
  /** Values by count. A BigInt is in a form that JSON serializes exactly. */
  values: { value: unknown; count: number }[];
  other: number;
}

interface Summarized {
  /** Rows of a list. Their content changes only with `resourceVersion`. */
  rows: ReadonlyRows<ResourceRow>;
  resourceVersion: string;
  columns: readonly Column[];
  /** Name of a column, `namespace` or `owner`. */
  property: string;
}

interface Kept {
  readonly resourceVersion: string;
  readonly summary: Promise<Summary>;
}

/**
 * Counts rows by value. The most frequent value comes first; equal counts are in the order of the texts. The result is shared by all
 * callers until the rows change.
 */
class Summaries {
  /** Summaries by list and property. */
  readonly #kept = new WeakMap<ReadonlyRows<ResourceRow>, Map<string, Kept>>();

  /** @throws StatusError 400 */
  of({ rows, resourceVersion, columns, property }: Summarized): Promise<Summary> {
    const read = readerOf(columns, property);
    const ofList = this.#kept.get(rows) ?? new Map<string, Kept>();
    const kept = ofList.get(property);
    if (kept?.resourceVersion === resourceVersion) return kept.summary;
    const summary = count(rows.slice(), resourceVersion, read);
    this.#kept.set(rows, ofList.set(property, { resourceVersion, summary }));
    return summary;
  }
}

type Reader = (row: ResourceRow) => Value;

async function count(rows: readonly ResourceRow[], resourceVersion: string, read: Reader): Promise<Summary> {
  const slices = new Slices();
  const counts = new Map<Value, number>();
  for (const [index, row] of rows.entries()) {
    const value = read(row);
    counts.set(value, (counts.get(value) ?? 0) + 1);
    if (index % chunk === 0) await slices.end();
  }
  const sorted = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((left, right) => right.count - left.count || (String(left.value) < String(right.value) ? -1 : 1));
  const values = sorted.slice(0, maxValues).map(({ value, count }) => ({ value: exactValue('', value), count }));
  const other = sorted.slice(maxValues).reduce((sum, { count }) => sum + count, 0);
  return { apiVersion: rowsApiVersion, kind: 'ResourceSummary', metadata: { resourceVersion }, total: rows.length, values, other };
}

/** @throws StatusError 400 */
function readerOf(columns: readonly Column[], property: string): Reader {
  if (property === 'namespace') return ({ namespace }) => namespace || null;
  if (property === 'owner') return ({ owner }) => owner || null;
  const index = columns.findIndex(({ name }) => name === property);
  if (index >= 0) return (row) => row.values[index] ?? null;
  const known = ['namespace', 'owner', ...columns.map(({ name }) => name)];
  throw badParameter('summary', `unknown property; known are: ${known.join(', ')}`, 'FieldValueNotSupported');
}
