import { createHash } from 'node:crypto';

/** An event as an export has it: the hash covers the event, its number, and the hash of the event before. */
export interface ChainedEvent {
  sequence: number;
  /** SHA-256 in hexadecimal digits. */
  hash: string;
  /** Members that this version does not know are covered, too. */
  event: Record<string, unknown>;
}

/** The end of the chain at a time. A signature over it, kept elsewhere, fixes all events before. */
export interface Checkpoint {
  sequence: number;
  hash: string;
  /** Time of the checkpoint, RFC 3339. */
  time: string;
  /** Events that were kept up to this one. */
  count: number;
  /** Last event that the retention may have removed, with those before it. Missing in checkpoints of earlier versions, which tell no removal. */
  removed?: RemovedEvents | undefined;
}

/** Events through a number, and the hash of the last one, from which the chain goes on. */
export interface RemovedEvents {
  sequence: number;
  hash: string;
}

/** First place at which the events are not those that the store took in. */
export interface ChainGap {
  sequence: number;
  reason: 'missing' | 'unexpected' | 'changed' | 'cut off' | 'rolled back';
}

export interface Verification {
  /** Events without a gap. */
  verified: number;
  gap: ChainGap | undefined;
}

/** Hash before the first event. */
export const firstHash = '0'.repeat(64);

export const nothingRemoved: RemovedEvents = { sequence: 0, hash: firstHash };

/** Returns the events that checkpoints let the retention remove; undefined if all are of earlier versions. */
export const removedIn = (trusted: readonly Checkpoint[]): RemovedEvents | undefined =>
  trusted
    .map(({ removed }) => removed)
    .reduce((most, removed) => (removed && removed.sequence >= (most?.sequence ?? 0) ? removed : most), undefined);

/** Returns a value as JSON with sorted members, so that databases and exports may order them as they like. */
function canonical(value: unknown): string {
  const sorted = (_name: string, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member;
  return JSON.stringify(value, sorted);
}

export const hashOf = (before: string, sequence: number, event: object): string =>
  createHash('sha256')
    .update(`${before}\n${sequence}\n${canonical(event)}`)
    .digest('hex');

/** Event after which the chain goes on. */
interface ChainPlace {
  sequence: number;
  hash: string | undefined;
}

/** Returns the place before the first event, or an earlier one if that event may not be the first. */
function placeBefore(first: number, trusted: readonly Checkpoint[]): ChainPlace {
  const removed = removedIn(trusted);
  if (removed === undefined) return trusted.findLast(({ sequence }) => sequence === first - 1) ?? nothingRemoved;
  if (first === 1 || first > removed.sequence) return first === 1 ? nothingRemoved : removed;
  // A removal that is not finished leaves events: the hash of the last one is signed, and that before the first one is gone.
  return { sequence: first - 1, hash: undefined };
}

const continues = ({ sequence, hash, event }: ChainedEvent, before: ChainPlace): boolean =>
  before.hash === undefined || hash === hashOf(before.hash, sequence, event);

/**
 * Checks that events are those that the store took in, in their order. The checkpoints come from outside of the store, with valid
 * signatures: a writer of the database can compute hashes as well.
 *
 * @param events in the order of their numbers, from the oldest on
 * @param trusted signed checkpoints: the newest one fixes the end, and the first event follows those that they tell as removed. If all are of
 *   earlier versions, it may follow any of them.
 * @param newest newest checkpoint that the store knows to be kept
 */
export async function verifyChain(
  events: AsyncIterable<ChainedEvent> | Iterable<ChainedEvent>,
  trusted: readonly Checkpoint[],
  newest?: Pick<Checkpoint, 'sequence'>,
): Promise<Verification> {
  const hashes = new Map(trusted.flatMap((made) => [made.removed ?? made, made]).map(({ sequence, hash }) => [sequence, hash]));
  let last: ChainPlace | undefined;
  let verified = 0;
  const stoppedAt = (sequence: number, reason: ChainGap['reason']) => ({ verified, gap: { sequence, reason } });
  for await (const link of events) {
    const { sequence, hash } = link;
    const before = last ?? placeBefore(sequence, trusted);
    if (sequence > before.sequence + 1) return stoppedAt(before.sequence + 1, 'missing');
    if (sequence <= before.sequence) return stoppedAt(sequence, 'unexpected');
    if (!continues(link, before) || (hashes.get(sequence) ?? hash) !== hash) return stoppedAt(sequence, 'changed');
    last = { sequence, hash };
    verified += before.hash === undefined ? 0 : 1;
  }
  const end = Math.max(0, ...hashes.keys());
  if ((last?.sequence ?? 0) < end) return stoppedAt((last?.sequence ?? 0) + 1, 'cut off');
  if (newest !== undefined && newest.sequence > end) return stoppedAt(end + 1, 'rolled back');
  return { verified, gap: undefined };
}
