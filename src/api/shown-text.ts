import { z } from 'zod';

/** Control characters, other line breaks, and what turns the direction of the text around it. */
const disguising = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

/** A text of one line that is shown to people. */
export const shownText = (maxCharacters: number) =>
  z
    .string()
    .refine((text) => [...text].length <= maxCharacters, `may not be longer than ${maxCharacters} characters`)
    .refine((text) => text.isWellFormed() && !disguising.test(text), 'may not hold control characters');
