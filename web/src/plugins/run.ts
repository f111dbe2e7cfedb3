/** Runs the enabled plugins side by side, and each contribution in its place. Loaded if a plugin is enabled. */
import { effect } from '@preact/signals';
import type { Plugin } from '../../template/atrium-console';
import { fetchKinds } from '../api/kinds';
import { asProblem } from '../api/problem';
import { contributions, type PluginState, pluginStates, removePlugin, setPluginState } from '../app/extensions';
import { addTexts, language, loadTexts, t } from '../text/text';
import { contextOf } from './context';
import { unseen } from './contributions';
import { displayNameOf } from './manifest';
import { importChecked, type Listed, Refused, type Source, sourceOf, textAt } from './source';
import { dropStyles, keepStyles } from './styles';

const contract = 1;
const activateSeconds = 10;

interface Running {
  source: Source;
  plugin: Plugin | undefined;
}

type Files = Parameters<typeof sourceOf>[1];

const running = new Map<string, Running>();

export async function runPlugins(plugins: readonly Listed[], files: Files, stop: AbortSignal): Promise<void> {
  stop.addEventListener('abort', endAll);
  await loadTexts('plugins');
  await Promise.all(plugins.map((listed) => start(listed, files, stop)));
}

function endAll(): void {
  for (const [name, { plugin }] of running) {
    try {
      plugin?.deactivate?.();
    } catch (error) {
      console.warn(`${name}: deactivate failed`, error);
    }
    removePlugin(name);
    dropStyles(name);
  }
  running.clear();
}

/** Returns whether the plugins of the list are others than those that run, or in other versions. */
export async function areOthers(plugins: readonly Listed[], files: Files, stop: AbortSignal): Promise<boolean> {
  const sources = await Promise.all(plugins.map(async (listed) => [listed.name, (await sourceOf(listed, files, stop)).version] as const));
  const now = new Map(sources);
  return [...new Set([...running.keys(), ...now.keys()])].some((name) => running.get(name)?.source.version !== now.get(name));
}

async function start(listed: Listed, files: Files, stop: AbortSignal): Promise<void> {
  const { name } = listed;
  let state: PluginState = { name, displayName: listed.displayName, state: 'loading' };
  try {
    const source = await sourceOf(listed, files, stop);
    const { manifest } = source;
    running.set(name, { source, plugin: undefined });
    const { entry, styles } = manifest;
    state = { ...state, displayName: displayNameOf(manifest, listed.displayName), version: manifest.version };
    if (manifest.contract !== contract) throw new Refused(t('plugins.needsContract', { contract: String(manifest.contract ?? '–') }));
    if (entry !== undefined) {
      state.digest = source.digestOf(entry);
      const texts = await Promise.all(styles.map((file) => textAt(source.addressOf(file), source.digestOf(file), stop)));
      keepStyles(name, texts);
      await keepTexts(name, source, stop);
      const plugin = pluginOf(await importChecked(source, entry, stop));
      running.set(name, { source, plugin });
      await within(activateSeconds, plugin.activate(contextOf(name, stop)));
    }
    setPluginState({ ...state, state: entry === undefined ? 'empty' : 'running' });
    await reportUnseen(name);
  } catch (error) {
    if (stop.aborted) return;
    removePlugin(name);
    setPluginState({ ...state, state: error instanceof Refused ? 'refused' : 'failed', problem: asProblem(error).message });
  }
}

/** Reports contributions that no page can show, beside the state of the plugin, which runs on. */
async function reportUnseen(name: string): Promise<void> {
  const kinds = await fetchKinds().catch(() => undefined);
  const state = pluginStates.value?.get(name);
  const unseenParts = kinds && state ? unseen(name, contributions(), kinds) : [];
  if (state === undefined || unseenParts.length === 0) return;
  console.warn(`${name}: parts of the plugin are never shown`, unseenParts);
  setPluginState({ ...state, problem: t('plugins.unseen', { parts: unseenParts.join('; ') }) });
}

function pluginOf(module: unknown): Plugin {
  const { plugin } = module as { plugin?: Plugin };
  if (typeof plugin?.activate !== 'function') throw new Error('the entry exports no plugin with activate');
  return plugin;
}

async function within(seconds: number, doing: void | Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`activate did not end within ${seconds} seconds`)), seconds * 1000);
  });
  try {
    await Promise.race([doing, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps texts in the current language, and in each that is chosen later. English is the fallback for missing texts. */
async function keepTexts(name: string, source: Source, stop: AbortSignal): Promise<void> {
  const { locales } = source.manifest;
  const known = new Set<string>();
  const keep = async (tag: string): Promise<void> => {
    if (!locales.includes(tag) || known.has(tag)) return;
    known.add(tag);
    const file = `locales/${tag}.json`;
    addTexts(`plugin ${name}`, tag, JSON.parse(await textAt(source.addressOf(file), source.digestOf(file), stop)));
  };
  await Promise.all([keep('en'), keep(language.value)]);
  const end = effect(() => {
    keep(language.value).catch((error: unknown) => console.warn(`${name}: no texts`, error));
  });
  stop.addEventListener('abort', end);
}
