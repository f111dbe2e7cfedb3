/** A row of the table of parsers. */

export const KiB = 1024;
export const MiB = 1024 * KiB;

export interface Parser {
  readonly name: string;
  /** Most characters that come this way. */
  readonly limit: number;
  /** The grammar: any text, JSON, a value in JSON, or the contents of a text in JSON. Default: any text. */
  readonly kind?: 'text' | 'json' | 'json value' | 'json text';
  /** Texts before and after the hostile text. Default: none. */
  readonly frames?: readonly (readonly [before: string, after: string])[];
  /** May throw whatever it refuses a text with. */
  parse(text: string): unknown;
}
