/** Postings: the places of the events that have a value, as the rows of the index keep them. */
import { hash } from 'node:crypto';

/** Bytes before a posting: its key, and its length. */
const headBytes = 8;

/** Form of the postings of a range of events. */
export interface PostingForm {
  /** Events of the range. A bit for each of them makes fewer than 64 KiB. */
  size: number;
  /** Bytes of a place in a list. */
  width: 2 | 3;
}

/** Returns the key of a value: 48 bits of its hash. Rows are compared again, because two values may share a key. */
export const keyOf = (value: string): number => hash('sha256', value, 'buffer').readUIntBE(0, 6);

/** Returns a bucket: the postings of keys, one after the other. */
export const bucketOf = (places: ReadonlyMap<number, readonly number[]>, form: PostingForm): Buffer =>
  Buffer.concat([...places].flatMap(([key, ofKey]) => entryOf(key, postingOf(ofKey, form))));

/** Returns a posting with its key. */
function entryOf(key: number, posting: Buffer): Buffer[] {
  const head = Buffer.alloc(headBytes);
  head.writeUIntBE(key, 0, 6);
  head.writeUInt16LE(posting.length, 6);
  return [head, posting];
}

/** Returns the places as numbers, or as a bit for each event where that is shorter. */
function postingOf(places: readonly number[], { size, width }: PostingForm): Buffer {
  if (places.length * width < bytesOfBits(size)) {
    const listed = Buffer.allocUnsafe(places.length * width);
    for (let index = 0; index < places.length; index += 1) listed.writeUIntLE(places[index] ?? 0, index * width, width);
    return listed;
  }
  const bits = Buffer.alloc(bytesOfBits(size));
  for (const place of places) setBit(bits, place);
  return bits;
}

/** Yields the postings of a bucket with their keys. */
export function* postingsIn(bucket: Uint8Array): Generator<[key: number, posting: Buffer]> {
  const bytes = buffered(bucket);
  for (let at = 0; at < bytes.length; ) {
    const begin = at + headBytes;
    const end = begin + bytes.readUInt16LE(at + 6);
    yield [bytes.readUIntBE(at, 6), bytes.subarray(begin, end)];
    at = end;
  }
}

export const buffered = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const bytesOfBits = (size: number): number => Math.ceil(size / 8);

export const emptyBits = ({ size }: Pick<PostingForm, 'size'>): Uint8Array => new Uint8Array(bytesOfBits(size));

/** Returns a bit for each event. */
export function bitsOf(posting: Buffer, { size, width }: PostingForm): Uint8Array {
  if (posting.length === bytesOfBits(size)) return posting;
  const bits = emptyBits({ size });
  for (let index = 0; index < posting.length; index += width) setBit(bits, posting.readUIntLE(index, width));
  return bits;
}

function setBit(bits: Uint8Array, place: number): void {
  bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
}

/** Returns the places of a posting. */
export function placesOf(posting: Buffer, { size, width }: PostingForm): number[] {
  if (posting.length === bytesOfBits(size)) return placesIn(posting);
  const places: number[] = [];
  for (let index = 0; index < posting.length; index += width) places.push(posting.readUIntLE(index, width));
  return places;
}

/** Adds bits, from a place on. */
export function addBits(bits: Uint8Array, added: Uint8Array, offset = 0): void {
  for (let index = 0, at = offset >> 3; index < added.length; index += 1, at += 1) {
    const shifted = (added[index] ?? 0) << (offset & 7);
    bits[at] = (bits[at] ?? 0) | shifted;
    bits[at + 1] = (bits[at + 1] ?? 0) | (shifted >> 8);
  }
}

/** Returns a copy of bits in numbers of 32, which are compared at once. */
function uint32Of(bits: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits.length / 4));
  new Uint8Array(words.buffer).set(bits);
  return words;
}

/** Returns the bits that all have. */
export function commonBits([first = new Uint8Array(), ...others]: readonly Uint8Array[]): Uint8Array {
  const common = uint32Of(first);
  for (const words of others.map(uint32Of))
    for (let index = 0; index < common.length; index += 1) common[index] = (common[index] ?? 0) & (words[index] ?? 0);
  return new Uint8Array(common.buffer, 0, first.length);
}

/** Returns the places of the bits that are set in a range, at most a number of them. */
export function placesIn(bits: Uint8Array, { from = 0, to = bits.length * 8, atMost = Number.POSITIVE_INFINITY } = {}): number[] {
  const places: number[] = [];
  const words = uint32Of(bits);
  for (let index = from >> 5; index < words.length && index * 32 < to; index += 1) {
    // Most words of a rare value are empty.
    if (words[index] === 0) continue;
    for (let place = Math.max(from, index * 32); place < Math.min(to, index * 32 + 32); place += 1)
      if ((bits[place >> 3] ?? 0) & (1 << (place & 7)) && places.push(place) >= atMost) return places;
  }
  return places;
}
