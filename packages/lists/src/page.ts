import { Readable } from 'node:stream';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isIndentedWanted } from '@atrium/http/json-answers.ts';
import type { Seal } from '@atrium/http/seal.ts';
import { badParameter, expired } from '@atrium/objects/status.ts';
import { warningHeaders } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Position } from './sort.ts';

/** Bound of the items of a page that is held as one text. Longer pages are written as they are read. */
const maxHeldItems = 1000;
/** Characters of a chunk. */
const chunkLength = 64 * 1024;

interface PageParts {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion: string; continue: string; remainingItemCount: number };
  /** Members of the list in addition to these. */
  extra?: object | undefined;
  total: number;
  items: readonly { readonly name: string; readonly text: string }[];
  /** Warning to the caller, who did not ask for a limit. */
  warning?: string | undefined;
}

/** A page of a list, of one moment. The texts of its items are those of the watch cache, and are neither encoded nor copied. */
export class Page {
  readonly resourceVersion: string;
  readonly warning: string | undefined;
  readonly #parts: PageParts;
  #bytes: Buffer | undefined;

  constructor(parts: PageParts) {
    this.#parts = parts;
    this.resourceVersion = parts.metadata.resourceVersion;
    this.warning = parts.warning;
  }

  get names(): string[] {
    return this.#parts.items.map(({ name }) => name);
  }

  /** Reports whether the whole text is made at once, and may be cached. */
  get isHeld(): boolean {
    return this.#parts.items.length <= maxHeldItems;
  }

  /** JSON text of the page, in UTF-8. */
  get bytes(): Buffer {
    this.#bytes ??= ownBytes(`${this.#head}${this.#parts.items.map(({ text }) => text).join()}]}`);
    return this.#bytes;
  }

  /** Returns the page with other texts of its items. */
  withTexts(textOf: (item: PageParts['items'][number]) => string): Page {
    return new Page({ ...this.#parts, items: this.#parts.items.map((item) => ({ name: item.name, text: textOf(item) })) });
  }

  /** Yields the JSON text in chunks, each made after the one before was taken, with a turn of the event loop in between. */
  async *chunks({ isIndented }: { isIndented: boolean }): AsyncGenerator<string, void, undefined> {
    const { items } = this.#parts;
    const [head, separator, end] = isIndented ? indentedFrame(this.#head) : [this.#head, ',', ']}'];
    let chunk = head;
    for (const [index, { text }] of items.entries()) {
      chunk += `${index === 0 ? '' : separator}${isIndented ? indented(text, 4) : text}`;
      if (chunk.length < chunkLength) continue;
      yield chunk;
      chunk = '';
      await yieldToEventLoop();
    }
    yield chunk + end;
  }

  get #head(): string {
    const { apiVersion, kind, extra, metadata, total } = this.#parts;
    const head = JSON.stringify({ apiVersion, kind, ...extra, metadata, total });
    return `${head.slice(0, -1)},"items":[`;
  }
}

/**
 * Returns bytes in memory of their own. `Buffer.from` cuts short ones out of blocks of 64 KiB, and each of them keeps its whole block: a
 * cached page of 200 bytes would take 64 KiB.
 */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

const indented = (json: string, by: number): string => JSON.stringify(JSON.parse(json), null, 2).replaceAll('\n', `\n${' '.repeat(by)}`);

/** Returns the text before, between and after the items of a list, indented like `JSON.stringify`. */
function indentedFrame(head: string): [head: string, separator: string, end: string] {
  const [before = '', behind = ''] = JSON.stringify(JSON.parse(`${head}0]}`), null, 2).split(/(?<=\[\n {4})0/);
  return [before, ',\n    ', `${behind}\n`];
}

/** Answers with a page, as one text or in chunks as the caller reads it. A page has no ETag, because it is of one moment. */
export function sendPage(ctx: Context, page: Page): void {
  const { res, response } = ctx;
  const isIndented = isIndentedWanted(ctx);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (page.warning !== undefined) ctx.append('Warning', warningHeaders([page.warning]));
  const isLong = !page.isHeld || (isIndented && page.bytes.length > chunkLength);
  if (isLong) response.body = Readable.from(page.chunks({ isIndented }), { objectMode: false, highWaterMark: chunkLength });
  // Bytes are sent unchanged; an indented answer needs the text, which is parsed again.
  else response.body = isIndented ? page.bytes.toString() : page.bytes;
}

const lifetimeSeconds = 3600;

const position = z.tuple([z.string(), z.number(), z.string(), z.array(z.union([z.string(), z.number(), z.null()]))]);

const refused = (message: string) => badParameter('continue', message);

/**
 * Issues and reads continue tokens. A token holds the position of the last row of a page in the order, and no count, so that no row is
 * shown twice if objects are added or deleted in between. Tokens are sealed, because they hold values of an object, and clients must not
 * forge them.
 */
export class ContinueTokens {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ seal, now }: { seal: Seal; now: () => Date }) {
    this.#seal = seal;
    this.#now = now;
  }

  /** Issues a token for the rows after a position. @throws StatusError 503 while there is no key */
  issue({ values, name }: Position, fingerprint: string): string {
    const seconds = Math.floor(this.#now().getTime() / 1000);
    return this.#seal.seal(JSON.stringify([fingerprint, seconds, name, values.map((value) => value ?? null)]));
  }

  /**
   * Returns the position of a token.
   *
   * @throws StatusError 400 for a forged token or one that was issued for another query, 410 for an expired one
   */
  async read(token: string, fingerprint: string): Promise<Position> {
    const text = await this.#seal.open(token);
    if (text === undefined) throw refused('is not a token of this service');
    const [madeFor, issuedAt, name, values] = position.parse(JSON.parse(text));
    if (this.#now().getTime() / 1000 - issuedAt > lifetimeSeconds) throw expired('continue is older than an hour; start again without it');
    if (madeFor !== fingerprint) throw refused('belongs to other selectors, filters or another order');
    return { values: values.map((value) => value ?? undefined), name };
  }
}
