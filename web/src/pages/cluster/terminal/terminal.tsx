import { useSignal } from '@preact/signals';
import { Bug, CircleStop, RotateCw, SquareTerminal } from 'lucide';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { apiPath, type Kind } from '../../../api/kinds';
import { refetch } from '../../../api/load';
import type { ClusterObject } from '../../../api/objects';
import { usePoll } from '../../../api/poll';
import { AskBeside } from '../../../app/ask';
import { Guarded } from '../../../app/guarded';
import { may, type Right, useRights } from '../../../app/rights';
import { query, setQuery } from '../../../app/router';
import { askWhy } from '../../../app/why';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Notice } from '../../../ui/state';
import { AsKubectl } from '../as-kubectl';
import { ContainerChoice, chosenContainer, containerState } from '../containers';
import { attachCommand, execCommand } from '../kubectl';
import { isTerminal } from './debug-container';
import { DebugDialog, debugRights } from './debug-dialog';
import { type TerminalState, useTerminal } from './use-terminal';

const shells = ['sh', 'bash', 'ash', 'zsh'];

interface TerminalProps {
  kind: Kind;
  pod: ClusterObject;
}

/** A shell in a container of a pod, or the terminal of an ephemeral container. */
export function TerminalTab({ kind, pod }: TerminalProps) {
  const { name, namespace } = pod.metadata;
  const container = chosenContainer(pod)?.name ?? '';
  const isAttached = isTerminal(pod, container);
  const subresource = isAttached ? 'attach' : 'exec';
  const right: Right = { verb: 'create', group: '', resource: 'pods', subresource, name, ...(namespace && { namespace }) };
  useRights([right, ...debugRights(pod.metadata)]);
  return (
    <Guarded right={right}>
      <Terminal key={container} {...{ kind, pod, container, isAttached }} />
    </Guarded>
  );
}

interface ContainerProps extends TerminalProps {
  container: string;
  isAttached: boolean;
}

function Terminal({ kind, pod, container, isAttached }: ContainerProps) {
  const { name, namespace } = pod.metadata;
  const shell = query.value.get('shell') ?? 'sh';
  const { place, button, state, ending, open, close } = useTerminal({
    ...{ container, ...(!isAttached && { command: shell }) },
    podPath: apiPath(kind, { name, namespace }),
    path: apiPath(kind, { name, namespace, subresource: isAttached ? 'attach' : 'exec' }),
  });
  const label = isAttached ? t('debug.attach', { container }) : t('cluster.openShell', { shell, container });
  return (
    <>
      <div class="filters">
        <ContainerChoice pod={pod} />
        {!isAttached && <ShellChoice shell={shell} />}
        <OpenButton {...{ button, label, state }} onOpen={open} onClose={close} />
        <Debug kind={kind} pod={pod} />
        <p class="muted shell-hint">{t('cluster.leaveHint')}</p>
      </div>
      {isAttached && state === 'none' && <Beginning pod={pod} container={container} onRunning={open} />}
      {isAttached && state === 'open' && <p class="muted">{t('debug.prompt')}</p>}
      <div ref={place} class="terminal-host" />
      <p class="muted" role="status">
        {ending}
      </p>
      <AsKubectl command={isAttached ? attachCommand(pod.metadata, container) : execCommand(pod.metadata, container, shell)} />
    </>
  );
}

const ShellChoice = ({ shell }: { shell: string }) => (
  <label>
    <span class="hidden">{t('cluster.shell')}</span>
    <select value={shell} onChange={({ currentTarget }) => setQuery({ shell: currentTarget.value })}>
      {shells.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  </label>
);

interface OpenProps {
  button: RefObject<HTMLDivElement | null>;
  label: string;
  state: TerminalState;
  onOpen: () => void;
  onClose: () => void;
}

const OpenButton = ({ button, label, state, onOpen, onClose }: OpenProps) => (
  <div ref={button}>
    {state === 'open' ? (
      <Button icon={CircleStop} onClick={onClose}>
        {t('cluster.endShell')}
      </Button>
    ) : (
      <Button kind="main" icon={state === 'over' ? RotateCw : SquareTerminal} isBusy={state === 'opening'} onClick={onOpen}>
        {state === 'over' ? t('cluster.again') : label}
      </Button>
    )}
  </div>
);

function Debug({ kind, pod }: TerminalProps) {
  const isOpen = useSignal(false);
  if (!kind.subresources.includes('ephemeralcontainers')) return null;
  const missing = debugRights(pod.metadata).find((right) => may(right) === false);
  return (
    <>
      <AskBeside right={missing}>
        <Button
          icon={Bug}
          isRefused={missing !== undefined}
          onClick={() => {
            if (missing) askWhy(missing);
            else isOpen.value = true;
          }}
        >
          {t('debug.debug')}
        </Button>
      </AskBeside>
      {isOpen.value && (
        <DebugDialog
          {...{ kind, pod }}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

const readAgainMs = 2000;
/** Callers who may not watch the pod see its changes, too. */
const readAgain = { reload: () => refetch('object/') };

interface BeginningProps {
  pod: ClusterObject;
  container: string;
  onRunning: () => void;
}

/** Waits until an ephemeral container runs, and says what keeps it from running. */
function Beginning({ pod, container, onRunning }: BeginningProps) {
  const { phase, reason } = containerState(pod, container);
  usePoll(readAgain, readAgainMs);
  useEffect(() => {
    if (phase === 'running') onRunning();
  }, [phase]);
  if (phase === 'running') return null;
  if (phase === 'ended') return <Notice kind="info">{t('debug.ended', { container })}</Notice>;
  const isTrouble = reason !== undefined && !/^(?:ContainerCreating|PodInitializing)\b/.test(reason);
  return <Notice kind={isTrouble ? 'bad' : 'info'}>{t('cluster.waits', { container, reason: reason ?? 'ContainerCreating' })}</Notice>;
}
