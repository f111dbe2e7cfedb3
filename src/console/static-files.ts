import { hash } from 'node:crypto';
import { contentType } from 'mime-types';
import type { Logger } from 'pino';
import { immutable, isHashedName } from '../http/hashed-name.ts';
import { readStaticDirectory, type StaticContent, type StaticTree } from './static-directory.ts';

/** Encodings that a file may have been compressed in beforehand, as `app.js.br` and `app.js.gz`. */
const sidecars = { br: '.br', gzip: '.gz' } as const;

export type Compression = keyof typeof sidecars;

/** A file with everything that its answers need. */
export interface StaticFile {
  readonly contentType: string;
  readonly isHtml: boolean;
  readonly cacheControl: string;
  readonly content: StaticContent;
  readonly compressed: Readonly<Partial<Record<Compression, StaticContent>>>;
}

export interface StaticFilesOptions {
  directory: string;
  /** Name of the index. */
  fallback: string;
  recurveIndex: boolean;
  log: Logger;
  /** Bytes of files that are held in memory; the others are read from disk for each answer. */
  memoryLimit?: number;
}

const defaultMemoryLimit = 64 * 1024 * 1024;

/** The static files of the console: read once, at the start. */
export class StaticFiles {
  readonly #options: StaticFilesOptions;
  #files: ReadonlyMap<string, StaticFile> = new Map();
  #directories: ReadonlySet<string> = new Set();
  #build = '';
  #failure: string | undefined = 'not read yet';

  constructor(options: StaticFilesOptions) {
    this.#options = options;
  }

  /** Never throws: without its files the service still answers everything else, and `/readyz` says what is missing. */
  async load(): Promise<void> {
    const { directory, memoryLimit = defaultMemoryLimit, log } = this.#options;
    try {
      const tree = await readStaticDirectory(directory, memoryLimit);
      this.#files = new Map([...tree.files].map(([path, content]) => [path, staticFile(path, content, tree)]));
      this.#directories = tree.directories;
      this.#build = hash('sha256', [...tree.files].map(([path, { etag }]) => `${path} ${etag}\n`).join(''));
      this.#failure = undefined;
      log.info({ directory, files: tree.files.size }, 'the static files are read');
      if (tree.unreadable.length > 0)
        log.warn({ directory, files: tree.unreadable.slice(0, 20) }, 'static files are left out: they cannot be read');
    } catch (error) {
      this.#failure = 'the directory cannot be read';
      log.error({ directory, err: error }, 'the static files cannot be read');
    }
  }

  failure(): string | undefined {
    return this.#failure;
  }

  /** Changes with any of the files. */
  get build(): string {
    return this.#build;
  }

  /**
   * The file of a path as `staticPath` gives it; for a page that is missing, where a page is wanted, the index that stands for it.
   *
   * @param wantsPage whether the request names `text/html` among what it accepts
   */
  find(path: string, wantsPage: boolean): StaticFile | undefined {
    const file = this.#files.get(path);
    if (file !== undefined) return file;
    const segments = path.split('/').filter((segment) => segment !== '');
    if (this.#directories.has(segments.join('/'))) return this.#indexOf(segments);
    if (!wantsPage || segments.at(-1)?.includes('.')) return undefined;
    if (!this.#options.recurveIndex) return this.#indexOf([]);
    for (let length = segments.length - 1; length >= 0; length -= 1) {
      const index = this.#indexOf(segments.slice(0, length));
      if (index !== undefined) return index;
    }
    return undefined;
  }

  #indexOf(directory: readonly string[]): StaticFile | undefined {
    return this.#files.get([...directory, this.#options.fallback].join('/'));
  }
}

function staticFile(path: string, content: StaticContent, { files }: StaticTree): StaticFile {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const type = contentType(name.includes('.') ? name.slice(name.lastIndexOf('.')) : '') || 'application/octet-stream';
  const isHtml = /^(text\/html|application\/xhtml\+xml)\b/.test(type);
  const [br, gzip] = [files.get(path + sidecars.br), files.get(path + sidecars.gzip)];
  return {
    contentType: type,
    isHtml,
    cacheControl: isHashedName(name) && !isHtml ? immutable : 'no-cache',
    content,
    compressed: { ...(br && { br }), ...(gzip && { gzip }) },
  };
}
