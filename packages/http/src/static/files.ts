import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { fingerprintOf } from './directory.ts';
import { isPinned, noFiles, readStaticSet, type StaticFile, type StaticSet } from './set.ts';

/** Clock and sleep for periodic checks. Tests bring their own. */
export interface Timer {
  /** Returns milliseconds that never decrease. */
  now(): number;
  /** @throws Error if the signal aborts */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const systemTimer: Timer = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
};

/** Bound of the files in memory, in bytes. Other files are read from disk for each answer. */
const memoryLimit = 64 * 1024 * 1024;
/** Bound of all replaced files in memory, in bytes. */
const previousLimit = 256 * 1024 * 1024;
const lookEveryMs = 20_000;
/** Delay between two equal fingerprints after which a set is complete. */
const settleMs = 2_000;

export interface StaticFilesOptions {
  directory: string;
  /** Name of the file that answers for its directory. */
  fallback: string;
  /** True if the nearest index above a missing page replaces it, and not that of the root. */
  recurveIndex: boolean;
  /** Milliseconds for which replaced files are served. */
  keepPrevious: number;
  /** '' or without its trailing slash. */
  basePath: string;
}

/** Static files of a directory, of which a change replaces the complete set or nothing. */
export class StaticFiles {
  readonly #log: Logger;
  readonly #options: StaticFilesOptions;
  readonly #timer: Timer;
  readonly #directory: string;
  readonly #stopping = new AbortController();
  /** Replaced files, which open pages continue to request. Only files in memory can be kept. */
  readonly #previous: LRUCache<string, StaticFile> | undefined;
  #running: Promise<void> | undefined;
  #set: StaticSet = noFiles;
  /** Fingerprint of the directory for this set; undefined if it changed while it was read. */
  #fingerprint: string | undefined;
  #failure: string | undefined = 'not read yet';

  constructor(log: Logger, options: StaticFilesOptions, timer: Timer = systemTimer) {
    const { directory, keepPrevious } = options;
    this.#log = log;
    this.#options = options;
    this.#timer = timer;
    this.#directory = directory;
    if (keepPrevious > 0)
      this.#previous = new LRUCache<string, StaticFile>({
        maxSize: previousLimit,
        sizeCalculation: bytesOf,
        ttl: keepPrevious,
        ttlResolution: 0,
        perf: timer,
      });
  }

  /** Loads the files. Never throws: without them other operations still work, and `/readyz` reports the failure. */
  async load(): Promise<void> {
    const directory = this.#directory;
    try {
      const fingerprint = await fingerprintOf(directory);
      this.#replace(await this.#read());
      // A directory that changed meanwhile has no fingerprint, so that the next check reads it again.
      if ((await fingerprintOf(directory)) === fingerprint) this.#fingerprint = fingerprint;
    } catch (error) {
      this.#failure = 'the directory cannot be read';
      this.#log.error({ directory, err: error }, 'static files could not be read');
    }
  }

  /** Starts to check for changes. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  failure(): string | undefined {
    return this.#failure;
  }

  /** Identifies the set. Changes with any of the files. */
  get build(): string {
    return this.#set.build;
  }

  /**
   * Returns the file of a path from `staticPath`. For a missing page, if the caller wants a page, returns the index that replaces it.
   *
   * @param wantsPage reports whether the request names `text/html` in `Accept`; called only if the file is missing
   */
  find(path: string, wantsPage: () => boolean): StaticFile | undefined {
    const file = this.#set.files.get(path) ?? this.#previous?.get(path);
    if (file !== undefined) return file;
    const segments = path.split('/').filter((segment) => segment !== '');
    if (this.#set.directories.has(segments.join('/'))) return this.#indexOf(segments);
    if (this.#isFileName(segments) || !wantsPage()) return undefined;
    if (!this.#options.recurveIndex) return this.#indexOf([]);
    for (let length = segments.length - 1; length >= 0; length -= 1) {
      const index = this.#indexOf(segments.slice(0, length));
      if (index !== undefined) return index;
    }
    return undefined;
  }

  /** Reports whether the path names a file of an existing directory. Names of objects contain dots as well. */
  #isFileName(segments: readonly string[]): boolean {
    const [directory, name = ''] = [segments.slice(0, -1), segments.at(-1)];
    return name.includes('.') && (directory.length === 0 || this.#set.directories.has(directory.join('/')));
  }

  #indexOf(directory: readonly string[]): StaticFile | undefined {
    return this.#set.files.get([...directory, this.#options.fallback].join('/'));
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#timer.sleep(lookEveryMs, signal);
        await this.#look(signal);
      } catch (error) {
        if (!signal.aborted)
          this.#log.warn({ directory: this.#directory, err: error }, 'static files could not be reread, the previous ones are served');
      }
    }
  }

  /** Reads the directory again after a change, once it is stable. */
  async #look(signal: AbortSignal): Promise<void> {
    const directory = this.#directory;
    let seen = await fingerprintOf(directory);
    while (seen !== this.#fingerprint) {
      await this.#timer.sleep(settleMs, signal);
      const settled = await fingerprintOf(directory);
      if (settled === seen && (await this.#take(seen))) return;
      seen = settled;
    }
  }

  /** @returns whether the set belongs to the fingerprint */
  async #take(fingerprint: string): Promise<boolean> {
    const read = await this.#read();
    if ((await fingerprintOf(this.#directory)) !== fingerprint) return false;
    this.#fingerprint = fingerprint;
    this.#replace(read);
    return true;
  }

  #read(): Promise<StaticSet> {
    return readStaticSet(this.#directory, this.#options.basePath, memoryLimit);
  }

  #replace(set: StaticSet): void {
    const directory = this.#directory;
    for (const [path, file] of this.#set.files) {
      if (!set.files.has(path) && isPinned(path) && isHeld(file)) this.#previous?.set(path, file);
    }
    for (const path of set.files.keys()) this.#previous?.delete(path);
    this.#set = set;
    this.#failure = undefined;
    this.#log.info({ directory, files: set.files.size, kept: this.#previous?.size ?? 0 }, 'static files loaded');
    if (set.unreadable.length > 0) this.#log.warn({ directory, files: set.unreadable.slice(0, 20) }, 'unreadable static files ignored');
  }
}

const contentsOf = ({ content, compressed }: StaticFile) => [content, ...Object.values(compressed)];

const isHeld = (file: StaticFile): boolean => contentsOf(file).every(({ source }) => Buffer.isBuffer(source));

const bytesOf = (file: StaticFile): number => contentsOf(file).reduce((sum, { size }) => sum + size, 1024);
