import { useSignal } from '@preact/signals';
import { CircleStop, RotateCw, SquareTerminal } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import { call } from '../../api/client';
import { apiPath, type Kind } from '../../api/kinds';
import { type ClusterObject, getJson } from '../../api/objects';
import { asProblem } from '../../api/problem';
import { Guarded } from '../../app/guarded';
import { type Right, useRights } from '../../app/rights';
import { query, setQuery } from '../../app/router';
import type { TerminalView } from '../../editors/terminal';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { AsKubectl } from './as-kubectl';
import { ContainerChoice, chosenContainer, waitingReason } from './containers';
import { type Exec, openExec } from './exec';
import { execCommand } from './kubectl';

const shells = ['sh', 'bash', 'ash', 'zsh'];

interface TerminalProps {
  kind: Kind;
  pod: ClusterObject;
}

/** A shell in a container of a pod. */
export function TerminalTab({ kind, pod }: TerminalProps) {
  const { name, namespace } = pod.metadata;
  const right: Right = { verb: 'create', group: '', resource: 'pods', subresource: 'exec', name, ...(namespace && { namespace }) };
  useRights([right]);
  return (
    <Guarded right={right}>
      <Shell kind={kind} pod={pod} />
    </Guarded>
  );
}

/**
 * Explains a refused command. A request without an upgrade runs nothing; the API server checks the pod before it asks for the upgrade.
 * The kubelet's reason for a container that waits is in the pod.
 */
async function refusalOf(podPath: string, container: string, execPath: string): Promise<string | undefined> {
  try {
    const reason = waitingReason(await getJson<ClusterObject>(podPath), container);
    if (reason !== undefined) return t('cluster.waits', { container, reason });
    await call(execPath);
    return undefined;
  } catch (error) {
    const { message } = asProblem(error);
    return /upgrade request required/i.test(message) ? undefined : message;
  }
}

type State = 'none' | 'opening' | 'open' | 'over';

function Shell({ kind, pod }: TerminalProps) {
  const { name, namespace } = pod.metadata;
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLDivElement>(null);
  const [state, ending] = [useSignal<State>('none'), useSignal('')];
  const running = useRef<{ exec: Exec; view: TerminalView }>(undefined);
  const shell = query.value.get('shell') ?? 'sh';
  const container = chosenContainer(pod)?.name ?? '';
  const execPath = apiPath(kind, { name, namespace, subresource: 'exec' });
  const leave = () => button.current?.querySelector('button')?.focus();
  const stop = () => {
    running.current?.exec.close();
    running.current?.view.stop();
    running.current = undefined;
  };
  useEffect(() => stop, []);

  async function open(): Promise<void> {
    const host = place.current;
    if (host === null || state.value === 'opening') return;
    stop();
    state.value = 'opening';
    ending.value = '';
    try {
      const { startTerminal } = await import('../../editors/terminal');
      const view = startTerminal(host, {
        onInput: (text) => running.current?.exec.send(text),
        onResize: (size) => running.current?.exec.resize(size),
        onLeave: leave,
      });
      const exec: Exec = openExec({
        path: execPath,
        container,
        command: shell,
        onOpen() {
          state.value = 'open';
          exec.resize(view.size);
          view.focus();
        },
        onOutput: (data) => view.write(data),
        onRefused: () =>
          refusalOf(
            apiPath(kind, { name, namespace }),
            container,
            `${execPath}?${new URLSearchParams({ container, command: shell, stdout: 'true' })}`,
          ),
        onEnd(text) {
          state.value = 'over';
          ending.value = text;
        },
      });
      running.current = { exec, view };
    } catch (error) {
      state.value = 'over';
      ending.value = asProblem(error).message;
    }
  }

  return (
    <>
      <div class="filters">
        <ContainerChoice pod={pod} />
        <label>
          <span class="hidden">{t('cluster.shell')}</span>
          <select value={shell} onChange={({ currentTarget }) => setQuery({ shell: currentTarget.value })}>
            {shells.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <div ref={button}>
          {state.value === 'open' ? (
            <Button icon={CircleStop} onClick={() => running.current?.exec.close()}>
              {t('cluster.endShell')}
            </Button>
          ) : (
            <Button
              kind="main"
              icon={state.value === 'over' ? RotateCw : SquareTerminal}
              isBusy={state.value === 'opening'}
              onClick={() => void open()}
            >
              {state.value === 'over' ? t('cluster.again') : t('cluster.openShell', { shell, container })}
            </Button>
          )}
        </div>
        <p class="muted shell-hint">{t('cluster.leaveHint')}</p>
      </div>
      <div ref={place} class="terminal-host" />
      <p class="muted" role="status">
        {ending.value}
      </p>
      <AsKubectl command={execCommand(pod.metadata, container, shell)} />
    </>
  );
}
