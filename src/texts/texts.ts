/** Texts of login pages and mails: those of the product, and those of the languages that an installation adds. */
import { isRecord } from '../api/reader.ts';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import zh from './zh.json' with { type: 'json' };

type TextKey = keyof typeof en;
type Words = Readonly<Record<TextKey, string>>;

/** The texts of one language. */
export interface Texts {
  /** BCP 47, for `lang` and `Intl`. */
  readonly tag: string;
  readonly direction: 'ltr' | 'rtl';
  /** Returns the text of a key with the values in the place of `{{name}}`. Nothing is escaped. */
  t(key: TextKey, values?: Readonly<Record<string, string | number>>): string;
}

/** A JSON object of texts by key, as a public ConfigMap holds it. */
interface WordsFile {
  readonly contents: string;
  readonly encoding: 'utf-8' | 'base64';
  readonly sha256: string;
}

/** Returns the files of a language, the most important one first. */
export type WordsFiles = (language: string) => readonly WordsFile[];

/** Longer texts are ignored: a page stays a page. */
const maxLength = 2000;
const placeholder = /\{\{(\w+)\}\}/g;
const rightToLeft = ['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi'];

/** The primary subtag of a BCP 47 tag. */
export const primary = (tag: string): string => tag.split('-', 1)[0]?.toLowerCase() ?? '';

const textsOf = (tag: string, words: Words): Texts => ({
  tag,
  direction: rightToLeft.includes(primary(tag)) ? 'rtl' : 'ltr',
  t: (key, values = {}) => words[key].replace(placeholder, (_, name: string) => String(values[name] ?? '')),
});

const english = textsOf('en', en);
/** By primary language subtag. */
const own: ReadonlyMap<string, Texts> = new Map([
  ['en', english],
  ['de', textsOf('de', de)],
  ['zh', textsOf('zh-Hans', zh)],
]);

/** Finds texts by language. Languages of the product are never replaced; English stands in for texts that an added language lacks. */
export class Translations {
  readonly #languages: readonly string[];
  readonly #files: WordsFiles;
  /** By language, read once per version of its files. */
  readonly #added = new Map<string, { version: string; texts: Texts | undefined }>();

  /** @param languages `console.languages`, in order: a ConfigMap alone adds no language */
  constructor(languages: readonly { readonly id: string }[], files: WordsFiles = () => []) {
    this.#languages = languages.map(({ id }) => id);
    this.#files = files;
  }

  /** Returns the languages of the installation that have texts, in order. */
  offered(): string[] {
    return this.#languages.filter((language) => own.has(primary(language)) || this.#addedTexts(language) !== undefined);
  }

  /** @param tag BCP 47; English stands in for a language without texts */
  of(tag: string): Texts {
    const known = own.get(primary(tag));
    if (known !== undefined) return known;
    const language = this.#languages.find((id) => id === tag) ?? this.#languages.find((id) => primary(id) === primary(tag));
    return (language !== undefined && this.#addedTexts(language)) || english;
  }

  /** @returns the texts of the first of the installation's languages; English where it has none */
  first(): Texts {
    return this.of(this.#languages[0] ?? 'en');
  }

  #addedTexts(language: string): Texts | undefined {
    const files = this.#files(language);
    const version = files.map(({ sha256 }) => sha256).join();
    const known = this.#added.get(language);
    if (known?.version === version) return known.texts;
    const words = Object.assign({}, ...files.toReversed().map(wordsOf));
    const texts = Object.keys(words).length === 0 ? undefined : textsOf(language, { ...en, ...words });
    this.#added.set(language, { version, texts });
    return texts;
  }
}

/** Texts that may stand for the English ones; none of a file that is no JSON object. */
function wordsOf({ contents, encoding }: WordsFile): Partial<Words> {
  try {
    const given: unknown = JSON.parse(Buffer.from(contents, encoding).toString());
    return isRecord(given) ? Object.fromEntries(Object.entries(given).filter(isUsable)) : {};
  } catch {
    return {};
  }
}

const isKey = (key: string): key is TextKey => Object.hasOwn(en, key);

/** A text without the link of a mail, or with a line break in its subject, is ignored. */
const isUsable = ([key, text]: [string, unknown]): boolean =>
  isKey(key) &&
  typeof text === 'string' &&
  text.length <= maxLength &&
  !(key.endsWith('.text') ? /[^\P{Cc}\n]/u : /\p{Cc}/u).test(text) &&
  placeholdersOf(text) === placeholdersOf(en[key]);

const placeholdersOf = (text: string): string => [...new Set(text.match(placeholder))].sort().join();
