/**
 * The cluster on disk: one JSON line per change behind a line per object, rewritten at each start. A line that was cut off by the
 * end of the process is dropped; what stood before it is whole.
 */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { keyOf, objectMeta, type StoredObject } from './objects.ts';
import type { Change, Store } from './store.ts';

/** The file is rewritten once the changes take up more than this, and more than the objects. */
const maximumAppendedBytes = 64 * 1024 * 1024;

const storedObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: objectMeta.extend({ name: z.string(), uid: z.string(), resourceVersion: z.string(), creationTimestamp: z.string() }),
});

const entry = z.object({
  revision: z.number().int(),
  collection: z.string().optional(),
  object: storedObject.optional(),
  deleted: z.string().optional(),
});

export class Journal {
  readonly #path: string;
  readonly #store: Store;
  #file: number;
  #appendedBytes = 0;
  #snapshotBytes = 0;
  #unsubscribe: () => void = () => {};

  private constructor(path: string, store: Store) {
    this.#path = path;
    this.#store = store;
    this.#file = this.#writeSnapshot();
  }

  /** Fills the store from the file, if there is one, and keeps every change from then on. */
  static open(directory: string, store: Store): Journal {
    const path = join(directory, 'objects.jsonl');
    restore(path, store);
    const journal = new Journal(path, store);
    journal.#unsubscribe = store.subscribe((change) => journal.#append(change));
    return journal;
  }

  close(): void {
    this.#unsubscribe();
    fsyncSync(this.#file);
    closeSync(this.#file);
  }

  #append({ revision, collection, key, type, json }: Change): void {
    const head = `{"revision":${revision},"collection":${JSON.stringify(collection)},`;
    const line = type === 'DELETED' ? `${head}"deleted":${JSON.stringify(key)}}\n` : `${head}"object":${json}}\n`;
    this.#appendedBytes += writeSync(this.#file, line);
    if (this.#appendedBytes <= Math.max(maximumAppendedBytes, this.#snapshotBytes)) return;
    closeSync(this.#file);
    this.#file = this.#writeSnapshot();
  }

  /** Replaces the file in one step and leaves it open for appending. */
  #writeSnapshot(): number {
    const temporary = `${this.#path}.new`;
    const file = openSync(temporary, 'w', 0o600);
    let bytes = writeSync(file, `{"revision":${this.#store.revision}}\n`);
    for (const collection of this.#store.collections) {
      for (const object of this.#store.list(collection) ?? []) {
        const line = JSON.stringify({ revision: Number(object.metadata.resourceVersion), collection, object });
        bytes += writeSync(file, `${line}\n`);
      }
    }
    fsyncSync(file);
    renameSync(temporary, this.#path);
    this.#snapshotBytes = bytes;
    this.#appendedBytes = 0;
    return file;
  }
}

function restore(path: string, store: Store): void {
  const objects = new Map<string, [collection: string, object: StoredObject]>();
  let latest = store.revision;
  for (const line of linesOf(path)) {
    const { revision, collection, object, deleted } = line;
    latest = Math.max(latest, revision);
    if (collection === undefined) continue;
    if (object) objects.set(`${collection} ${keyOf(object)}`, [collection, object]);
    else if (deleted !== undefined) objects.delete(`${collection} ${deleted}`);
  }
  store.load(latest, objects.values());
}

/** @throws Error for a line that is damaged and not the last: then the file is not what this class wrote. */
function linesOf(path: string): z.infer<typeof entry>[] {
  const lines = readIfThere(path).split('\n');
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    try {
      return [entry.parse(JSON.parse(line))];
    } catch (cause) {
      if (index === lines.length - 1) return [];
      throw new Error(`${path}: line ${index + 1} is damaged`, { cause });
    }
  });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
