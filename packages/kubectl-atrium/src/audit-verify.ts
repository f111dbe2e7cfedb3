/** `audit verify`: checks that the events of the audit are those that were taken in. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ChainedEvent, type ChainGap, type Checkpoint, nothingRemoved, removedIn, verifyChain } from '@atrium/audit-store/chain.ts';
import { verifiedCheckpoint } from '@atrium/audit-store/signed-checkpoints.ts';
import * as z from 'zod/mini';
import type { Session } from './access.ts';
import { linesOf } from './lines.ts';
import { RecordingProof } from './recording-proof.ts';
import { askService, readService } from './service.ts';
import { CommandError, harmless, Interrupted, say, type Terminal } from './terminal.ts';

export interface VerifyOptions {
  /** File with a copy of the checkpoints that was saved earlier. */
  checkpoints?: string;
  /** Reads the recordings of shells, too. */
  recordings?: true;
}

const keys = z.array(z.looseObject({ kty: z.string(), kid: z.string(), crv: z.string(), x: z.string(), y: z.string() }));
const listSchema = z.looseObject({ items: z.array(z.looseObject({ signed: z.string() })), keys });
const headSchema = z.looseObject({ checkpoints: z.array(z.string()), keys, newest: z.optional(z.int()) });
const eventSchema = z.strictObject({
  sequence: z.int(),
  hash: z.string(),
  event: z.looseObject({ requestReceivedTimestamp: z.string() }),
});
const endSchema = z.strictObject({ last: z.int() });

/** Checkpoints with the keys that verify them. */
interface SignedList {
  signed: readonly string[];
  keys: z.infer<typeof keys>;
}

/** The audit as lines of `GET /auth/v1/audit/chain`, and checkpoints from elsewhere. */
interface Audit {
  lines: AsyncIterable<string>;
  kept?: SignedList;
  /** Copy of the checkpoints. Its keys alone decide which events may have been removed: a writer of the audit can sign with other keys. */
  saved: SignedList | undefined;
  /** Takes the events that the audit has at their place. */
  recordings?: RecordingProof | undefined;
}

/** Verifies a saved audit. @throws CommandError with the exit code 1 for a gap, 2 if it cannot be checked */
export const verifyFile = (file: string, options: VerifyOptions, terminal: Terminal): Promise<void> =>
  checked(async () => {
    if (options.recordings) throw new CommandError('recordings are read from the service: leave the file out');
    const chunks: AsyncIterable<Uint8Array> = createReadStream(file, { signal: terminal.signal });
    await verify({ lines: linesOf(chunks), saved: await savedCheckpoints(options) }, terminal);
  });

/** Verifies the audit of the service. @throws CommandError with the exit code 1 for a gap, 2 if it cannot be checked */
export const verifyService = (options: VerifyOptions, sessionOf: () => Promise<Session>): Promise<void> =>
  checked(async () => {
    const session = await sessionOf();
    const { wanted, terminal } = session;
    const recordings = options.recordings && (await RecordingProof.begin(session));
    const saved = await savedCheckpoints(options);
    const kept = listOf(await askService({ method: 'GET', path: '/auth/v1/audit/checkpoints' }, wanted, terminal));
    const lines = linesOf(readService('/auth/v1/audit/chain', wanted, terminal));
    await verify({ lines, kept, saved, recordings }, terminal);
    const changed = (await recordings?.verify()) ?? 0;
    if (changed > 0) throw new GapError(`Recordings of shells contradict their events: ${changed}.`);
  });

/** The audit is not as it was. */
class GapError extends CommandError {}

/** Reports each failure that is no gap as one of the check. */
async function checked(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    // The reader of a file has the reason of its end as the cause.
    const cause = error instanceof Error && error.name === 'AbortError' ? error.cause : error;
    if (cause instanceof GapError || cause instanceof Interrupted) throw cause;
    const reason = cause instanceof Error ? cause.message : 'unknown error';
    throw new CommandError(`The audit could not be checked: ${reason}`, { exitCode: 2, cause });
  }
}

async function savedCheckpoints({ checkpoints: file }: VerifyOptions): Promise<SignedList | undefined> {
  return file === undefined ? undefined : listOf(JSON.parse(await readFile(file, 'utf8')));
}

function listOf(list: unknown): SignedList {
  const { data } = listSchema.safeParse(list);
  if (data === undefined) throw new CommandError('the checkpoints are not an answer of GET /auth/v1/audit/checkpoints');
  return { signed: data.items.map(({ signed }) => signed), keys: data.keys };
}

/**
 * Returns the checkpoints of a list. Checkpoints that no key of the copy verifies let no events be removed.
 *
 * @throws GapError for a signature that is not valid
 */
async function verifiedAll(list: SignedList, saved: SignedList = list): Promise<Checkpoint[]> {
  const verified: Checkpoint[] = [];
  for (const text of list.signed) {
    const checkpoint = await verifiedCheckpoint(text, list.keys);
    if (checkpoint === undefined) throw new GapError('A checkpoint has no valid signature.');
    const isProven = (await verifiedCheckpoint(text, saved.keys)) !== undefined;
    verified.push(isProven ? checkpoint : { ...checkpoint, removed: nothingRemoved });
  }
  return verified;
}

/** Events that were verified so far. */
interface Verified {
  count: number;
  /** Number of the first one. */
  first: number;
  last: number;
  from?: string;
  to?: string;
  /** Number of the last event, as the end of the audit says. */
  end?: number;
  recordings: RecordingProof | undefined;
}

async function verify({ lines, kept, saved, recordings }: Audit, terminal: Terminal): Promise<void> {
  const all = lines[Symbol.asyncIterator]();
  try {
    const { data: head } = headSchema.safeParse(parsed((await all.next()).value));
    if (head === undefined) throw new CommandError('the first line is not that of GET /auth/v1/audit/chain');
    // A checkpoint from elsewhere comes last, and so takes the place of one of the audit itself.
    const lists = [{ signed: head.checkpoints, keys: head.keys }, ...(kept ? [kept] : []), ...(saved ? [saved] : [])];
    const trusted = (await Promise.all(lists.map((list) => verifiedAll(list, saved)))).flat();
    const seen: Verified = { count: 0, first: 0, last: 0, recordings };
    const newest = head.newest === undefined ? undefined : { sequence: head.newest };
    const { gap } = await verifyChain(eventsIn({ [Symbol.asyncIterator]: () => all }, seen), trusted, newest);
    report(seen, gap ?? gapAtEnd(seen), { trusted, terminal });
  } finally {
    await all.return?.();
  }
}

async function* eventsIn(lines: AsyncIterable<string>, seen: Verified): AsyncGenerator<ChainedEvent> {
  for await (const line of lines) {
    const value = parsed(line);
    const { data: end } = endSchema.safeParse(value);
    const { data: chained } = eventSchema.safeParse(value);
    if (seen.end !== undefined || (end === undefined && chained === undefined))
      throw new CommandError(`the line after event ${seen.last} is not one of GET /auth/v1/audit/chain`);
    if (chained !== undefined) {
      yield chained;
      // The next event is only taken after this one was verified.
      const { requestReceivedTimestamp: time } = chained.event;
      seen.recordings?.saw(chained.event);
      seen.count += 1;
      seen.first ||= chained.sequence;
      seen.last = chained.sequence;
      seen.from = seen.from === undefined || time < seen.from ? time : seen.from;
      seen.to = seen.to === undefined || time > seen.to ? time : seen.to;
    }
    if (end !== undefined) seen.end = end.last;
  }
  if (seen.end === undefined) throw new CommandError(`the audit breaks off after event ${seen.last}, without its last line`);
}

function parsed(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? '');
  } catch {
    return undefined;
  }
}

function gapAtEnd({ last, end = last }: Verified): ChainGap | undefined {
  if (end === last) return undefined;
  return end > last ? { sequence: last + 1, reason: 'cut off' } : { sequence: end + 1, reason: 'unexpected' };
}

/** @throws CommandError unless the events are proven to be without a gap */
function report(
  seen: Verified,
  gap: ChainGap | undefined,
  { trusted, terminal }: { trusted: readonly Checkpoint[]; terminal: Terminal },
): void {
  const { count, from = '', to = '', first, last } = seen;
  const place = gap === undefined ? '' : ' before the gap';
  if (count > 0) terminal.stdout.write(`${harmless(`Events${place}: ${count}, from ${from} to ${to}`)}\n`);
  if (gap !== undefined) throw new GapError(sentences[gap.reason](gap.sequence));
  if (count === 0) {
    say(terminal, 'The audit has no events, and no gap.');
    return;
  }
  const newest = trusted.toSorted((one, other) => one.sequence - other.sequence).at(-1);
  if (newest === undefined) throw new CommandError('there is no signed checkpoint yet, and without one nothing proves the events');
  terminal.stdout.write(`${harmless(`Newest checkpoint: event ${newest.sequence}, ${newest.time}`)}\n`);
  for (const line of removals(trusted, first)) terminal.stdout.write(`${harmless(line)}\n`);
  const unproven = Math.min(count, last - newest.sequence);
  say(terminal, `The audit has no gap.${unproven > 0 ? ` Events without a checkpoint yet: the newest ${unproven}.` : ''}`);
}

/** Removals that are told, the newest ones. */
const maxRemovals = 10;

/** Returns a line for each removal that a checkpoint allows, and one for an audit whose checkpoints tell none. */
function removals(trusted: readonly Checkpoint[], first: number): string[] {
  const times = new Map<number, string>();
  for (const { removed, time } of trusted.toSorted((one, other) => (one.time < other.time ? 1 : -1)))
    if (removed !== undefined && removed.sequence > 0) times.set(removed.sequence, time);
  if (first > 1 && removedIn(trusted) === undefined)
    return [
      `Removed: events before ${first}. The checkpoints are of an earlier version, which does not tell that the retention removed them.`,
    ];
  const told = [...times].toSorted(([one], [other]) => one - other).slice(-maxRemovals);
  return told.map(([sequence, time]) => `Removed by the retention: events through ${sequence}, by a checkpoint of ${time}`);
}

const sentences: Readonly<Record<ChainGap['reason'], (sequence: number) => string>> = {
  missing: (sequence) => `Event ${sequence} is missing: events were removed or moved, and no checkpoint allows it.`,
  unexpected: (sequence) => `A second event ${sequence} follows: events were added or moved.`,
  changed: (sequence) => `Event ${sequence} contradicts its hash or checkpoint: this event, or one before it, was changed.`,
  'cut off': (sequence) => `Event ${sequence} is missing: the newest events were removed.`,
  'rolled back': (sequence) => `A checkpoint at event ${sequence} or later is missing: newer checkpoints were removed.`,
};
