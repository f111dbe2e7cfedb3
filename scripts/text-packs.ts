/**
 * Splits the texts of the console by the pages that show them. The sources stay one file a language; a page loads its pack.
 *
 * A key belongs to each pack whose modules name it, and to the first page alone if its modules do.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

/** Modules that a pack begins with. Their imports belong to it; those of the first page, overlays and the overview end where another pack begins. */
const entries = {
  first: ['main.tsx'],
  overlays: ['shell/{keys-help,messages,own-access,palette,password-due,step-up-dialog,why}.tsx', 'shell/follow-own-access.ts'],
  plugins: ['plugins/run.ts'],
  overview: ['pages/overview/*.tsx'],
  people: ['pages/!(access|activity|cluster|explorer|overview|proposals|requests)/*.tsx'],
  access: ['pages/{access,explorer,requests}/*.tsx'],
  activity: ['pages/activity/*.tsx'],
  usage: ['pages/cluster/sections/usage-history/cluster-usage.tsx'],
  cluster: ['pages/cluster/{events/event-list,kinds,list/list,yaml/new}.tsx'],
  object: ['pages/cluster/{object/object,sections/**/*}.tsx', 'pages/proposals/*.tsx'],
} as const;

type Pack = keyof typeof entries;

/** Packs of modules that lead to pages, or to parts with the texts of another pack. */
const endsAtOthers: readonly Pack[] = ['first', 'overlays', 'overview'];
/** Packs whose modules load parts with another pack later: the page of an object, and the timeline of a user. */
const endsAtLater: readonly Pack[] = ['cluster', 'people'];
type Words = Readonly<Record<string, string>>;

const names = Object.keys(entries) as Pack[];
const moduleId = 'virtual:texts';
const resolved = `\0${moduleId}`;
const plural = /_(?:zero|one|two|few|many|other)$/;

/** @param source the folder `src` of the console */
export function textPacks(source: string): Plugin {
  const folder = join(source, 'text');
  const languages = globSync('*.json', { cwd: folder })
    .map((file) => file.replace('.json', ''))
    .sort();
  let keys = new Map<Pack, Set<string>>();
  const wordsOf = (language: string) => JSON.parse(readFileSync(join(folder, `${language}.json`), 'utf8')) as Words;
  return {
    name: 'texts by page',
    buildStart() {
      // English has each key; Chinese lacks plurals.
      keys = keysByPack(source, Object.keys(wordsOf('en')));
    },
    resolveId: (id) => (id.startsWith(moduleId) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(resolved)) return undefined;
      for (const language of languages) this.addWatchFile(join(folder, `${language}.json`));
      const [, language, pack] = id.split('/');
      if (language === undefined || pack === undefined) return index(languages);
      const words = Object.entries(wordsOf(language)).filter(([key]) => keys.get(pack as Pack)?.has(key));
      return `export default ${JSON.stringify(Object.fromEntries(words))};`;
    },
  };
}

const index = (languages: readonly string[]): string => `
import * as english from '${moduleId}/en/first';
export const first = english.default;
export const packs = {${languages.map(
  (language) => `${language}: {${names.map((name) => `${name}: () => ${loadOf(language, name)}`)}}`,
)}};`;

const loadOf = (language: string, pack: Pack): string =>
  language === 'en' && pack === 'first' ? 'Promise.resolve(english)' : `import('${moduleId}/${language}/${pack}')`;

function keysByPack(source: string, keys: readonly string[]): Map<Pack, Set<string>> {
  const files = new Map(names.map((name) => [name, globSync([...entries[name]], { cwd: source }).map((file) => join(source, file))]));
  const begins = new Map([...files].flatMap(([name, list]) => list.map((file) => [file, name] as const)));
  const found = new Map(
    names.map((name) => [
      name,
      keysOf(
        modulesOf(
          files.get(name) ?? [],
          (file, isLater) =>
            (begins.get(file) ?? name) === name || !(endsAtOthers.includes(name) || (isLater && endsAtLater.includes(name))),
        ),
        keys,
      ),
    ]),
  );
  const first = found.get('first') ?? new Set();
  const named = new Set([...found.values()].flatMap((set) => [...set]));
  // The first page has a text that no module names in full.
  for (const key of keys) if (!named.has(key)) first.add(key);
  for (const [name, set] of found) if (name !== 'first') for (const key of first) set.delete(key);
  return found;
}

function modulesOf(begin: readonly string[], isWithin: (file: string, isLater: boolean) => boolean): Set<string> {
  const modules = new Set<string>();
  const add = (file: string, isLater = false): void => {
    if (modules.has(file) || !isWithin(file, isLater)) return;
    modules.add(file);
    for (const [, later, path = ''] of codeOf(file).matchAll(/\b(?:from|import)\s*(\(?)\s*'(\.{1,2}\/[^']+)'/g)) {
      const [next] = globSync(`${join(dirname(file), path).replace(/\.tsx?$/, '')}{.ts,.tsx}`);
      if (next !== undefined) add(next, later === '(');
    }
  };
  for (const file of begin) add(file);
  return modules;
}

const codeOf = (file: string): string => readFileSync(file, 'utf8').replaceAll(/^import type [^;]*;/gm, '');

/** Finds the keys that modules write out, and those that begin as a template or the first argument of `tOf` does. */
function keysOf(modules: ReadonlySet<string>, keys: readonly string[]): Set<string> {
  const code = [...modules].map(codeOf).join('\n');
  const whole = new Set([...code.matchAll(/['"`]([\w.]+)['"`]/g)].map(([, text]) => text));
  const beginnings = [
    ...[...code.matchAll(/`((?:\w+\.)+\w*)\$\{/g)].map(([, text = '']) => text),
    ...[...code.matchAll(/\btOf\('([\w.]+)'/g)].map(([, text]) => `${text}.`),
  ];
  return new Set(
    keys.filter((key) => whole.has(key) || whole.has(key.replace(plural, '')) || beginnings.some((beginning) => key.startsWith(beginning))),
  );
}
