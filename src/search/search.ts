/** Finds objects of all kinds in the watch caches of their lists. */
import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import { badParameter, qualified, StatusError } from '@atrium/objects/status.ts';
import type { GroupRow } from '../groups/row.ts';
import type { ListsService } from '../listed-resources/service.ts';
import type { Services } from '../services.ts';
import type { UserRow } from '../users/row.ts';
import { Matcher, noMatch } from './match.ts';
import {
  type FoundKind,
  type FoundObject,
  type SearchParameters,
  type SearchResult,
  searchQuery,
  searchResult,
  type UnsearchedKind,
} from './schema.ts';
import {
  type DisabledKind,
  disabledKinds,
  groupSource,
  listSources,
  type Opened,
  type SearchSource,
  userSource,
  type Visible,
} from './sources.ts';

const searchOperations = (service: SearchService): Operation[] => [
  operation({
    id: 'Search',
    method: 'GET',
    paths: ['/api/v2/search'],
    tag: 'search',
    summary: 'Searches users, groups and objects by name, label and image',
    description:
      'Searches users, groups and the kinds of `lists.resources`. Finds the objects that a list of the kind would show to the caller. `unsearched` names kinds that the caller may not list, that are not loaded yet, or that the configuration does not list: groups, and the kinds of the preset `workloads`.',
    credential: 'required',
    before: [compressed],
    query: searchQuery,
    answers: {
      200: { description: 'The objects by kind, and the kinds that were not searched.', content: { 'application/json': searchResult } },
      400: { description: '`q` is missing, or a kind cannot be searched.' },
    },
    async handle({ ctx, caller, query, signal }) {
      ctx.body = await service.search(query, caller, signal);
    },
  }),
];

interface SearchNeeds {
  users: Collection<UserRow>;
  /** Undefined if groups are disabled. */
  groups: Collection<GroupRow> | undefined;
  lists: ListsService;
  /** Kinds of the preset `workloads`. */
  workloads: readonly ResourceType[];
}

interface Search {
  operations: Operation[];
  service: SearchService;
}

export function createSearch(services: Services, { users, groups, lists, workloads }: SearchNeeds): Search {
  const own = [userSource(services, users), ...(groups ? [groupSource(services, groups)] : [])];
  const sources = [...own, ...listSources(lists, own)];
  const service = new SearchService(sources, services.metrics, disabledKinds(workloads, sources));
  return { operations: searchOperations(service), service };
}

interface Scored<Row> {
  readonly row: Row;
  readonly score: number;
}

/** Keeps the best of many rows: the rows with the lowest scores, and rows with equal scores in their order. */
class BestRows<Row> {
  readonly #limit: number;
  readonly #compare: (left: Row, right: Row) => number;
  readonly #rows: Scored<Row>[] = [];
  #total = 0;

  constructor(limit: number, compare: (left: Row, right: Row) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  add(row: Row, score: number): void {
    this.#total += 1;
    const last = this.#rows.length === this.#limit ? this.#rows.at(-1) : undefined;
    if (last !== undefined && !this.#isBefore(row, score, last)) return;
    const at = this.#rows.findIndex((other) => this.#isBefore(row, score, other));
    this.#rows.splice(at < 0 ? this.#rows.length : at, 0, { row, score });
    if (this.#rows.length > this.#limit) this.#rows.pop();
  }

  /** Rows that are kept, best first. */
  get rows(): readonly Scored<Row>[] {
    return this.#rows;
  }

  /** Number of rows that were added. */
  get total(): number {
    return this.#total;
  }

  #isBefore(row: Row, score: number, other: Scored<Row>): boolean {
    return score < other.score || (score === other.score && this.#compare(row, other.row) < 0);
  }
}

/**
 * Bounds of the searches of one caller. The console searches while the user types, and aborts the search before: more than one at a time is
 * of no use.
 */
const turns = { atOnce: 1, maxWaiting: 8, what: 'searches of this caller are waiting' };
/** Rows between two checks of the time. */
const chunk = 128;
/** Chunks of all searches in one turn of the event loop. Half a millisecond, also on a busy machine, where the clock may not advance. */
const maxChunks = 16;
/** Below the 5 ms for which searches may block the event loop, because the last rows of a slice are added to it. */
const sliceMs = 3;

interface Searching {
  matcher: Matcher;
  slices: Slices;
  /** Number of rows of all kinds that were visited. */
  visited: number;
  limit: number;
  signal: AbortSignal;
}

type Outcome = { source: SearchSource; open: Opened | undefined } | { source: SearchSource; error: StatusError };

/** Searches all kinds for one text, among the objects that the caller may list. */
export class SearchService {
  readonly #sources: readonly SearchSource[];
  readonly #disabled: readonly DisabledKind[];
  readonly #turns = new KeyedSemaphore(turns);
  /** Shared by all searches, so that concurrent searches do not add up to a longer pause of the event loop. */
  readonly #slices = new Slices(() => performance.now(), sliceMs, maxChunks);

  /** @param disabled kinds that users expect, and that the configuration does not list */
  constructor(sources: readonly SearchSource[], metrics: Services['metrics'], disabled: readonly DisabledKind[] = []) {
    this.#sources = sources;
    this.#disabled = disabled;
    reportRefusals(metrics, 'search', this.#turns);
  }

  /** @throws StatusError 400, 401, 429; 503, 504 if all kinds fail with such a code */
  async search(parameters: SearchParameters, caller: Caller, signal: AbortSignal): Promise<SearchResult> {
    const sources = this.#chosen(parameters.kinds);
    const run = () => search(sources, parameters, { caller, signal, slices: this.#slices });
    const result = await this.#turns.run(callerKey(caller), run, signal);
    // A search of given kinds has an answer about those.
    return sources === this.#sources ? { ...result, unsearched: [...result.unsearched, ...this.#unlisted(parameters)] } : result;
  }

  #unlisted({ namespace }: SearchParameters): UnsearchedKind[] {
    const fitting = this.#disabled.filter(({ isNamespaced }) => namespace === '' || isNamespaced);
    return fitting.map(({ type, setting }) => ({
      ...type,
      reason: 'Disabled',
      message: `${qualified(type)} are not searched: ${setting} turns them on`,
    }));
  }

  /** @throws StatusError 400 */
  #chosen(kinds: readonly string[]): readonly SearchSource[] {
    const names = kinds.flatMap((text) => text.split(',')).filter((name) => name !== '');
    const known = new Set(this.#sources.map(({ type }) => qualified(type)));
    if (names.some((name) => !known.has(name)))
      throw badParameter('kinds', `must be kinds that are searched: ${[...known].join(', ')}`, 'FieldValueNotSupported');
    return names.length === 0 ? this.#sources : this.#sources.filter(({ type }) => names.includes(qualified(type)));
  }
}

async function search(
  sources: readonly SearchSource[],
  { q, namespace, limit }: SearchParameters,
  { caller, signal, slices }: Pick<Searching, 'signal' | 'slices'> & { caller: Caller },
): Promise<SearchResult> {
  const asked = { namespace: namespace || undefined, caller, signal };
  const outcomes = await Promise.all(sources.map((source) => outcomeOf(source, asked)));
  signal.throwIfAborted();
  const failed = outcomes.filter((outcome) => 'error' in outcome);
  const [first] = failed;
  if (first && failed.length === sources.length && failed.every(({ error }) => error.status.code >= 500)) throw first.error;
  const searching = { matcher: new Matcher(q), slices, visited: 0, limit, signal };
  const found: { kind: FoundKind; best: number }[] = [];
  for (const outcome of outcomes) {
    if ('error' in outcome || outcome.open === undefined) continue;
    const { best, ...result } = await outcome.open((visible) => searchRows(visible, searching));
    found.push({ kind: { ...outcome.source.type, ...result }, best });
  }
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'SearchResult',
    kinds: found.sort((left, right) => left.best - right.best).map(({ kind }) => kind),
    unsearched: failed.map(({ source, error }) => unsearched(source, error)),
  };
}

/** @throws StatusError 401, and errors that are no StatusError */
async function outcomeOf(source: SearchSource, asked: Parameters<SearchSource['open']>[0]): Promise<Outcome> {
  try {
    return { source, open: await source.open(asked) };
  } catch (error) {
    if (error instanceof StatusError && error.status.code !== 401) return { source, error };
    throw error;
  }
}

const unsearched = ({ type }: SearchSource, { status: { code, message } }: StatusError): UnsearchedKind => ({
  ...type,
  reason: code === 403 ? 'Forbidden' : code === 404 ? 'NotInstalled' : 'Unavailable',
  message,
});

async function searchRows<Row>(
  { rows, fits, texts, compare, shown }: Visible<Row>,
  searching: Searching,
): Promise<Omit<FoundKind, keyof ResourceType> & { best: number }> {
  const { matcher, slices, limit, signal } = searching;
  const best = new BestRows<Row>(limit, compare);
  for (const row of rows) {
    searching.visited += 1;
    if (searching.visited % chunk === 0) {
      const turn = slices.end();
      if (turn !== undefined) {
        await turn;
        signal.throwIfAborted();
      }
    }
    if (fits !== undefined && !fits(row)) continue;
    const score = matcher.score(texts, row);
    if (score < noMatch) best.add(row, score);
  }
  const items = best.rows.map(({ row, score }): FoundObject => {
    const { name, namespace, uid, ...words } = shown(row);
    return {
      metadata: { name, ...(namespace !== undefined && { namespace }), uid },
      ...words,
      match: matcher.match(texts, row, score),
    };
  });
  return { scope: fits === undefined ? 'Cluster' : 'Namespaces', total: best.total, items, best: best.rows[0]?.score ?? noMatch };
}
