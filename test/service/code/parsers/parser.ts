/** A row of the table of parsers. */

export const KiB = 1024;
export const MiB = 1024 * KiB;

export interface Parser {
  readonly name: string;
  /** Maximum number of characters of the input. */
  readonly limit: number;
  /** Grammar of the text: any text, JSON, a value in JSON, or the contents of a text in JSON. Default: any text. */
  readonly kind?: 'text' | 'json' | 'json value' | 'json text';
  /** Texts before and after the hostile text. Default: none. */
  readonly frames?: readonly (readonly [before: string, after: string])[];
  /** May throw any error to refuse a text. */
  parse(text: string): unknown;
}
