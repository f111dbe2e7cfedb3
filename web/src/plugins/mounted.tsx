import { useSignal } from '@preact/signals';
import { CircleAlert, RefreshCw } from 'lucide';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Mount, Ref } from '../../template/atrium-console';
import { Retry } from '../api/outage';
import { asProblem } from '../api/problem';
import { nameOf } from '../app/extensions';
import { useRights } from '../app/rights';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { endParts } from './components/part';
import { stylesOf } from './styles';
import { SwitchOff, switchOffRight, WithoutPlugins } from './switch-off';

interface MountedProps {
  plugin: string;
  mount: Mount;
  path: string;
  of?: Ref;
}

/** Place in the page that a plugin fills. A failure of the plugin stays within it. */
export function Mounted({ plugin, mount, path, of: ref }: MountedProps) {
  const host = useRef<HTMLDivElement>(null);
  const problem = useSignal<string | undefined>(undefined);
  const attempt = useSignal(0);
  const again = () => {
    problem.value = undefined;
    attempt.value += 1;
  };
  const retry = useMemo(() => new Retry(again), []);
  useEffect(() => () => retry.stop(), []);
  const key = `${plugin} ${path} ${attempt.value} ${JSON.stringify(ref ?? null)}`;

  useEffect(() => {
    if (host.current === null) return;
    const leave = new AbortController();
    const root = host.current.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = stylesOf(plugin);
    const place = document.createElement('div');
    place.className = 'plugin-place';
    root.append(place);
    let clean: (() => void) | undefined;
    const fail = (error: unknown) => {
      if (leave.signal.aborted) return;
      const failed = asProblem(error);
      problem.value = failed.message;
      if (failed.isOutage) retry.plan(failed);
    };
    try {
      const result = mount(place, { path, signal: leave.signal, ...(ref && { ref }) });
      if (typeof result === 'function') clean = result;
      else Promise.resolve(result).catch(fail);
    } catch (error) {
      fail(error);
    }
    return () => {
      leave.abort();
      try {
        clean?.();
      } catch (error) {
        console.warn(`${plugin}: what it does at the end failed`, error);
      }
      endParts(place);
    };
  }, [key]);

  if (problem.value !== undefined) return <PluginFailure plugin={plugin} message={problem.value} onRetry={again} />;
  return <div key={key} ref={host} class="plugin" />;
}

interface PluginFailureProps {
  plugin: string;
  message: string;
  onRetry: () => void;
}

/** Replaces a plugin that failed, and offers to start it again or to go on without it. */
export function PluginFailure({ plugin, message, onRetry }: PluginFailureProps) {
  useRights([switchOffRight(plugin)]);
  return (
    <div class="state" role="alert">
      <Icon of={CircleAlert} size={24} />
      <p class="strong">{t('plugins.failedHere', { name: nameOf(plugin) })}</p>
      <p class="muted measure">{message}</p>
      <div class="buttons">
        <Button icon={RefreshCw} onClick={onRetry}>
          {t('state.retry')}
        </Button>
        <SwitchOff plugin={plugin} />
      </div>
      <p>
        <WithoutPlugins />
      </p>
    </div>
  );
}
