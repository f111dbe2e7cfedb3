/**
 * Returns a pasted text without control characters other than tabs and line breaks. The end of a bracketed paste in the text, which xterm.js
 * passes on, would make a shell run the rest.
 */
export const pastedText = (text: string): string => text.replaceAll(/[^\P{Cc}\t\n\r]/gu, '');
