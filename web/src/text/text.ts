/** Texts and formats. English texts of the shell are included; those of pages and other languages are loaded when they are needed. */

import { first, type Pack, packs } from 'virtual:texts';
import { durationParts } from '@atrium/objects/duration.ts';
import { signal } from '@preact/signals';
import { createInstance } from 'i18next';
import { untilDone } from '../api/outage';
import { setWords } from '../api/problem';
import type en from './en.json';

type Words = keyof typeof en;
/** Key of a text, or its part before `_one` and `_other` of a plural. */
export type Key = Words | (Words extends infer Word ? (Word extends `${infer Base}_other` ? Base : never) : never);

const languageKey = 'atrium-language';
const own = { en: 'English', de: 'Deutsch', zh: '中文' } as const satisfies Record<string, string>;
type Own = keyof typeof own;

/** Languages to choose from by tag, each by its own name. */
export const languages = signal<Readonly<Record<string, string>>>(own);

/** Reports whether the console itself contains a language. Such a language is never loaded from elsewhere. */
export const isOwn = (tag: string): tag is Own => tag in own;

const texts = createInstance();
void texts.init({
  lng: 'en',
  fallbackLng: 'en',
  resources: { en: { translation: first } },
  keySeparator: false,
  nsSeparator: false,
  initAsync: false,
  interpolation: { escapeValue: false },
});

export const language = signal('en');

/** Returns a text. Reading it in a component subscribes to the language. */
export const t = (key: Key, values: Record<string, unknown> = {}): string => {
  void language.value;
  return texts.t(key, values);
};

setWords(t);

/** Returns the text whose key contains a value, or the value itself if there is no such text. */
export const tOf = (prefix: string, value: string): string => {
  void language.value;
  return texts.t(`${prefix}.${value}`, { defaultValue: value });
};

/** Counts the texts of plugins that were added: components that were rendered without them are rendered again. */
const bundles = signal(0);

/** Adds texts of a plugin, under a name of its own. */
export function addTexts(owner: string, tag: string, bundle: Record<string, string>): void {
  texts.addResourceBundle(tag, owner, bundle);
  bundles.value += 1;
}

/** Returns a text of a plugin, or its key if there is no such text. */
export const tIn = (owner: string, key: string, values: Record<string, string | number> = {}): string => {
  void language.value;
  void bundles.value;
  return texts.t(key, { ...values, ns: owner, fallbackLng: ['en'] });
};

/** Offers a language with its texts for the console, without those of plugins. English is the fallback for missing texts. */
export async function addLanguage(tag: string, name: string, words: Readonly<Record<string, string>>): Promise<void> {
  // Keys of the console are those that exist in English.
  await Promise.all((Object.keys(packs.en) as Pack[]).map((pack) => addPack('en', pack)));
  const known = new Set(Object.keys(texts.getResourceBundle('en', 'translation') as object).map((key) => key.replace(plural, '')));
  const bundle = Object.fromEntries(Object.entries(words).filter(([key]) => known.has(key.replace(plural, ''))));
  if (isOwn(tag) || Object.keys(bundle).length === 0) return;
  texts.addResourceBundle(tag, 'translation', bundle);
  languages.value = { ...languages.value, [tag]: name };
  if (localStorage.getItem(languageKey) === tag) void setLanguage(tag);
}

const plural = /_(?:zero|one|two|few|many|other)$/;

const added = new Map<string, Promise<void>>([['en/first', Promise.resolve()]]);
/** Packs of pages that were opened. A change of the language loads them, too. */
const opened = new Set<Pack>(['first']);

function addPack(tag: Own, pack: Pack): Promise<void> {
  const key = `${tag}/${pack}`;
  const adding =
    added.get(key) ??
    packs[tag][pack]().then(
      ({ default: words }) => void texts.addResourceBundle(tag, 'translation', words),
      (error: unknown) => {
        added.delete(key);
        throw error;
      },
    );
  added.set(key, adding);
  return adding;
}

/** Returns the language whose packs are loaded: English for an added language. */
const spoken = (tag: string): Own => (isOwn(tag) ? tag : 'en');

/** Language of a page that starts, while its texts load. */
let starting: string | undefined;

/** Loads the texts of a page. The language may change meanwhile. */
export async function loadTexts(pack: Pack): Promise<void> {
  opened.add(pack);
  for (let tag: Own | undefined; tag !== spoken(starting ?? language.value); ) {
    tag = spoken(starting ?? language.value);
    await addPack(tag, pack);
  }
}

export async function setLanguage(next: string, { keep = true } = {}): Promise<void> {
  for (let size = 0; size !== opened.size; ) {
    size = opened.size;
    await Promise.all([...opened].map((pack) => addPack(spoken(next), pack)));
  }
  await texts.changeLanguage(next);
  if (keep) localStorage.setItem(languageKey, next);
  document.documentElement.lang = next;
  document.documentElement.dir = directionOf(next);
  language.value = next;
}

/** Returns whether the installation added the language that was chosen here. */
export function isAddedChosen(): boolean {
  const chosen = localStorage.getItem(languageKey);
  return chosen !== null && !isOwn(chosen);
}

/**
 * Starts with the language that was chosen in this browser, or the first of the browser's languages that the console has. An added language
 * replaces it later.
 */
export async function startLanguage(): Promise<void> {
  const ownOf = (tag: string) => Object.keys(own).find((id) => tag.toLowerCase().split('-')[0] === id);
  const chosen = [localStorage.getItem(languageKey) ?? '', ...navigator.languages].map(ownOf).find((id) => id !== undefined);
  if (chosen === undefined || chosen === 'en') return;
  starting = chosen;
  const speak = () => setLanguage(chosen, { keep: false });
  await speak().catch(() => void untilDone(speak));
  starting = undefined;
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

/** Formats a recent time, with its date if it is not today. */
export function timeOf(time: Date): string {
  const isToday = time.toDateString() === new Date().toDateString();
  return dateFormat({ ...(!isToday && { dateStyle: 'medium' }), timeStyle: 'medium' }).format(time);
}

/** Returns the time zone of the browser, for fields that take a local time: `Europe/Vienna, GMT+2`. */
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

const distanceFormats = new Map<string, Intl.RelativeTimeFormat>();

function distanceFormat(): Intl.RelativeTimeFormat {
  const format = distanceFormats.get(language.value) ?? new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' });
  distanceFormats.set(language.value, format);
  return format;
}

/** Formats the distance to now: `2 hours ago`, `in 3 days`. */
export function relative(time: string | number): string {
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['minute', 60];
  return distanceFormat().format(Math.trunc(seconds / size), unit);
}

const lengths: readonly [unit: string, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** Formats a duration in the largest unit that fits without a rest: `2 hours`, `90 minutes`. */
export function duration(seconds: number): string {
  const [unit, size] = lengths.find(([, length]) => seconds % length === 0) ?? ['second', 1];
  return new Intl.NumberFormat(language.value, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / size);
}

const unitFormats = new Map<string, Intl.NumberFormat>();

function unitFormat(unit: string): Intl.NumberFormat {
  const key = language.value + unit;
  const format =
    unitFormats.get(key) ?? new Intl.NumberFormat(language.value.replace('de', 'en'), { style: 'unit', unit, unitDisplay: 'narrow' });
  unitFormats.set(key, format);
  return format;
}

const unitNames = { y: 'year', d: 'day', h: 'hour', m: 'minute', s: 'second' } as const;

/** Formats an age in the units of kubectl: `5m30s`, `17m`. German abbreviations take twice the width. A time in the future is written out. */
export function brief(time: string | number): string {
  const seconds = (Date.now() - new Date(time).getTime()) / 1000;
  // The clocks of the cluster and the browser may differ a little.
  if (seconds < -60) return relative(time);
  const parts = durationParts(seconds).map(([count, unit]) => unitFormat(unitNames[unit]).format(count));
  return parts.join(parts.some((part) => /\s/.test(part)) ? ' ' : '');
}
