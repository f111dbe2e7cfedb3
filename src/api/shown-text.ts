/** Texts of callers that others read: nothing in them is unseen, and none passes for the address of a person. */
import { z } from 'zod';

/** Control characters, other line breaks, what turns the direction of the text around it, and what no font shows. */
const disguises = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;
const allDisguises = new RegExp(disguises, 'gu');
const address = /[^\s@]@[^\s@]/;

/** Returns whether a text holds an e-mail address. */
export const holdsAddress = (text: string): boolean => address.test(text);
export const noAddress = 'may not hold an e-mail address: it would be taken for that person';

/** A text of an issuer or a directory, which no refusal would change. */
export const cleaned = (text: string): string => text.toWellFormed().replaceAll(allDisguises, '').trim();

/** A text of one line, of which the length is checked elsewhere. */
const undisguised = (text: z.ZodString) =>
  text.refine((given) => given.isWellFormed() && !disguises.test(given), 'may not hold control, zero-width or direction characters');

/** A text of one line. */
export const shownText = (maxCharacters: number, text = z.string()) =>
  undisguised(
    text.refine(
      // A character has at most two code units: a longer text is not taken apart.
      (given) => given.length <= 2 * maxCharacters && [...given].length <= maxCharacters,
      `may not be longer than ${maxCharacters} characters`,
    ),
  );

/** A text of one line that names or describes what is no person. */
export const shownLabel = (maxCharacters: number, text?: z.ZodString) =>
  shownText(maxCharacters, text).refine((given) => !holdsAddress(given), noAddress);
