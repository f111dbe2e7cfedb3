/** Texts of login pages and mails, in the languages of the product and in those that an installation adds. */
import { isRecord } from '@atrium/objects/reader.ts';
import de from './de.json' with { type: 'json' };
import en from './en.json' with { type: 'json' };
import zh from './zh.json' with { type: 'json' };

type TextKey = keyof typeof en;
type Words = Readonly<Record<TextKey, string>>;

/** Texts of one language. */
export interface Texts {
  /** BCP 47, for `lang` and `Intl`. */
  readonly tag: string;
  readonly direction: 'ltr' | 'rtl';
  /** Returns the text of a key with the values in place of `{{name}}`. Values are not escaped. */
  t(key: TextKey, values?: Readonly<Record<string, string | number>>): string;
}

/** JSON object of texts by key, from a public ConfigMap. */
interface WordsFile {
  readonly contents: string;
  readonly encoding: 'utf-8' | 'base64';
  readonly sha256: string;
}

/** Returns the files of a language, the most important one first. */
export type WordsFiles = (language: string) => readonly WordsFile[];

/** Returns a time for users of any time zone. */
export const timeText = ({ tag }: Texts, time: Date): string =>
  `${new Intl.DateTimeFormat(tag, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(time)} UTC`;

/** Maximum length of a text. Longer texts are ignored. */
const maxLength = 2000;
const placeholder = /\{\{(\w+)\}\}/g;
const rightToLeft = ['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi'];

/** Returns the primary subtag of a BCP 47 tag. */
export const primary = (tag: string): string => tag.split('-', 1)[0]?.toLowerCase() ?? '';

const textsOf = (tag: string, words: Words): Texts => ({
  tag,
  direction: rightToLeft.includes(primary(tag)) ? 'rtl' : 'ltr',
  t: (key, values = {}) => words[key].replace(placeholder, (_, name: string) => String(values[name] ?? '')),
});

const english = textsOf('en', en);
/** Texts of the product, by primary language subtag. */
const own: ReadonlyMap<string, Texts> = new Map([
  ['en', english],
  ['de', textsOf('de', de)],
  ['zh', textsOf('zh-Hans', zh)],
]);

/** Finds texts by language. Languages of the product cannot be replaced. English replaces texts that an added language lacks. */
export class Translations {
  readonly #languages: readonly string[];
  readonly #files: WordsFiles;
  /** Texts of added languages, by language. Files are parsed once per version. */
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

  /** @param tag BCP 47. English replaces a language without texts. */
  of(tag: string): Texts {
    const known = own.get(primary(tag));
    if (known !== undefined) return known;
    const language = this.#languages.find((id) => id === tag) ?? this.#languages.find((id) => primary(id) === primary(tag));
    return (language !== undefined && this.#addedTexts(language)) || english;
  }

  /** @returns the texts of the installation's first language, or English if there is none */
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

/** Returns the texts that may replace the English ones, and none if the file is no JSON object. */
function wordsOf({ contents, encoding }: WordsFile): Partial<Words> {
  try {
    const given: unknown = JSON.parse(Buffer.from(contents, encoding).toString());
    return isRecord(given) ? Object.fromEntries(Object.entries(given).filter(isUsable)) : {};
  } catch {
    return {};
  }
}

const isKey = (key: string): key is TextKey => Object.hasOwn(en, key);

/**
 * Accepts a text that has the placeholders of the English one, such as the link of a mail. Only mail bodies (`.text`) may have line breaks.
 */
const isUsable = ([key, text]: [string, unknown]): boolean =>
  isKey(key) &&
  typeof text === 'string' &&
  text.length <= maxLength &&
  !(key.endsWith('.text') ? /[^\P{Cc}\n]/u : /\p{Cc}/u).test(text) &&
  placeholdersOf(text) === placeholdersOf(en[key]);

const placeholdersOf = (text: string): string => [...new Set(text.match(placeholder))].sort().join();
