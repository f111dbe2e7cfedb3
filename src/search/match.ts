/** Ranks texts by how well they match the text that is searched for. */
import { folded, wantedText } from '@atrium/objects/folded.ts';

/** Ranks from best to worst. */
export const ranks = ['Exact', 'Prefix', 'Word', 'Part'] as const;
export const fields = ['name', 'label', 'image'] as const;

/** The field of a row that matches, and the rank of the match. */
export interface Match {
  rank: (typeof ranks)[number];
  field: (typeof fields)[number];
  /** Name or image that matches, or the label as `key=value`. */
  text: string;
}

/** Readers of the texts of a row that a search compares. */
export interface RowTexts<Row> {
  /** Readers of folded names. */
  readonly names: readonly ((row: Row) => string)[];
  labels(row: Row): Readonly<Record<string, string>>;
  /** Images joined by commas; '' if there are none. */
  images(row: Row): string;
}

const noRank = ranks.length;
const fieldCount = fields.length;
/** Greater than the score of every match. */
export const noMatch = noRank * fieldCount;

/** Bound of the ranks that are cached for labels and images that rows share. Beyond it they are ranked again for each row. */
const maxKnown = 4096;
/** Prefix of labels that the service writes on users. They repeat fields such as the state. */
const ownLabels = 'auth.platform.io/';

type Labels = Readonly<Record<string, string>>;

/**
 * Scores rows by one text, ignoring case. Allocates nothing for most rows, so that a search of many rows causes no pause for garbage
 * collection.
 */
export class Matcher {
  readonly #wanted: string;
  /** End of a key and beginning of a value, if the text has both. */
  readonly #pair: readonly [key: string, value: string] | undefined;
  readonly #labels = new Map<Labels, number>();
  readonly #images = new Map<string, number>();

  constructor(wanted: string) {
    this.#wanted = wantedText(wanted);
    const equals = this.#wanted.indexOf('=');
    if (equals >= 0) this.#pair = [this.#wanted.slice(0, equals), this.#wanted.slice(equals + 1)];
  }

  /** Returns a number that orders rows by rank, and within a rank by field; `noMatch` for a row that does not match. */
  score<Row>(texts: RowTexts<Row>, row: Row): number {
    let best = noMatch;
    for (const read of texts.names) best = Math.min(best, scoreOf(rankOf(read(row), this.#wanted), 0));
    if (best > 1) best = Math.min(best, scoreOf(this.#rankOfLabels(texts.labels(row)), 1));
    if (best > 2) best = Math.min(best, scoreOf(this.#rankOfImages(texts.images(row)), 2));
    return best;
  }

  /** Returns the match behind a score below `noMatch`. */
  match<Row>(texts: RowTexts<Row>, row: Row, score: number): Match {
    const field = fields[score % fieldCount] ?? 'name';
    const wanted = Math.floor(score / fieldCount);
    return { rank: ranks[wanted] ?? 'Part', field, text: this.#textOf(texts, row, field, wanted) ?? '' };
  }

  #textOf<Row>({ names, labels, images }: RowTexts<Row>, row: Row, field: Match['field'], rank: number): string | undefined {
    if (field === 'name') return names.map((read) => read(row)).find((name) => rankOf(name, this.#wanted) === rank);
    if (field === 'image')
      return images(row)
        .split(',')
        .find((image) => rankOf(folded(image), this.#wanted) === rank);
    const [key, value] = Object.entries(labels(row)).find((label) => this.#rankOfLabel(...label) === rank) ?? [];
    return `${key}=${value}`;
  }

  #rankOfLabels(labels: Labels): number {
    const known = this.#labels.get(labels);
    if (known !== undefined) return known;
    let best: number = noRank;
    for (const key in labels) if (Object.hasOwn(labels, key)) best = Math.min(best, this.#rankOfLabel(key, labels[key] ?? ''));
    if (this.#labels.size < maxKnown) this.#labels.set(labels, best);
    return best;
  }

  #rankOfImages(images: string): number {
    if (images === '') return noRank;
    const known = this.#images.get(images);
    if (known !== undefined) return known;
    const best = Math.min(...images.split(',').map((image) => rankOf(folded(image), this.#wanted)));
    if (this.#images.size < maxKnown) this.#images.set(images, best);
    return best;
  }

  #rankOfLabel(key: string, value: string): number {
    if (key.startsWith(ownLabels)) return noRank;
    if (this.#pair === undefined) return rankOf(folded(value), this.#wanted);
    const [ofKey, ofValue] = this.#pair;
    if (!folded(value).startsWith(ofValue) || !folded(key).endsWith(ofKey)) return noRank;
    return rankOf(folded(`${key}=${value}`), this.#wanted);
  }
}

const scoreOf = (rank: number, field: number): number => (rank === noRank ? noMatch : rank * fieldCount + field);

/** Returns the index of the rank. @param text folded, like `wanted` */
function rankOf(text: string, wanted: string): number {
  let at = text.indexOf(wanted);
  if (at < 0) return noRank;
  if (at === 0) return text.length === wanted.length ? 0 : 1;
  for (; at > 0; at = text.indexOf(wanted, at + 1)) if (!isInWord(text.charCodeAt(at - 1))) return 2;
  return 3;
}

/** Reports whether a character belongs to a word: ASCII letters and digits, and all characters beyond ASCII. */
const isInWord = (code: number): boolean => (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a) || code > 0x7f;
