import { createHash } from 'node:crypto';
import type { RecordedLines } from '@atrium/audit-store/event.ts';
import type { Recording, RecordingStore } from '@atrium/audit-store/recording.ts';
import type { UpgradeProtocol } from '@atrium/http/operation.ts';
import type { Tap } from '@atrium/http/tunnel.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { harmless } from './asciicast.ts';
import type { Channels } from './channels.ts';
import { RecordingSender, type SenderState } from './sender.ts';
import { spdyChannels } from './spdy-channels.ts';
import { webSocketChannels } from './websocket-channels.ts';

/** Interval in which lines are sent, so that a replica that is killed loses those of about one second. */
const tickMs = 1_000;
/** Age of a line that the store does not have, at which a shell ends whose recording is required: five seconds with a tick. */
const maxLagMs = 3_500;
/** Bound of the wait for the store before a shell that must be recorded. */
const beginMs = 4_000;
/** Bound of the attempts to hand over the end of a recording. */
const finishMs = 60_000;

export const banner = 'This shell is recorded.\r\n';

const terminalSize = z.object({ Width: z.int().min(1).max(10_000), Height: z.int().min(1).max(10_000) });

/** Reason of an end of the recording before that of the shell. */
type EndReason = 'NotStored' | 'TooLarge';

const endings: Readonly<Record<EndReason, string>> = {
  NotStored: 'the shell must be recorded, and the audit store does not take the recording',
  TooLarge: 'the shell must be recorded, and its recording has reached audit.maxRecordingBytes',
};

interface ShellRecordingOptions {
  store: RecordingStore;
  about: Omit<Recording, keyof SenderState | 'width' | 'height' | 'lostBytes' | 'endedAt' | 'reason'>;
  maxBytes: number;
  onLost(bytes: number): void;
  onFailure(error: unknown): void;
  /** Called when the store has taken a part. */
  onKept(): void;
  clock: () => number;
  now: () => Date;
}

/** The recording of one shell: follows the connection, and hands the output to the store. */
export class ShellRecording implements Tap {
  readonly id: string;
  readonly #options: ShellRecordingOptions;
  readonly #isRequired: boolean;
  readonly #sender: RecordingSender;
  readonly #beganAt: number;
  readonly #abort = new AbortController();
  readonly #decoders = { out: newDecoder(), err: newDecoder() };
  #channels: Channels | undefined;
  #timer: NodeJS.Timeout | undefined;
  #goOn: () => void = () => undefined;
  /** Size of the terminal at the begin; the usual one without a terminal. */
  #first: Size = { width: 80, height: 24 };
  #size: Size = this.#first;
  #hasOutput = false;
  readonly #digest = createHash('sha256');
  #bytes = 0;
  #lines = 0;
  #lostBytes = 0;
  /** Bytes that were lost since the last line. */
  #gap = 0;
  /** True while output is left out, because too much waits for the store. */
  #isSkipping = false;
  #isOver = false;
  #reason: EndReason | undefined;
  #endedAt: string | undefined;
  failure: StatusError | undefined;

  constructor(options: ShellRecordingOptions) {
    this.#options = options;
    this.id = options.about.id;
    this.#isRequired = options.about.mode === 'required';
    this.#beganAt = options.clock();
    this.#sender = new RecordingSender({
      store: options.store,
      recording: () => this.#state(),
      onKept: () => {
        options.onKept();
        this.#goOn();
      },
      onGone: () => this.#close('NotStored'),
      onFailure: options.onFailure,
      elapsed: () => this.#elapsed(),
    });
  }

  /** Aborted when a shell that must be recorded cannot go on. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Reason of an early end of the shell. */
  get endReason(): string | undefined {
    return this.failure && `Recording${this.#reason}`;
  }

  /** Creates a required recording in the store. @throws StatusError 503 if it cannot be created in time */
  async begin(): Promise<void> {
    if (!this.#isRequired) return;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error('the audit store did not answer in time')), beginMs);
    const begun = this.#sender.begin();
    try {
      await Promise.race([begun, late.promise]);
    } catch (error) {
      this.#options.onFailure(error);
      // The store may still take it.
      void begun.then(() => this.refused()).catch(this.#options.onFailure);
      throw notRecorded('NotStored', error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Follows the connection from its begin. @param protocol sub-protocol of a WebSocket */
  follow(connection: UpgradeProtocol, protocol: string | undefined): void {
    const greeting = this.#isRequired && this.#options.about.tty ? banner : undefined;
    try {
      this.#channels =
        connection === 'websocket'
          ? webSocketChannels({ protocol: protocol ?? '', reader: this, banner: greeting })
          : spdyChannels({ reader: this, banner: greeting });
    } catch (error) {
      this.#fail(error);
    }
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
    this.#sender.send();
  }

  received(chunk: Buffer): Buffer[] {
    this.#isSkipping = !this.#sender.hasRoom;
    try {
      return this.#channels?.received(chunk) ?? [chunk];
    } catch (error) {
      this.#fail(error);
      return [chunk];
    } finally {
      if (this.#sender.isDue) this.#sender.send();
    }
  }

  sent(chunk: Buffer): void {
    try {
      this.#channels?.sent(chunk);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A shell that must be recorded waits for the store. Others lose output of the recording. */
  get hasRoom(): boolean {
    return !this.#isRequired || this.#isOver || this.#sender.hasRoom;
  }

  onRoom(goOn: () => void): void {
    this.#goOn = goOn;
  }

  output(channel: 'out' | 'err', bytes: Buffer): void {
    if (this.#isOver || bytes.length === 0) return;
    this.#hasOutput = true;
    if (this.#isSkipping) {
      this.#lose(channel, bytes.length);
      return;
    }
    this.#tellGap();
    const text = this.#decoders[channel].decode(bytes, { stream: true });
    if (text !== '') this.#add('o', text);
  }

  size(json: string): void {
    const size = sizeIn(json);
    if (this.#isOver || size === undefined || (size.width === this.#size.width && size.height === this.#size.height)) return;
    this.#size = size;
    if (this.#hasOutput) this.#add('r', `${size.width}x${size.height}`);
    else this.#first = size;
  }

  /** Ends the recording with its shell. */
  end(): RecordedLines {
    clearInterval(this.#timer);
    this.#endedAt = this.#options.now().toISOString();
    this.#tellGap();
    for (const decoder of Object.values(this.#decoders)) {
      const rest = decoder.decode();
      if (rest !== '') this.#add('o', rest);
    }
    this.#isOver = true;
    return { sha256: this.#digest.digest('hex'), bytes: this.#bytes, lines: this.#lines };
  }

  /** Resolves when the store has the whole recording, or attempts have ended. */
  async handedOver(): Promise<void> {
    if (!(await this.#sender.finish(finishMs))) this.#options.onLost(this.#sender.waiting);
  }

  /** Removes the recording of a shell that was refused. */
  async refused(): Promise<void> {
    this.#isOver = true;
    this.#sender.drop();
    if (this.#isRequired) await this.#options.store.delete(this.id);
  }

  #tick(): void {
    this.#sender.send();
    if (this.#isRequired && this.#sender.lagMs > maxLagMs) this.#close('NotStored');
  }

  #add(code: 'o' | 'r' | 'm', text: string): void {
    if (this.#isOver) return;
    const at = this.#elapsed();
    const line = `[${(at / 1000).toFixed(6)}, "${code}", ${harmless(JSON.stringify(text))}]\n`;
    this.#digest.update(line);
    this.#bytes += Buffer.byteLength(line);
    this.#lines += 1;
    this.#sender.add({ text: line, at });
    if (this.#bytes > this.#options.maxBytes && code !== 'm') {
      this.#add('m', 'the recording has reached its bound and ends here');
      this.#close('TooLarge');
    }
  }

  #lose(channel: 'out' | 'err', bytes: number): void {
    this.#gap += bytes;
    this.#lostBytes += bytes;
    // A character that the gap has torn must not take bytes from behind it.
    this.#decoders[channel] = newDecoder();
    this.#options.onLost(bytes);
  }

  #tellGap(): void {
    if (this.#gap === 0) return;
    this.#add('m', `${this.#gap} bytes of output are missing`);
    this.#gap = 0;
  }

  /** Ends the recording before its shell, and with it a shell that must be recorded. */
  #close(reason: EndReason, cause?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason = reason;
    if (this.#isRequired) {
      const failure = notRecorded(reason, cause);
      this.failure = failure;
      // The bytes that have just arrived are passed on before.
      setImmediate(() => this.#abort.abort(failure));
    }
    this.#goOn();
  }

  #fail(error: unknown): void {
    this.#options.onFailure(error);
    this.#close('NotStored', error);
  }

  #state(): Omit<Recording, keyof SenderState> {
    return {
      ...this.#options.about,
      ...this.#first,
      lostBytes: this.#lostBytes,
      ...(this.#endedAt !== undefined && { endedAt: this.#endedAt }),
      ...(this.#reason !== undefined && { reason: this.#reason }),
    };
  }

  #elapsed(): number {
    return this.#options.clock() - this.#beganAt;
  }
}

interface Size {
  width: number;
  height: number;
}

function sizeIn(json: string): Size | undefined {
  try {
    const { Width: width, Height: height } = terminalSize.parse(JSON.parse(json));
    return { width, height };
  } catch {
    return undefined;
  }
}

/** Bytes that are no UTF-8 become U+FFFD, as in a terminal. */
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

function notRecorded(reason: EndReason, cause?: unknown): StatusError {
  const message = endings[reason];
  return new StatusError(503, 'ServiceUnavailable', message, { details: { causes: [{ reason: `Recording${reason}`, message }] }, cause });
}
