import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Context, Right as PluginRight, Readable } from '../../template/atrium-console';
import { call, ownPath, sendRaw } from '../api/client';
import { jsonOf, parseJson, stringifyJson } from '../api/json';
import { getList } from '../api/objects';
import { add, kindOf, pluginTabs, question } from '../app/extensions';
import { namespace } from '../app/namespace';
import { askRights, may, type Right } from '../app/rights';
import { navigate } from '../app/router';
import { theme } from '../app/theme';
import { count, language, t, tIn } from '../text/text';
import { toast } from '../ui/toast';
import { checkAction, checkMenu, checkPage, checkTab } from './contributions';

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const systemTheme = signal<'light' | 'dark'>(prefersDark.matches ? 'dark' : 'light');
prefersDark.addEventListener('change', ({ matches }) => {
  systemTheme.value = matches ? 'dark' : 'light';
});
const shownTheme = computed(() => (theme.value === 'system' ? systemTheme.value : theme.value));

const rightOf = ({ verb, group = '', resource, subresource, name, namespace: place }: PluginRight): Right => ({
  verb,
  group,
  resource,
  ...(subresource && { subresource }),
  ...(name && { name }),
  ...(place && { namespace: place }),
});

const readableUntil =
  (stop: AbortSignal) =>
  <T>(source: ReadonlySignal<T>): Readable<T> => ({
    get value() {
      return source.peek();
    },
    subscribe: (listener) => {
      const end = effect(() => listener(source.value));
      stop.addEventListener('abort', end);
      return end;
    },
  });

/** Reads a list of Kubernetes to its end. @throws Error if it is longer than the console reads */
async function readItems<T>(path: string, signal = new AbortController().signal): Promise<T[]> {
  const [list = '', query] = ownPath(path).split('?');
  const { items, metadata } = await getList<T>(list, Object.fromEntries(new URLSearchParams(query)), signal);
  if (metadata.continue) throw new Error(t('plugins.tooMany', { count: count(items.length), path }));
  return [...items];
}

/** Returns the API that a plugin receives. Once `stop` is aborted, the plugin can add nothing more. */
export function contextOf(name: string, stop: AbortSignal): Context {
  const texts = `plugin ${name}`;
  const label = (key: string) => () => tIn(texts, key);
  const pageAt = (path: string) => `/x/${name}${path && `/${path}`}`;
  const readable = readableUntil(stop);
  const adds: typeof add = (kind, extension) => {
    if (!stop.aborted) add(kind, extension);
  };
  return {
    name,
    signal: stop,
    page(path, page) {
      checkPage(path, page);
      adds('pages', { plugin: name, label: label(page.title), path, mount: page.mount });
    },
    menu(entry) {
      checkMenu(entry);
      const { label: key, path, under, order = 1000, rights = [] } = entry;
      adds('entries', { plugin: name, label: label(key), to: pageAt(path), under, order, rights: rights.map(rightOf) });
    },
    tab(tab) {
      checkTab(tab);
      const { group, resource, label: key, mount } = tab;
      const earlier = pluginTabs(group, resource).filter(({ plugin }) => plugin === name).length;
      const id = `x-${name}${earlier > 0 ? `-${earlier + 1}` : ''}`;
      adds('tabs', { plugin: name, label: label(key), id, kind: kindOf(group, resource), mount });
    },
    action(action) {
      checkAction(action);
      const { group, resource, label: key, rights, run } = action;
      adds('actions', { plugin: name, label: label(key), kind: kindOf(group, resource), rights: rights.map(rightOf), run });
    },
    api: {
      fetch: (path, init) => sendRaw(path, init),
      proxy: (alias, path, init) => sendRaw(`/api/proxy/plugin/${name}/${encodeURIComponent(alias)}/${path.replace(/^\//, '')}`, init),
      parse: parseJson,
      stringify: stringifyJson,
      json: async <T>(path: string, init?: RequestInit) => (await jsonOf(await call(ownPath(path), init))) as T,
      items: readItems,
      async may(rights) {
        await askRights(rights.map(rightOf));
        return rights.map((right) => may(rightOf(right)) === true);
      },
    },
    components: async () => (await import('./components/components')).componentsOf(name),
    navigate: (path) => navigate(path),
    t: (key, values) => tIn(texts, key, values),
    notify: (kind, text) => toast(kind, text),
    confirm: ({ title, text, button }) =>
      new Promise((resolve) => {
        question.value = { title, text, button, answer: resolve };
      }),
    theme: readable(shownTheme),
    language: readable(language),
    namespace: readable(namespace),
  };
}
