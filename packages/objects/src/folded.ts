/**
 * Text comparison of searches, for the service and the console. Letter case is ignored in every language, and so are forms of a letter
 * (NFC, NFD, full width, ligatures), invisible characters and the number of blanks. Letters with and without accents differ.
 */

const invisible = /\p{Default_Ignorable_Code_Point}+/gu;

/** Returns the form in which texts are compared. */
export const folded = (text: string): string => (/[^ -~]| {2}/.test(text) ? foldedUnicode(text) : text.toLowerCase());

/** Folding multiplies some letters. Callers may send longer texts, of which letter case alone is ignored. */
const longestWanted = 1024;

/** Returns the form of a text that is searched for: blanks around it are not part of it. */
export const wantedText = (text: string): string => (text.length > longestWanted ? text.toLowerCase() : folded(text)).trim();

/** Caseless matching by compatibility (Unicode 3.13, D146), with the letters i of Turkish as one. */
const foldedUnicode = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(invisible, '')
    // ẞ has no upper case but ß, which has two letters.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    .replaceAll('ς', 'σ')
    .replaceAll(/\s+/g, ' ')
    .normalize('NFKC');
