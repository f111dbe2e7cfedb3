/**
 * Watches: what there is, then every change, as JSON lines. The serialized object of a change is made once and shared by all
 * watchers; one that reads too slowly is cut off, as it can resume from the last version it saw.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { randomInt } from 'node:crypto';
import type { Writable } from 'node:stream';
import { expired, type StatusError } from '@atrium/objects/status.ts';
import { reached } from './list.ts';
import { checkOptions, revisionOf, wantsInitialEvents } from './list-options.ts';
import type { KubernetesObject, StoredObject } from './objects.ts';
import { type RenderOptions, renderObject, table, type View } from './representation.ts';
import { isTrue } from './request-info.ts';
import type { Backend } from './resources.ts';
import { apiVersionOf, collectionOf } from './resources.ts';
import { type Matcher, matcherOf, type Selection } from './selection.ts';
import type { Change, Store } from './store.ts';

const maximumQueued = 20_000;
const maximumQueuedBytes = 64 * 1024 * 1024;
const bookmarkIntervalMs = 60_000;
const bookmarkBeforeEndMs = 2000;
const defaultTimeoutSeconds = 1800;

interface Pending {
  /** 0 for what there was at the start: that is held by the store anyway. */
  bytes: number;
  line(): string;
}

/**
 * @param open answers the request; it is called once the request is known to be valid
 * @throws StatusError 400, 422 or 504 before anything was sent; a version that is too old is an event of type ERROR.
 */
export async function watchObjects(backend: Backend, open: () => Promise<Writable>, selection: Selection & { view: View }): Promise<void> {
  const { query, type, namespace } = selection;
  checkOptions(query, { isWatch: true });
  const matcher = matcherOf(selection);
  const revision = revisionOf(query, { isWatch: true });
  const timeoutSeconds = Number(query.get('timeoutSeconds')) || defaultTimeoutSeconds + randomInt(defaultTimeoutSeconds);
  await reached(backend.store, revision);
  const watcher = new Watcher(await open(), {
    store: backend.store,
    collection: collectionOf(type),
    namespace,
    matcher,
    bookmark: { kind: type.kind, apiVersion: apiVersionOf(type) },
    render: lineRenderer({ type, view: selection.view, includeObject: query.get('includeObject') }, backend.now),
    isTable: selection.view !== 'Object',
  });
  await watcher.run({
    from: wantsInitialEvents(query) ? undefined : revision || backend.store.revision,
    endsInitialEvents: isTrue(query.get('sendInitialEvents')) && query.has('sendInitialEvents'),
    hasBookmarks: isTrue(query.get('allowWatchBookmarks')),
    timeoutMs: timeoutSeconds * 1000,
  });
}

/** An object as it stands in an event, for the forms that are made per watcher. */
function lineRenderer({ type, view, includeObject }: Omit<RenderOptions, 'now'>, now: () => Date): (object: StoredObject) => unknown {
  let hasColumns = true;
  return (object) => {
    if (view !== 'Table') return renderObject(object, { type, view, now: now() });
    const row = table(
      [object],
      { resourceVersion: object.metadata.resourceVersion },
      { type, view, now: now(), includeObject: includeObject ?? null, hasColumns },
    );
    hasColumns = false;
    return row;
  };
}

interface WatcherOptions {
  store: Store;
  collection: string;
  namespace: string | undefined;
  matcher: Matcher;
  bookmark: { kind: string; apiVersion: string };
  render(object: StoredObject): unknown;
  /** Rendered per watcher, not shared. */
  isTable: boolean;
}

interface RunOptions {
  /** Undefined: begin with all that there is. */
  from: number | undefined;
  endsInitialEvents: boolean;
  hasBookmarks: boolean;
  timeoutMs: number;
}

class Watcher {
  readonly #response: Writable;
  readonly #options: WatcherOptions;
  readonly #queue: Pending[] = [];
  #queuedBytes = 0;
  #queuedChanges = 0;
  #isBlocked = false;

  constructor(response: Writable, options: WatcherOptions) {
    this.#response = response;
    this.#options = options;
  }

  /** Resolves when the watch is over, by time-out or because the client went away. */
  async run({ from, endsInitialEvents, hasBookmarks, timeoutMs }: RunOptions): Promise<void> {
    // A client that has left meanwhile is not told again.
    if (this.#response.destroyed) return;
    const { store, collection } = this.#options;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    this.#response.once('close', resolve);
    this.#response.on('drain', () => this.#flush());
    const missed = from === undefined ? [] : store.changesSince(collection, from);
    if (!missed) return this.#fail(expired(`too old resource version: ${from} (${store.compacted})`));
    if (from === undefined) this.#sendAll();
    if (endsInitialEvents && hasBookmarks) this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
    for (const change of missed) this.#offer(change);
    const unsubscribe = store.subscribe((change) => {
      if (change.collection === collection) this.#offer(change);
      else if (isWithdrawal(change, collection)) this.#response.end();
    });
    const timers = [setTimeout(() => this.#response.end(), timeoutMs)];
    if (hasBookmarks) {
      timers.push(setInterval(() => this.#bookmark(), bookmarkIntervalMs));
      if (timeoutMs > bookmarkBeforeEndMs) timers.push(setTimeout(() => this.#bookmark(), timeoutMs - bookmarkBeforeEndMs));
    }
    await closed;
    unsubscribe();
    timers.forEach(clearTimeout);
  }

  #sendAll(): void {
    const { store, collection, namespace, matcher, render } = this.#options;
    for (const object of store.list(collection, { namespace }) ?? []) {
      if (matcher.matches(object)) this.#enqueue({ bytes: 0, line: () => eventLine('ADDED', JSON.stringify(render(object))) });
    }
  }

  /** An object that begins to match the selectors is ADDED for this watcher, one that no longer does is DELETED. */
  #offer({ type, key, object, previous, json, revision }: Change): void {
    const { namespace, matcher } = this.#options;
    if (namespace !== undefined && !key.startsWith(`${namespace}/`)) return;
    const isIn = type !== 'DELETED' && matcher.matches(object);
    const wasIn = previous !== undefined && matcher.matches(previous);
    if (isIn) this.#event(wasIn ? 'MODIFIED' : 'ADDED', object, json);
    else if (wasIn && type === 'DELETED') this.#event('DELETED', object, json);
    else if (wasIn) this.#event('DELETED', { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } });
  }

  #event(type: string, object: StoredObject, json?: string): void {
    const { isTable, render } = this.#options;
    const isShared = json !== undefined && !isTable;
    this.#enqueue({
      bytes: json?.length ?? 1,
      line: () => eventLine(type, isShared ? json : JSON.stringify(isTable ? render(object) : object)),
    });
  }

  #bookmark(annotations?: Record<string, string>): void {
    const { bookmark, store } = this.#options;
    const object: KubernetesObject = {
      ...bookmark,
      metadata: { resourceVersion: String(store.revision), ...(annotations && { annotations }) },
    };
    this.#enqueue({ bytes: 0, line: () => eventLine('BOOKMARK', JSON.stringify(object)) });
  }

  #fail(error: StatusError): void {
    this.#response.end(eventLine('ERROR', JSON.stringify(error.status)));
  }

  #enqueue(pending: Pending): void {
    // Between its end and its close; the client goes on from the last version that it has seen.
    if (this.#response.writableEnded) return;
    this.#queue.push(pending);
    this.#queuedBytes += pending.bytes;
    this.#queuedChanges += pending.bytes > 0 ? 1 : 0;
    const isTooSlow = this.#queuedChanges > maximumQueued || this.#queuedBytes > maximumQueuedBytes;
    if (isTooSlow) this.#response.destroy();
    else if (!this.#isBlocked) this.#flush();
  }

  #flush(): void {
    this.#isBlocked = false;
    let sent = 0;
    while (!this.#isBlocked && !this.#response.writableEnded && sent < this.#queue.length) {
      const next = this.#queue[sent];
      if (!next) break;
      sent += 1;
      this.#queuedBytes -= next.bytes;
      this.#queuedChanges -= next.bytes > 0 ? 1 : 0;
      this.#isBlocked = !this.#response.write(next.line());
    }
    this.#queue.splice(0, sent);
  }
}

/** The definition of the watched resource went, and the resource with it. */
function isWithdrawal({ collection, type, key }: Change, watched: string): boolean {
  const [group, resource] = watched.split('/');
  return type === 'DELETED' && collection === 'apiextensions.k8s.io/customresourcedefinitions' && key === `${resource}.${group}`;
}

const eventLine = (type: string, json: string) => `{"type":"${type}","object":${json}}\n`;
