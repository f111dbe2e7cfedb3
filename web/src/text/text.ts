/** Words and formats. English comes with the shell, other languages when they are chosen. */
import { signal } from '@preact/signals';
import { createInstance } from 'i18next';
import en from './en.json';

type Words = keyof typeof en;
/** A key, or what stands before `_one` and `_other` of a plural. */
export type Key = Words | (Words extends infer Word ? (Word extends `${infer Base}_other` ? Base : never) : never);

const languageKey = 'atrium-language';
const others: Readonly<Record<string, () => Promise<{ default: Record<string, string> }>>> = {
  de: () => import('./de.json'),
  zh: () => import('./zh.json'),
};
const own: Readonly<Record<string, string>> = { en: 'English', de: 'Deutsch', zh: '中文' };

/** What may be chosen, by tag, as each calls itself. */
export const languages = signal(own);

/** What is in the console itself, and never comes from elsewhere. */
export const isOwn = (tag: string): boolean => tag in own;

const texts = createInstance();
void texts.init({
  lng: 'en',
  fallbackLng: 'en',
  resources: { en: { translation: en } },
  keySeparator: false,
  nsSeparator: false,
  initAsync: false,
  interpolation: { escapeValue: false },
});

export const language = signal('en');

/** Reading it in a component subscribes to the language. */
export const t = (key: Key, values: Record<string, unknown> = {}): string => {
  void language.value;
  return texts.t(key, values);
};

/** A text whose key is made of a value; the value itself where there is none. */
export const tOf = (prefix: string, value: string): string => {
  void language.value;
  return texts.t(`${prefix}.${value}`, { defaultValue: value });
};

/** Counts the bundles of plugins: what is shown without them is shown again. */
const bundles = signal(0);

/** Texts of a plugin, by a name of its own. */
export function addTexts(owner: string, tag: string, bundle: Record<string, string>): void {
  texts.addResourceBundle(tag, owner, bundle);
  bundles.value += 1;
}

/** A text of a plugin; its key where there is none. */
export const tIn = (owner: string, key: string, values: Record<string, string | number> = {}): string => {
  void language.value;
  void bundles.value;
  return texts.t(key, { ...values, ns: owner, fallbackLng: ['en'] });
};

const plural = /_(?:zero|one|two|few|many|other)$/;
const known = new Set(Object.keys(en).map((key) => key.replace(plural, '')));

/** Offers a language with the words that it has for the console: those of plugins are theirs. English stands in for what it lacks. */
export function addLanguage(tag: string, name: string, words: Readonly<Record<string, string>>): void {
  const bundle = Object.fromEntries(Object.entries(words).filter(([key]) => known.has(key.replace(plural, ''))));
  if (isOwn(tag) || Object.keys(bundle).length === 0) return;
  texts.addResourceBundle(tag, 'translation', bundle);
  languages.value = { ...languages.value, [tag]: name };
  if (localStorage.getItem(languageKey) === tag) void setLanguage(tag);
}

export async function setLanguage(next: string, { keep = true } = {}): Promise<void> {
  const load = others[next];
  if (load !== undefined && !texts.hasResourceBundle(next, 'translation'))
    texts.addResourceBundle(next, 'translation', (await load()).default);
  await texts.changeLanguage(next);
  if (keep) localStorage.setItem(languageKey, next);
  document.documentElement.lang = next;
  document.documentElement.dir = directionOf(next);
  language.value = next;
}

/** What was chosen here, or the first language of the browser that there is. */
export async function startLanguage(): Promise<void> {
  const ownOf = (tag: string) => Object.keys(own).find((id) => tag.toLowerCase().split('-')[0] === id);
  const chosen = [localStorage.getItem(languageKey) ?? '', ...navigator.languages].map(ownOf).find((id) => id !== undefined);
  if (chosen !== undefined && chosen !== 'en') await setLanguage(chosen, { keep: false }).catch(() => undefined);
}

const rightToLeft = ['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi'];

const directionOf = (tag: string): 'ltr' | 'rtl' => (rightToLeft.includes(tag.split('-')[0] ?? '') ? 'rtl' : 'ltr');

const formats = new Map<string, Intl.DateTimeFormat>();

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = language.value + JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(language.value, options);
  formats.set(key, format);
  return format;
}

export const dateTime = (time: string | number): string => dateFormat({ dateStyle: 'medium', timeStyle: 'short' }).format(new Date(time));

/** Of a moment that is not long ago; it tells the day once that is another one. */
export function timeOf(time: Date): string {
  const isToday = time.toDateString() === new Date().toDateString();
  return dateFormat({ ...(!isToday && { dateStyle: 'medium' }), timeStyle: 'medium' }).format(time);
}

/** Of this browser, for fields that take a local time: `Europe/Vienna, GMT+2`. */
export function timeZone(): string {
  const parts = dateFormat({ timeZoneName: 'shortOffset' }).formatToParts(new Date());
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value;
  return [Intl.DateTimeFormat().resolvedOptions().timeZone, offset].filter(Boolean).join(', ');
}

export const dateOnly = (time: string | number): string => dateFormat({ dateStyle: 'medium' }).format(new Date(time));

export const count = (value: number): string => new Intl.NumberFormat(language.value).format(value);

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** `2 hours ago`, `in 3 days`. */
export function relative(time: string | number): string {
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['minute', 60];
  return new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
}
