import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../../../api/client';
import { type ClusterObject, getJson } from '../../../api/objects';
import { asProblem } from '../../../api/problem';
import type { TerminalView } from '../../../editors/terminal';
import { t } from '../../../text/text';
import { useUnmountSignal } from '../../../ui/unmount-signal';
import { containerState } from '../containers';
import { type Exec, openExec } from './exec';

export type TerminalState = 'none' | 'opening' | 'open' | 'over';

interface TerminalOptions {
  container: string;
  /** Unset: the terminal of the container's own process. */
  command?: string;
  podPath: string;
  /** The path of exec or attach. */
  path: string;
}

/**
 * Explains a refused command. A request without an upgrade runs nothing; the API server checks the pod before it asks for the upgrade.
 * The kubelet's reason for a container that waits is in the pod.
 */
async function refusalOf({ container, command, podPath, path }: TerminalOptions): Promise<string | undefined> {
  try {
    const { reason } = containerState(await getJson<ClusterObject>(podPath), container);
    if (reason !== undefined) return t('cluster.waits', { container, reason });
    await call(`${path}?${new URLSearchParams({ container, stdout: 'true', ...(command && { command }) })}`);
    return undefined;
  } catch (error) {
    const { message } = asProblem(error);
    return /upgrade request required/i.test(message) ? undefined : message;
  }
}

interface OpenTerminal {
  place: RefObject<HTMLDivElement | null>;
  button: RefObject<HTMLDivElement | null>;
  state: TerminalState;
  ending: string;
  open(): void;
  close(): void;
}

/** Holds a terminal and its connection; both end with the component. */
export function useTerminal(options: TerminalOptions): OpenTerminal {
  const [place, button] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const [state, ending] = [useSignal<TerminalState>('none'), useSignal('')];
  const signal = useUnmountSignal();
  const running = useRef<{ exec: Exec; view: TerminalView }>(undefined);
  const stop = () => {
    running.current?.exec.close();
    running.current?.view.stop();
    running.current = undefined;
  };
  useEffect(() => stop, []);
  const end = (how: string) => {
    state.value = 'over';
    ending.value = how;
  };
  async function open(): Promise<void> {
    const host = place.current;
    if (host === null || state.value === 'opening') return;
    stop();
    state.value = 'opening';
    ending.value = '';
    try {
      const { startTerminal } = await import('../../../editors/terminal');
      if (signal.aborted) return;
      const view = startTerminal(host, {
        onInput: (data) => running.current?.exec.send(data),
        onResize: (size) => running.current?.exec.resize(size),
        onLeave: () => button.current?.querySelector('button')?.focus(),
      });
      const exec: Exec = openExec({
        ...options,
        onOpen() {
          state.value = 'open';
          exec.resize(view.size);
          view.focus();
        },
        onOutput: (data) => view.write(data),
        onRefused: () => refusalOf(options),
        onEnd: end,
      });
      running.current = { exec, view };
    } catch (error) {
      end(asProblem(error).message);
    }
  }
  return { place, button, state: state.value, ending: ending.value, open: () => void open(), close: () => running.current?.exec.close() };
}
