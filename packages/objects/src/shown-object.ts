/** Objects for people and models to read. Anyone who may create an object writes its texts, so that none of them may hide characters. */
import { isMembers } from './members.ts';

/** Control characters, direction marks, characters without a glyph, and halves of pairs. Line feeds and tabs are escaped by JSON itself. */
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;

const escaped = (character: string): string => {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
};

/** Returns a text in which each character is visible. */
export const visibleText = (text: string): string =>
  text.replaceAll(hidden, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

const maxDepth = 64;
/** Annotation in which kubectl keeps a copy of an object. */
export const appliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns a copy of an answer, without copies of whole objects that Kubernetes and kubectl keep in their metadata. */
export function withoutCopies(value: unknown, depth = 0): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= maxDepth) return '…';
  if (Array.isArray(value)) return value.map((item) => withoutCopies(item, depth + 1));
  const shown = Object.entries(value).filter(
    ([key, member]) => key !== 'managedFields' && key !== appliedAnnotation && member !== undefined,
  );
  return Object.fromEntries(shown.map(([key, member]) => [key, withoutCopies(member, depth + 1)]));
}

/** Returns a copy of an answer with visible texts. */
export function visible(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(visible);
  return isMembers(value) ? Object.fromEntries(Object.entries(value).map(([key, member]) => [visibleText(key), visible(member)])) : value;
}
