/** Texts that people type or paste, for the service and the console. Passwords are taken as they are. */

/** Returns a text without the blanks and invisible characters around it, which are copied along with it. No program copies a NUL. */
export const typedText = (text: string): string => within(text, /(?!\0)[\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u);

/** Returns a text without the blanks around it. A byte order mark is no blank. */
export const withoutBlanks = (text: string): string => within(text, /[^\S\ufeff]/);

function within(text: string, edge: RegExp): string {
  let [begin, end] = [0, text.length];
  while (begin < end && edge.test(text.charAt(begin))) begin += 1;
  while (begin < end && edge.test(text.charAt(end - 1))) end -= 1;
  return text.slice(begin, end);
}

/** Longer than any code with separators. */
const longestCode = 128;

/**
 * Returns a one-time code in capitals and ASCII digits, without what separates its groups. Keyboards write digits of their language.
 * Returns '' for a text that is too long for a code.
 */
export const typedCode = (text: string): string => (text.length > longestCode ? '' : plainCode(text));

const plainCode = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/\p{Nd}/gu, valueOfDigit)
    .replaceAll(/[\s\p{P}\p{Cc}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .toUpperCase();

/** Digits of a language follow each other from zero to nine. */
function valueOfDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}
