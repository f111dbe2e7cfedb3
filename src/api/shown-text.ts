/** Texts of callers that others read: without invisible characters, and without e-mail addresses of other people. */
import { z } from 'zod';

/** Control characters, line separators, direction marks, and characters without a glyph. */
const disguises = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;
const allDisguises = new RegExp(disguises, 'gu');
const address = /[^\s@]@[^\s@]/;

/** Reports whether a text contains an e-mail address. */
export const holdsAddress = (text: string): boolean => address.test(text);
export const noAddress = 'may not hold an e-mail address: it would be taken for that person';

/** Cleans a text of an issuer or a directory, which a refusal would not change. */
export const cleaned = (text: string): string => text.toWellFormed().replaceAll(allDisguises, '').trim();

/** A text of one line, whose length is checked elsewhere. */
const singleLine = (text: z.ZodString) =>
  text.refine((given) => given.isWellFormed() && !disguises.test(given), 'may not hold control, zero-width or direction characters');

/** A text of one line. */
export const shownText = (maxCharacters: number, text = z.string()) =>
  singleLine(
    text.refine(
      // A character has at most two code units, so a longer text is refused without splitting it.
      (given) => given.length <= 2 * maxCharacters && [...given].length <= maxCharacters,
      `may not be longer than ${maxCharacters} characters`,
    ),
  );

/** A text of one line that names or describes anything but a person. */
export const shownLabel = (maxCharacters: number, text?: z.ZodString) =>
  shownText(maxCharacters, text).refine((given) => !holdsAddress(given), noAddress);
