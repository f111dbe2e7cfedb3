import {
  closeSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { keepNumber, lockOf, numberIn, reasonOf, syncDirectory, writeWhole } from './spool-disk.ts';
import { type Line, lineOf, linesIn, openIntents } from './spool-lines.ts';

/** Bytes of a file, after which another one begins. The oldest file is deleted when the store has all its events. */
const segmentBytes = 1024 * 1024;
/** Bytes that a completed event has more than its intent, such as a generated name. */
const completionBytes = 1024;
/** Interval of attempts to open the directory. */
const reopenMs = 1_000;
const segmentName = /^\d{10}\.jsonl$/;

const syncData = promisify(fdatasync);

/** A file of the spool. */
interface Segment {
  readonly file: string;
  bytes: number;
  /** Bytes whose events are in memory, or were. */
  loaded: number;
  /** Events in memory that the store does not have. */
  pending: number;
}

interface Intent {
  readonly event: AuditEvent;
  /** Bytes that are kept free for the event that completes it. */
  readonly reserved: number;
}

/** An event, and the file that has it; undefined if it is in memory only. */
export interface QueuedEvent {
  readonly event: AuditEvent;
  readonly segment: Segment | undefined;
}

export interface SpoolOptions {
  directory: string;
  maxBytes: number;
  /** True if lines survive a power cut once `synced` has resolved. */
  isDurable: boolean;
  /** Called when the directory is open: with the bytes that it has, and the intents without an event and the lost events of before. */
  onOpen(found: { bytes: number; unknown: number; lost: number }): void;
  /** Called for lines that cannot be read. */
  onDamage(lines: number): void;
}

/**
 * A bounded directory with events. A line is in a file when the call returns, so that the end of the process loses none. The intent of a
 * write stands for its event until that is added; intents of a process that was killed become events with the outcome `unknown`.
 */
export class Spool {
  readonly #options: SpoolOptions;
  /** Files in their order. Lines are appended to the last one. */
  #segments: Segment[] = [];
  readonly #intents = new Map<string, Intent>();
  /** Bytes kept free for the events of intents. */
  #reserved = 0;
  #lock: DatabaseSync | undefined;
  #fd: number | undefined;
  #failure: string | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #syncing: Promise<void> = Promise.resolve();
  #nextSync: Promise<void> | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** Returns the reason why the last line was not written, undefined if it was. */
  get failure(): string | undefined {
    return this.#failure;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Reports whether files have events that were not in memory. */
  get hasUnread(): boolean {
    return this.#segments.some(isUnread);
  }

  /** Opens the directory, once a second at most while it cannot be opened. Returns whether it is open. */
  open(): boolean {
    if (this.#fd !== undefined) return true;
    if (this.#isClosed || performance.now() - this.#triedAt < reopenMs) return false;
    this.#triedAt = performance.now();
    return this.#attempt(() => {
      const { directory, onOpen } = this.#options;
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      this.#lock ??= lockOf(directory);
      const files = readdirSync(directory).filter((name) => segmentName.test(name));
      this.#segments = files.sort().map((name) => {
        const file = join(directory, name);
        return { file, bytes: statSync(file).size, loaded: 0, pending: 0 };
      });
      const { bytes } = this;
      const last = this.#segments.at(-1);
      const unknown = last ? openIntents(linesIn(readFileSync(last.file)).lines) : [];
      this.#begin(unknown.map((event) => ({ event })));
      this.#failure = undefined;
      onOpen({ bytes, unknown: unknown.length, lost: numberIn(this.#lostFile) });
    });
  }

  /** Appends the intent of a write. Returns false if it cannot be written, or there is no room for the event that completes it. */
  begin(event: AuditEvent, bodyBytes = 0): boolean {
    const line = lineOf({ intent: event });
    const intent = { event, reserved: line.length + completionBytes + bodyBytes };
    if (!this.#append(line, { reserved: intent.reserved })) return false;
    this.#keep(intent);
    return true;
  }

  hasIntent(id: string): boolean {
    return this.#intents.has(id);
  }

  /** Ends an intent without an event. */
  end(id: string): void {
    if (!this.#complete(id)) return;
    this.#append(lineOf({ end: id }));
    this.#removeSent();
  }

  /**
   * Appends an event, which completes its intent.
   *
   * @param inMemory whether the caller keeps the event; `load` returns the others
   * @returns the file that has it; undefined if it could not be written
   */
  add(event: AuditEvent, { inMemory }: { inMemory: boolean }): Segment | undefined {
    const intent = this.#complete(event.auditID);
    if (!this.#append(lineOf({ event }), { isRead: inMemory })) {
      // The intent stands for the event until the store has it.
      if (intent) this.#keep(intent);
      return undefined;
    }
    const segment = this.#segments.at(-1);
    if (segment && inMemory) segment.pending += 1;
    return segment;
  }

  /** Resolves when all lines so far survive a power cut. Calls share the waits for the disk. @throws the error of the disk */
  async synced(): Promise<void> {
    this.#nextSync ??= this.#syncing
      .catch(() => undefined)
      .then(() => {
        this.#nextSync = undefined;
        this.#syncing = this.#fd === undefined ? Promise.reject(new Error('is closed')) : syncData(this.#fd);
        return this.#syncing;
      });
    await this.#nextSync.catch((error: unknown) => {
      this.#failure = reasonOf(error);
      throw error;
    });
  }

  /** Returns the oldest events that were not in memory: those of one file. */
  load(): QueuedEvent[] {
    const segment = this.#segments.find(isUnread);
    if (segment === undefined) return [];
    const { loaded } = segment;
    segment.loaded = segment.bytes;
    try {
      const { lines, damaged } = linesIn(readFileSync(segment.file).subarray(loaded));
      if (damaged > 0) this.#options.onDamage(damaged);
      const events = lines.flatMap(({ event }) => (event ? [{ event, segment }] : []));
      segment.pending += events.length;
      this.#removeSent();
      return events;
    } catch (error) {
      this.#failure = reasonOf(error);
      this.#options.onDamage(1);
      return [];
    }
  }

  /** Takes out an event that the store has, or will never take. */
  remove({ event, segment }: QueuedEvent): void {
    if (segment !== undefined) segment.pending -= 1;
    else this.end(event.auditID);
    if (segment?.pending === 0) this.#removeSent();
  }

  /** Keeps the number of lost events for the next process. */
  keepLost(count: number): void {
    if (this.#lock !== undefined) this.#attempt(() => keepNumber(this.#lostFile, count));
  }

  /** Leaves the files to the next process. */
  close(): void {
    this.#isClosed = true;
    this.#closeFile();
    this.#lock?.close();
    this.#lock = undefined;
  }

  get #lostFile(): string {
    return join(this.#options.directory, 'lost');
  }

  #keep(intent: Intent): void {
    this.#intents.set(intent.event.auditID, intent);
    this.#reserved += intent.reserved;
  }

  #complete(id: string): Intent | undefined {
    const intent = this.#intents.get(id);
    this.#reserved -= intent?.reserved ?? 0;
    this.#intents.delete(id);
    return intent;
  }

  /**
   * @param reserved bytes that are kept free for later
   * @param isRead false for a line that `load` returns
   */
  #append(line: Buffer, { reserved = 0, isRead = true } = {}): boolean {
    if (!this.open()) return false;
    return this.#attempt(() => {
      const { maxBytes } = this.#options;
      if (this.bytes + this.#reserved + line.length + reserved > maxBytes) throw new Error(`is full: it has ${maxBytes} bytes`);
      if ((this.#segments.at(-1)?.bytes ?? 0) >= segmentBytes)
        this.#begin([...this.#intents.values()].map(({ event }) => ({ intent: event })));
      const segment = this.#segments.at(-1);
      if (this.#fd === undefined || segment === undefined) throw new Error('is closed');
      writeWhole(this.#fd, line, segment.bytes);
      if (isRead && !isUnread(segment)) segment.loaded += line.length;
      segment.bytes += line.length;
      this.#failure = undefined;
    });
  }

  /**
   * Begins a file, which gets its name once its first lines are there: if the process ends before, the file before has the intents. With
   * lasting lines the event loop waits for the disk, once for about a thousand events.
   */
  #begin(lines: readonly Line[]): void {
    const { directory, isDurable } = this.#options;
    const last = this.#segments.at(-1);
    const number = last === undefined ? 1 : Number.parseInt(basename(last.file), 10) + 1;
    const file = join(directory, `${String(number).padStart(10, '0')}.jsonl`);
    const started = join(directory, 'next');
    const head = Buffer.concat(lines.map(lineOf));
    if (isDurable && this.#fd !== undefined) fsyncSync(this.#fd);
    const fd = openSync(started, 'w', 0o600);
    try {
      writeWhole(fd, head, 0);
      if (isDurable) fsyncSync(fd);
      renameSync(started, file);
      if (isDurable) syncDirectory(directory);
    } catch (error) {
      closeSync(fd);
      throw error;
    }
    const isRead = this.#fd !== undefined && !this.hasUnread;
    this.#closeFile();
    this.#fd = fd;
    this.#segments.push({ file, bytes: head.length, loaded: isRead ? head.length : 0, pending: 0 });
    this.#removeSent();
  }

  /** Removes what the store has, which makes room. Intents keep the last file. */
  #removeSent(): void {
    this.#attempt(() => {
      const current = this.#segments.at(-1);
      for (const segment of this.#segments.filter(isSent)) {
        if (segment !== current) rmSync(segment.file, { force: true });
        else if (this.#fd === undefined || segment.bytes === 0 || this.#intents.size > 0) continue;
        else ftruncateSync(this.#fd, 0);
        segment.bytes = 0;
        segment.loaded = 0;
        this.#failure = undefined;
      }
      this.#segments = this.#segments.filter((segment) => segment === current || !isSent(segment));
    });
  }

  #closeFile(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) void this.#syncing.catch(() => undefined).then(() => closeSync(fd));
  }

  #attempt(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.#failure = reasonOf(error);
      return false;
    }
  }
}

const isUnread = ({ loaded, bytes }: Segment): boolean => loaded < bytes;

const isSent = (segment: Segment): boolean => segment.pending === 0 && !isUnread(segment);
