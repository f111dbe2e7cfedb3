/** Runs the enabled plugins side by side, and each contribution in its place. Loaded if a plugin is enabled. */
import { effect } from '@preact/signals';
import type { Plugin } from '../../template/atrium-console';
import { fetchKinds } from '../api/kinds';
import { untilDone } from '../api/outage';
import { asProblem } from '../api/problem';
import { contributions, pluginStates, removePlugin, setPluginState } from '../app/extensions';
import { addTexts, language, loadTexts, t } from '../text/text';
import { contextOf } from './context';
import { unseen } from './contributions';
import { displayNameOf, readObject, textsByName } from './manifest';
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
  await untilDone(() => loadTexts('plugins'));
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

/** Starts a plugin, again after each outage. */
async function start(listed: Listed, files: Files, stop: AbortSignal): Promise<void> {
  const { name, displayName } = listed;
  const fail = (state: 'refused' | 'failed', error: unknown) => {
    setPluginState({ ...(pluginStates.value?.get(name) ?? { name, displayName }), state, problem: asProblem(error).message });
  };
  try {
    await untilDone(
      () => startOnce(listed, files, stop),
      (problem) => {
        if (!stop.aborted) fail('failed', problem);
      },
    );
    await reportUnseen(name);
  } catch (error) {
    if (!stop.aborted) fail(error instanceof Refused ? 'refused' : 'failed', error);
  }
}

async function startOnce(listed: Listed, files: Files, stop: AbortSignal): Promise<void> {
  const { name } = listed;
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  try {
    const source = await sourceOf(listed, files, signal);
    const { manifest } = source;
    running.set(name, { source, plugin: undefined });
    const { entry, styles, version } = manifest;
    const state = { name, displayName: displayNameOf(manifest, listed.displayName), version };
    setPluginState({ ...state, state: 'loading' });
    if (manifest.contract !== contract) throw new Refused(t('plugins.needsContract', { contract: String(manifest.contract ?? '–') }));
    if (entry === undefined) return setPluginState({ ...state, state: 'empty' });
    const digest = source.digestOf(entry);
    setPluginState({ ...state, digest, state: 'loading' });
    const texts = await Promise.all(styles.map((file) => textAt(source.addressOf(file), source.digestOf(file), signal)));
    keepStyles(name, texts);
    await keepTexts(name, source, signal);
    const plugin = pluginOf(await importChecked(source, entry, signal));
    running.set(name, { source, plugin });
    await within(activateSeconds, plugin.activate(contextOf(name, signal)));
    setPluginState({ ...state, digest, state: 'running' });
  } catch (error) {
    ended.abort();
    removePlugin(name);
    throw error;
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
    addTexts(`plugin ${name}`, tag, textsByName(readObject(await textAt(source.addressOf(file), source.digestOf(file), stop), file)));
  };
  await Promise.all([keep('en'), keep(language.value)]);
  const end = effect(() => {
    keep(language.value).catch((error: unknown) => console.warn(`${name}: no texts`, error));
  });
  stop.addEventListener('abort', end);
}
