/** DER (X.690), as far as it has to be known before a parser gets it. */

/** Constructed types hold others. A string of bits or octets may, and each of these takes two bytes at least. */
const isConstructed = (tag: number) => (tag & 0x20) !== 0;
const isString = (tag: number) => tag === 0x03 || tag === 0x04;

/** Returns the most elements that DER can hold, in one pass over it; undefined for what is no DER. */
export function elementsOf(der: Uint8Array): number | undefined {
  let count = 0;
  for (let at = 0; at < der.length; ) {
    const tag = der[at] ?? 0;
    const first = der[at + 1] ?? 0x80;
    const lengthBytes = first < 0x80 ? 0 : first - 0x80;
    // A tag of many bytes, a length that is not given, or one of more than four bytes: a certificate request has none.
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
