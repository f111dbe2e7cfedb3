/** List in the columns that kubectl shows, made by the API server: its first part, more on demand, and live. */
import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type ObjectState, objectState } from '@atrium/objects/object-state.ts';
import { type Signal, signal } from '@preact/signals';
import { apiPath, type Kind } from '../../../api/kinds';
import { listPath, pageSize, type Selection, tableAccept } from '../../../api/list-path';
import { isFinal, Lost } from '../../../api/lost';
import { asTable, getJson, keyOf, type Metadata, type ServerTable, type TableColumn, type TableRow } from '../../../api/objects';
import { Retry } from '../../../api/outage';
import { asProblem, Problem } from '../../../api/problem';
import { hasStateColumn, rowObjects } from '../../../api/stated-kinds';
import { type WatchEvent, watchObjects } from '../../../api/watch-objects';
import { t } from '../../../text/text';
import type { Sort } from '../../../ui/table';
import { orderOf } from './order';

/** Changes are applied together, since each renders the list again. */
const pauseMs = 50;

export interface Row {
  metadata: Metadata;
  cells: ReadonlyMap<string, unknown>;
  /** Set for kinds whose columns do not have it. */
  state?: ObjectState;
}

const stateColumn: TableColumn = { name: 'State', type: 'string', format: '', priority: 0, description: '' };

export class TableList {
  readonly columns: Signal<readonly TableColumn[]> = signal([]);
  readonly error: Signal<Problem | undefined> = signal(undefined);
  readonly isBusy: Signal<boolean> = signal(false);
  readonly lost: Lost = new Lost();
  /** Number of rows that were added or removed since, and are not shown yet. */
  readonly waiting: Signal<number> = signal(0);
  readonly size: Signal<number> = signal(0);
  /** True if the list has more rows than were read. */
  readonly remaining: Signal<boolean> = signal(false);
  /** True if the list changed while its pages were read: all rows are from a new list. */
  readonly isAnew: Signal<boolean> = signal(false);
  readonly #revision = signal(0);
  readonly #path: string;
  readonly #selection: Selection & ReturnType<typeof rowObjects>;
  readonly #hasStateColumn: boolean;
  readonly #least: number;
  /** Columns of the API server. */
  #own: readonly TableColumn[] = [];
  #rows: Map<string, Row> | undefined;
  readonly #come = new Map<string, Row>();
  readonly #gone = new Set<string>();
  #continue = '';
  #version = '';
  #reading: AbortController | undefined;
  #unfollow: (() => void) | undefined;
  #mayFollow = false;
  readonly #retry = new Retry(() => void this.refresh());
  #drawing: ReturnType<typeof setTimeout> | undefined;

  /** @param least number of rows that are read at first, if there are so many */
  constructor(kind: Kind, namespace: string | undefined, { labelSelector = '', fieldSelector = '' }: Selection, least = 0) {
    this.#least = least;
    this.#path = apiPath(kind, { namespace });
    this.#selection = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }), ...rowObjects(kind) };
    this.#hasStateColumn = hasStateColumn(kind);
  }

  get isRead(): boolean {
    return this.#rows !== undefined;
  }

  start(mayFollow: boolean): void {
    this.#mayFollow = mayFollow;
    document.addEventListener('visibilitychange', this.#onVisibility);
    if (this.#rows === undefined) void this.refresh();
    else this.#follow();
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#reading?.abort();
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#retry.stop();
    clearTimeout(this.#drawing);
    this.lost.end();
  }

  /** Reads the same number of rows again. */
  async refresh(): Promise<void> {
    await this.#read('', Math.max(this.size.value, this.#least));
  }

  async more(): Promise<void> {
    await this.#read(this.#continue);
    if (this.error.value?.status !== 410) return;
    // The API server forgets a list after minutes: a part of another list would lose rows and repeat others.
    this.isAnew.value = true;
    await this.#read('', this.size.value + pageSize);
  }

  /** Applies rows that were added or removed. */
  show(): void {
    for (const key of this.#gone) this.#rows?.delete(key);
    for (const [key, row] of this.#come) this.#rows?.set(key, row);
    this.#settle();
  }

  /** Returns undefined before the first answer. */
  shown({ search, sort }: { search: string; sort: Sort }): readonly Row[] | undefined {
    void this.#revision.value;
    if (this.#rows === undefined) return undefined;
    const words = wantedText(search);
    const found = [...this.#rows.values()].filter((row) => words === '' || matches(row, words));
    const direction = sort.isDescending ? -1 : 1;
    const [order, byName] = [orderOf(found.map((row) => sortedBy(row, sort.by))), orderOf([])];
    return found.sort((a, b) => direction * order(sortedBy(a, sort.by), sortedBy(b, sort.by)) || byName(a.metadata.name, b.metadata.name));
  }

  readonly #onVisibility = (): void => {
    // A followed list is refreshed by its watch.
    if (document.visibilityState === 'visible' && this.#unfollow === undefined) void this.refresh();
  };

  /** @param wanted number of rows to read, if there are as many; one page by default */
  async #read(from: string, wanted = 0): Promise<void> {
    this.#reading?.abort();
    this.#retry.stop();
    const mine = new AbortController();
    this.#reading = mine;
    this.isBusy.value = true;
    try {
      let table = await this.#page(from, mine.signal);
      if (table.columnDefinitions && from === '') {
        this.#own = table.columnDefinitions;
        this.columns.value = this.#hasStateColumn ? this.#own.toSpliced(1, 0, stateColumn) : this.#own;
      }
      const rows = new Map(from === '' ? [] : this.#rows);
      for (let read = pageSize; ; read += pageSize) {
        for (const row of table.rows ?? []) this.#add(rows, row);
        if (!table.metadata.continue || read >= wanted) break;
        table = await this.#page(table.metadata.continue, mine.signal);
      }
      this.#rows = rows;
      this.#continue = table.metadata.continue ?? '';
      this.remaining.value = this.#continue !== '';
      this.#version = table.metadata.resourceVersion;
      this.error.value = undefined;
      this.#retry.succeeded();
      this.lost.end();
      this.#settle();
      this.#follow();
    } catch (error) {
      if (!mine.signal.aborted) this.#fail(asProblem(error));
    } finally {
      if (this.#reading === mine) this.isBusy.value = false;
    }
  }

  /** @throws Problem, or DOMException AbortError */
  async #page(from: string, stop: AbortSignal): Promise<ServerTable> {
    const table = asTable(await getJson<ServerTable>(listPath(this.#path, this.#selection, from), stop, tableAccept));
    stop.throwIfAborted();
    if (table === undefined) throw new Problem(0, { message: t('cluster.noList') });
    return table;
  }

  #add(rows: Map<string, Row>, given: TableRow): void {
    const row = this.#rowOf(given);
    rows.set(keyOf(row.metadata), row);
  }

  #fail(problem: Problem): void {
    this.error.value = problem;
    if (isFinal(problem)) return;
    if (this.#rows !== undefined) this.lost.begin();
    this.#retry.plan(problem);
  }

  #settle(): void {
    this.#come.clear();
    this.#gone.clear();
    this.waiting.value = 0;
    this.size.value = this.#rows?.size ?? 0;
    this.#revision.value += 1;
  }

  #rowOf({ cells, object: { metadata, ...parts } }: TableRow): Row {
    const row = { metadata, cells: new Map(this.#own.map(({ name }, index) => [name, cells[index]])) };
    // Aggregated APIs and lists without columns have no objects.
    if (parts.status === undefined) return row;
    const state = objectState({ metadata, ...parts });
    if (this.#hasStateColumn) row.cells.set(stateColumn.name, state.word);
    return { ...row, state };
  }

  /**
   * Follows changes of the rows by `fetch`: a WebSocket cannot request rows, and would receive each object whole. A page has one such
   * request, and only while it is visible.
   */
  #follow(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    if (!this.#mayFollow) return;
    this.#unfollow = watchObjects<ServerTable>({
      ...this.#selection,
      path: this.#path,
      Accept: tableAccept,
      resourceVersion: this.#version,
      onEvent: (event) => this.#take(event),
      onEnd: () => void this.refresh(),
      onProblem: (problem) => {
        if (problem === undefined) this.lost.end();
        else if (isFinal(problem)) this.error.value = problem;
        else this.lost.begin();
      },
    });
  }

  #take({ type, object }: WatchEvent<ServerTable>): void {
    for (const given of asTable(object)?.rows ?? []) this.#change(type, this.#rowOf(given));
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      this.waiting.value = this.#come.size + this.#gone.size;
      this.#revision.value += 1;
    }, pauseMs);
  }

  #change(type: WatchEvent<ServerTable>['type'], row: Row): void {
    const key = keyOf(row.metadata);
    const isShown = this.#rows?.has(key) === true;
    if (type === 'DELETED') {
      if (!this.#come.delete(key) && isShown) this.#gone.add(key);
    } else if (isShown) {
      this.#rows?.set(key, row);
      // Without a uid, an object that was deleted and created again is the same row.
      this.#gone.delete(key);
    } else if (type === 'ADDED' || this.#come.has(key) || !this.remaining.value) this.#come.set(key, row);
    // Any other change is about a row that was not read yet.
  }
}

function matches({ metadata, cells }: Row, words: string): boolean {
  if (folded(metadata.name).includes(words) || metadata.namespace?.includes(words)) return true;
  if (Object.entries(metadata.labels ?? {}).some(([name, value]) => folded(`${name}=${value}`).includes(words))) return true;
  return [...cells.values()].some((cell) => folded(String(cell)).includes(words));
}

function sortedBy({ metadata, cells }: Row, by: string): unknown {
  if (by === 'Namespace') return metadata.namespace;
  // kubectl also sorts the youngest first.
  if (by === 'Age') return metadata.creationTimestamp ? -Date.parse(metadata.creationTimestamp) : undefined;
  return cells.get(by);
}
