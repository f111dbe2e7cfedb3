/** Detects the type of an image by its bytes alone, because names and declared types are only claims. */

const begins = (bytes: Buffer, signature: string, at = 0): boolean => bytes.toString('latin1', at, at + signature.length) === signature;

/** RFC 9649 and ISO 14496-12: a file type box whose major or compatible brands name AVIF. */
function isAvif(bytes: Buffer): boolean {
  if (bytes.length < 16 || !begins(bytes, 'ftyp', 4)) return false;
  const end = Math.min(bytes.readUInt32BE(0), bytes.length, 256);
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && /^avi[fs]$/.test(bytes.toString('latin1', at, at + 4))) return true;
  }
  return false;
}

/** Checks more than the two letters, which text may begin with: the reserved field is empty and the header has a known size. */
const isBmp = (bytes: Buffer): boolean =>
  bytes.length >= 26 &&
  begins(bytes, 'BM') &&
  bytes.readUInt32LE(6) === 0 &&
  [12, 40, 52, 56, 64, 108, 124].includes(bytes.readUInt32LE(14));

/** An icon directory with at least one entry, whose reserved byte is empty. */
const isIco = (bytes: Buffer): boolean =>
  bytes.length >= 22 && begins(bytes, '\0\0\x01\0') && bytes.readUInt16LE(4) > 0 && bytes.readUInt8(9) === 0;

const kinds: readonly { type: string; matches: (bytes: Buffer) => boolean }[] = [
  { type: 'image/png', matches: (bytes) => begins(bytes, '\x89PNG\r\n\x1a\n') },
  { type: 'image/jpeg', matches: (bytes) => begins(bytes, '\xff\xd8\xff') },
  { type: 'image/gif', matches: (bytes) => begins(bytes, 'GIF87a') || begins(bytes, 'GIF89a') },
  { type: 'image/webp', matches: (bytes) => begins(bytes, 'RIFF') && begins(bytes, 'WEBP', 8) },
  { type: 'image/avif', matches: isAvif },
  { type: 'image/x-icon', matches: isIco },
  { type: 'image/bmp', matches: isBmp },
  { type: 'image/svg+xml', matches: isSvg },
];

/** Returns the media type; undefined if browsers do not display it as an image. */
export const imageType = (bytes: Buffer): string | undefined => kinds.find(({ matches }) => matches(bytes))?.type;

function isSvg(bytes: Buffer): boolean {
  // Only a byte order mark, blanks and `<` may come first, so that large binaries are not decoded.
  if (!/^(?:\xef\xbb\xbf)?\s*</.test(bytes.toString('latin1', 0, 1024))) return false;
  try {
    return hasSvgRoot(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return false;
  }
}

/** Reports whether the root element is `svg`, after XML declaration, comments, processing instructions and document type (XML 1.0, 2.8). */
function hasSvgRoot(text: string): boolean {
  for (let at = 0; at >= 0; ) {
    at = afterBlanks(text, at);
    if (text.startsWith('<!--', at)) at = after(text, '-->', at + 4);
    else if (text.startsWith('<?', at)) at = after(text, '?>', at + 2);
    else if (text.startsWith('<!DOCTYPE', at)) at = afterDocumentType(text, at + 9);
    else return /^<(?:[A-Za-z_][\w.-]*:)?svg[\s/>]/.test(text.slice(at, at + 256));
  }
  return false;
}

function afterBlanks(text: string, from: number): number {
  const blanks = /[ \t\r\n]*/y;
  blanks.lastIndex = from;
  blanks.exec(text);
  return blanks.lastIndex;
}

/** Returns the position after the next `end`; -1 if it is missing. */
function after(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from);
  return at < 0 ? -1 : at + end.length;
}

/** A document type ends at the first `>` outside quotes, comments and the brackets of its internal subset. */
function afterDocumentType(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at >= 0 && at < text.length; ) {
    const character = text[at] ?? '';
    if (character === '>' && depth === 0) return at + 1;
    if (character === '[') depth += 1;
    else if (character === ']') depth -= 1;
    if (character === '"' || character === "'") at = after(text, character, at + 1);
    else at = text.startsWith('<!--', at) ? after(text, '-->', at + 4) : at + 1;
  }
  return -1;
}
