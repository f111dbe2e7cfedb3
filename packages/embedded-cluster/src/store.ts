/**
 * Store of all objects of the cluster, with one counter of revisions and the latest changes, which are enough to resume a watch and to
 * serve the further pages of a list from the state of its first page. Every write is synchronous, so no lock is needed.
 */

import { deepFreeze, keyOf, type StoredObject } from './objects.ts';

export interface Change {
  revision: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** `group/resource`. */
  collection: string;
  key: string;
  /** State after the change; for DELETED the last state with the revision of the deletion. */
  object: StoredObject;
  previous?: StoredObject;
  /** `object` serialized once, for the journal and for all watchers. */
  json: string;
}

type Listener = (change: Change) => void;

interface Collection {
  objects: Map<string, StoredObject>;
  /** Rebuilt after a key was added or removed. */
  sortedKeys: string[] | undefined;
}

/** Part of a collection, and its revision. */
interface Range {
  namespace?: string | undefined;
  revision?: number | undefined;
  /** Selects only keys after this one. */
  after?: string | undefined;
}

export interface View {
  keys: readonly string[];
  get(key: string): StoredObject | undefined;
}

type Past = ReadonlyMap<string, StoredObject | undefined>;
const noChanges: Past = new Map();

const maximumChanges = 10_000;
const maximumChangeBytes = 64 * 1024 * 1024;

export class Store {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<Listener>();
  #history: Change[] = [];
  #historyBytes = 0;
  #revision = 1;
  #compacted = 1;

  /** Revision of the latest change, which is the resourceVersion of lists. */
  get revision(): number {
    return this.#revision;
  }

  /** Revision up to which changes are forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  get collections(): string[] {
    return [...this.#collections.keys()];
  }

  get(collection: string, key: string): StoredObject | undefined {
    return this.#collections.get(collection)?.objects.get(key);
  }

  /** Creates or replaces an object. Its resourceVersion becomes the next revision, and it must not be changed afterwards. */
  put(collection: string, object: StoredObject): StoredObject {
    const key = keyOf(object);
    const previous = this.get(collection, key);
    const revision = this.#revision + 1;
    const stored = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } });
    this.#commit({ revision, type: previous ? 'MODIFIED' : 'ADDED', collection, key, object: stored, ...(previous && { previous }) });
    return stored;
  }

  /** Removes an object. Returns its last state, undefined if it did not exist. */
  remove(collection: string, key: string): StoredObject | undefined {
    const previous = this.get(collection, key);
    if (!previous) return undefined;
    const revision = this.#revision + 1;
    const object = deepFreeze({ ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } });
    this.#commit({ revision, type: 'DELETED', collection, key, object, previous });
    return previous;
  }

  /** Returns all objects in the order of their keys, of one namespace if one is named. Undefined if `revision` is compacted. */
  list(collection: string, range: Range = {}): StoredObject[] | undefined {
    const view = this.view(collection, range);
    return view?.keys.flatMap((key) => view.get(key) ?? []);
  }

  /** Returns the same objects, looked up by key: a page of a long list needs few of them. */
  view(collection: string, { namespace, revision, after }: Range): View | undefined {
    const past = revision === undefined || revision === this.#revision ? noChanges : this.#undone(collection, revision);
    if (!past) return undefined;
    const current = this.#collection(collection);
    current.sortedKeys ??= [...current.objects.keys()].sort();
    const keys = past.size === 0 ? current.sortedKeys : keysAsOf(current, past);
    // '0' follows '/' in ASCII.
    const start = namespace === undefined ? 0 : firstFrom(keys, `${namespace}/`);
    const end = namespace === undefined ? keys.length : firstFrom(keys, `${namespace}0`);
    const first = after === undefined ? start : Math.max(start, firstFrom(keys, `${after}\0`));
    return { keys: keys.slice(first, end), get: (key) => (past.has(key) ? past.get(key) : current.objects.get(key)) };
  }

  /** Returns the changes of a collection after `revision`, oldest first; undefined if it is compacted. */
  changesSince(collection: string, revision: number): Change[] | undefined {
    if (revision < this.#compacted) return undefined;
    return this.#history.filter((change) => change.revision > revision && change.collection === collection);
  }

  /** Adds a listener. Listeners run within the write, in the order of the changes. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads the contents of a journal without notifying watches. */
  load(revision: number, objects: Iterable<[collection: string, object: StoredObject]>): void {
    for (const [collection, object] of objects) this.#collection(collection).objects.set(keyOf(object), deepFreeze(object));
    this.#revision = revision;
    this.compact();
  }

  /** Forgets past versions: older resource versions get 410. */
  compact(): void {
    this.#history = [];
    this.#historyBytes = 0;
    this.#compacted = this.#revision;
  }

  #collection(name: string): Collection {
    let collection = this.#collections.get(name);
    if (!collection) {
      collection = { objects: new Map(), sortedKeys: undefined };
      this.#collections.set(name, collection);
    }
    return collection;
  }

  #commit(change: Omit<Change, 'json'>): void {
    const { objects } = this.#collection(change.collection);
    if (change.type === 'DELETED') objects.delete(change.key);
    else objects.set(change.key, change.object);
    if (change.type !== 'MODIFIED') this.#collection(change.collection).sortedKeys = undefined;
    this.#revision = change.revision;
    const complete: Change = { ...change, json: JSON.stringify(change.object) };
    this.#remember(complete);
    for (const listener of [...this.#listeners]) listener(complete);
  }

  #remember(change: Change): void {
    this.#history.push(change);
    this.#historyBytes += change.json.length;
    if (this.#history.length <= maximumChanges && this.#historyBytes <= maximumChangeBytes) return;
    // A quarter is dropped at once, so that few of the writes past the limit move the whole list.
    let dropped = 0;
    while (this.#history.length - dropped > maximumChanges * 0.75 || this.#historyBytes > maximumChangeBytes * 0.75) {
      const oldest = this.#history[dropped];
      if (!oldest) break;
      this.#historyBytes -= oldest.json.length;
      this.#compacted = oldest.revision;
      dropped += 1;
    }
    this.#history.splice(0, dropped);
  }

  /** Returns the keys that changed after `revision`, with their objects at that time. */
  #undone(collection: string, revision: number): Past | undefined {
    if (revision < this.#compacted) return undefined;
    const past = new Map<string, StoredObject | undefined>();
    for (let index = this.#history.length - 1; index >= 0; index -= 1) {
      const change = this.#history[index];
      if (!change || change.revision <= revision) break;
      if (change.collection === collection) past.set(change.key, change.previous);
    }
    return past;
  }
}

/** Returns the keys at that time: current keys that existed then, and keys that were removed since. */
function keysAsOf({ objects }: Collection, past: Past): string[] {
  const kept = [...objects.keys()].filter((key) => !past.has(key) || past.get(key));
  const gone = [...past].filter(([key, object]) => object && !objects.has(key)).map(([key]) => key);
  return [...kept, ...gone].sort();
}

/** Returns the index of the first key that is not before `bound`. */
function firstFrom(keys: readonly string[], bound: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? '') < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
