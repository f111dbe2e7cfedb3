/** Extensions that plugins have added to the console. The shell and the pages show them; `plugins/` loads them. */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { Mount, Ref } from '../../template/atrium-console';
import { may, type Right } from './rights';

interface Extension {
  plugin: string;
  /** Label in the current language. */
  label: () => string;
}

interface PluginPage extends Extension {
  path: string;
  mount: Mount;
}

export type MenuPlace = 'people' | 'access' | 'cluster' | 'plugins';

interface PluginEntry extends Extension {
  to: string;
  under: MenuPlace;
  order: number;
  rights: readonly Right[];
}

interface PluginTab extends Extension {
  /** Id in the address. */
  id: string;
  kind: string;
  mount: Mount;
}

export interface PluginAction extends Extension {
  kind: string;
  rights: readonly Right[];
  run(objects: Ref[]): Promise<void>;
}

export interface Added {
  pages: readonly PluginPage[];
  entries: readonly PluginEntry[];
  tabs: readonly PluginTab[];
  actions: readonly PluginAction[];
}

const none: Added = { pages: [], entries: [], tabs: [], actions: [] };

export interface PluginState {
  name: string;
  displayName: string;
  state: 'loading' | 'running' | 'empty' | 'refused' | 'failed' | 'off';
  version?: string;
  /** Digest of the entry: `sha256-…` */
  digest?: string;
  problem?: string;
}

/** States of the enabled plugins by name. Undefined until they are known, or if plugins are not started. */
export const pluginStates = signal<ReadonlyMap<string, PluginState>>();
/** True if the page was opened with `?plugins=off`. */
export const isWithoutPlugins = new URLSearchParams(location.search).get('plugins') === 'off';

const added = signal<Added>(none);

/** Returns the extensions of all plugins. */
export const contributions = (): Added => added.peek();

export function add<K extends keyof Added>(kind: K, extension: Added[K][number]): void {
  added.value = { ...added.value, [kind]: [...added.value[kind], extension] };
}

export function removePlugin(plugin: string): void {
  const { pages, entries, tabs, actions } = added.value;
  const isOther = (extension: Extension) => extension.plugin !== plugin;
  added.value = {
    pages: pages.filter(isOther),
    entries: entries.filter(isOther),
    tabs: tabs.filter(isOther),
    actions: actions.filter(isOther),
  };
}

export function setPluginState(state: PluginState): void {
  pluginStates.value = new Map(pluginStates.value).set(state.name, state);
}

/** All entries, also those that the user may not see: the shell checks their rights. */
export const pluginEntries: ReadonlySignal<readonly PluginEntry[]> = computed(() =>
  [...added.value.entries].sort((left, right) => left.order - right.order || (left.to < right.to ? -1 : 1)),
);

export const entriesUnder = (under: MenuPlace): readonly PluginEntry[] =>
  pluginEntries.value.filter((entry) => entry.under === under && entry.rights.every((right) => may(right) === true));

/** Returns the page of a plugin with the longest path that the address begins with. */
export const pluginPage = (plugin: string, path: string): PluginPage | undefined =>
  added.value.pages
    .filter((page) => page.plugin === plugin && (page.path === '' || path === page.path || path.startsWith(`${page.path}/`)))
    .sort((left, right) => right.path.length - left.path.length)[0];

export const kindOf = (group: string, resource: string): string => `${resource}.${group}`;

export const pluginTabs = (group: string, resource: string): readonly PluginTab[] =>
  added.value.tabs.filter(({ kind }) => kind === kindOf(group, resource));

export const pluginActions = (group: string, resource: string): readonly PluginAction[] =>
  added.value.actions.filter(({ kind }) => kind === kindOf(group, resource));

/** Returns the display name of a plugin. */
export const nameOf = (plugin: string): string => pluginStates.value?.get(plugin)?.displayName ?? plugin;

/** Question of a plugin, and the callback that receives the answer. */
export interface Question {
  title: string;
  text: string;
  button: string;
  answer: (isConfirmed: boolean) => void;
}

export const question = signal<Question>();
