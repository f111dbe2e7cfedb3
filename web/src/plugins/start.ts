/**
 * Starts the enabled plugins. A failure of a plugin is shown in its place, and stops no other plugin. A plugin runs with the user's
 * session, like the console; only its digest protects the user. Plugins therefore run only if a ConsolePlugin names them, which requires a
 * cluster-wide permission.
 */
import { api, bodyOf } from '../api/client';
import { untilDone } from '../api/outage';
import { asProblem } from '../api/problem';
import { isWithoutPlugins, type PluginState, pluginStates } from '../app/extensions';
import { t } from '../text/text';
import { toast } from '../ui/toast';

const checkEveryMs = 60_000;

/** @returns a function that stops all plugins, for logout */
export function startPlugins(): () => void {
  const stop = new AbortController();
  if (isWithoutPlugins) pluginStates.value = new Map();
  else void startAll(stop.signal);
  return () => {
    stop.abort();
    pluginStates.value = undefined;
  };
}

const list = (signal: AbortSignal) => bodyOf(api.GET('/api/v1/console-plugins', { signal }));

async function startAll(stop: AbortSignal): Promise<void> {
  try {
    const { plugins, items } = await untilDone(() => list(stop));
    const first = plugins.map(({ name, displayName }): PluginState => ({ name, displayName, state: 'loading' }));
    pluginStates.value = new Map(first.map((state) => [state.name, state]));
    if (plugins.length > 0) await (await untilDone(() => import('./run'))).runPlugins(plugins, items, stop);
  } catch (error) {
    // The console works without plugins: its page of plugins shows the problem.
    pluginStates.value ??= new Map();
    if (!stop.aborted) console.warn('plugins are not listed', asProblem(error).message);
  }
  if (!stop.aborted) lookForNews(stop);
}

/** Announces new versions when the user returns to the page. Running plugins are never replaced. */
function lookForNews(stop: AbortSignal): void {
  let [last, isTold] = [Date.now(), false];
  const look = async (): Promise<void> => {
    if (isTold || Date.now() - last < checkEveryMs) return;
    last = Date.now();
    const { plugins, items } = await list(stop);
    isTold = await (await import('./run')).areOthers(plugins, items, stop);
    if (isTold) toast('ok', t('plugins.news'), { label: t('plugins.reload'), act: () => location.reload(), stays: true });
  };
  addEventListener('focus', () => void look().catch(() => undefined), { signal: stop });
}
