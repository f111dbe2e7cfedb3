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

/**
 * Checks that events are those that the store took in, in their order. The checkpoints come from outside of the store, with valid
 * signatures: a writer of the database can compute hashes as well.
 *
 * @param events in the order of their numbers, from the oldest on
 * @param trusted signed checkpoints; the newest one fixes the end, and the one before the first event allows that retention removed others
 * @param newest newest checkpoint that the store knows to be kept
 */
export async function verifyChain(
  events: AsyncIterable<ChainedEvent> | Iterable<ChainedEvent>,
  trusted: readonly Checkpoint[],
  newest?: Pick<Checkpoint, 'sequence'>,
): Promise<Verification> {
  const hashes = new Map(trusted.map(({ sequence, hash }) => [sequence, hash]));
  let last: { sequence: number; hash: string } | undefined;
  let verified = 0;
  const stoppedAt = (sequence: number, reason: ChainGap['reason']) => ({ verified, gap: { sequence, reason } });
  for await (const { sequence, hash, event } of events) {
    const before = last ?? { sequence: sequence - 1, hash: sequence === 1 ? firstHash : hashes.get(sequence - 1) };
    if (before.hash === undefined) return stoppedAt(1, 'missing');
    if (sequence > before.sequence + 1) return stoppedAt(before.sequence + 1, 'missing');
    if (sequence <= before.sequence) return stoppedAt(sequence, 'unexpected');
    if (hash !== hashOf(before.hash, sequence, event) || (hashes.get(sequence) ?? hash) !== hash) return stoppedAt(sequence, 'changed');
    last = { sequence, hash };
    verified += 1;
  }
  const end = Math.max(0, ...hashes.keys());
  if ((last?.sequence ?? 0) < end) return stoppedAt((last?.sequence ?? 0) + 1, 'cut off');
  if (newest !== undefined && newest.sequence > end) return stoppedAt(end + 1, 'rolled back');
  return { verified, gap: undefined };
}
