/** Bounds the elements of DER (X.690) before a parser reads it. */

/** Constructed types hold other elements. A bit string or an octet string may hold elements too, each of two bytes at least. */
const isConstructed = (tag: number) => (tag & 0x20) !== 0;
const isString = (tag: number) => tag === 0x03 || tag === 0x04;

/** Returns an upper bound of the elements, in one pass; undefined if the bytes are not DER. */
export function elementsOf(der: Uint8Array): number | undefined {
  let count = 0;
  for (let at = 0; at < der.length; ) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0x80;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    // Certificate requests have no tag of several bytes, no indefinite length and no length of more than four bytes.
    if ((tag & 0x1f) === 0x1f || first === 0x80 || lengthBytes > 4) return undefined;
    let length = first < 0x80 ? first : 0;
    for (let index = 0; index < lengthBytes; index += 1) length = length * 256 + (der[at + 2 + index] ?? 0);
    const content = at + 2 + lengthBytes;
    if (content + length > der.length) return undefined;
    count += isString(tag) ? 1 + length / 2 : 1;
    at = isConstructed(tag) ? content : content + length;
  }
  return count;
}
