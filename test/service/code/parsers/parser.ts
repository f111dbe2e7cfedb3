/** What a row of the table of parsers says. */

export const KiB = 1024;
export const MiB = 1024 * KiB;

export interface Parser {
  readonly name: string;
  /** Most characters that come this way. */
  readonly limit: number;
  /** What is read: any text, JSON, a value in JSON, or the contents of a text in JSON. Default: any text. */
  readonly kind?: 'text' | 'json' | 'json value' | 'json text';
  /** What stands around the hostile text. Default: nothing. */
  readonly frames?: readonly (readonly [before: string, after: string])[];
  /** May throw whatever it refuses a text with. */
  parse(text: string): unknown;
}
