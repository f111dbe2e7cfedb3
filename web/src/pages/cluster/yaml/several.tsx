import { useSignal } from '@preact/signals';
import { Check, CircleDashed, Equal, Minus, TriangleAlert } from 'lucide';
import type { Kind } from '../../../api/kinds';
import { pageOf } from '../../../api/kinds';
import { href, setGuard } from '../../../app/router';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { CheckField } from '../../../ui/form';
import { Icon } from '../../../ui/icon';
import { ProblemNotice } from '../../../ui/state';
import { useUnmountSignal } from '../../../ui/unmount-signal';
import { AsKubectl } from '../as-kubectl';
import { kubectl } from '../kubectl';
import { type Outcome, runSteps, type Step } from './apply';

interface SeveralProps {
  /** After the dry run. */
  steps: readonly Step[];
  onEdit: () => void;
  onLeave: () => void;
}

/** Several objects: the answer of the dry run, then a result for each that is applied. */
export function Several({ steps, onEdit, onLeave }: SeveralProps) {
  const shown = useSignal<readonly Step[]>(steps);
  const [isBusy, isOver, isContinued] = [useSignal(false), useSignal(false), useSignal(false)];
  const signal = useUnmountSignal();
  const failed = shown.value.filter(({ outcome }) => outcome === 'failed').length;
  async function apply(): Promise<void> {
    if (isBusy.value) return;
    isBusy.value = true;
    shown.value = steps.map((step) => ({ ...step, outcome: 'waits' }));
    shown.value = await runSteps(shown.value, {
      ...{ isDryRun: false, signal },
      isContinued: isContinued.value,
      onStep(next) {
        shown.value = next;
      },
    });
    // The guard is that of another page by now.
    if (signal.aborted) return;
    isBusy.value = false;
    isOver.value = true;
    setGuard(undefined);
  }
  const isStarted = isBusy.value || isOver.value;
  return (
    <>
      <p class="muted" role="status">
        {isOver.value ? sumOf(shown.value) : t(isStarted ? 'cluster.applying' : failed > 0 ? 'cluster.tryFailed' : 'cluster.willApply')}
      </p>
      <Results steps={shown.value} isDone={isStarted} />
      {!isStarted && (
        <CheckField
          label={t('cluster.continueAtFailure')}
          isChecked={isContinued.value}
          onChange={(is) => {
            isContinued.value = is;
          }}
        />
      )}
      <div class="buttons">
        {!isOver.value && (
          <Button kind="main" isBusy={isBusy.value} isDisabled={failed > 0 && !isStarted} onClick={() => void apply()}>
            {t('cluster.applyAll', { count: steps.length })}
          </Button>
        )}
        {!isBusy.value && <Button onClick={onEdit}>{t('cluster.editOn')}</Button>}
        {isOver.value && (
          <Button kind="quiet" onClick={onLeave}>
            {t('action.done')}
          </Button>
        )}
        <AsKubectl command={kubectl('apply', '-f', 'FILE')} />
      </div>
    </>
  );
}

const sumOf = (steps: readonly Step[]): string => {
  const countOf = (...outcomes: readonly Outcome[]) => steps.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return t('cluster.applied', { done: countOf('created', 'changed', 'unchanged'), failed: countOf('failed'), skipped: countOf('skipped') });
};

const icons = { waits: CircleDashed, created: Check, changed: Check, unchanged: Equal, failed: TriangleAlert, skipped: Minus };

/** @param isDone the outcomes are those of the cluster, and not of a dry run: only these have a tick */
function Results({ steps, isDone }: { steps: readonly Step[]; isDone: boolean }) {
  return (
    <ol class="apply-results">
      {steps.map((step, index) => (
        <li key={index}>
          <span class={`apply-outcome ${isDone || step.outcome === 'failed' ? step.outcome : ''}`}>
            <Icon of={isDone || step.outcome === 'failed' ? icons[step.outcome] : CircleDashed} />
            {t(isDone || step.outcome === 'failed' ? `cluster.outcome.${step.outcome}` : `cluster.planned.${plannedOf(step)}`)}
          </span>
          <ObjectName step={step} isThere={isDone && !['failed', 'skipped', 'waits'].includes(step.outcome)} />
          {step.problem && <ProblemNotice of={step.problem} />}
        </li>
      ))}
    </ol>
  );
}

const plannedOf = ({ outcome }: Step) => (outcome === 'created' || outcome === 'unchanged' ? outcome : 'changed');

function ObjectName({ step: { kind, object, path }, isThere }: { step: Step; isThere: boolean }) {
  const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
  const text = `${kind.kind} ${object.metadata.name}`;
  const place: { namespace?: string | undefined; name: string } = { namespace, name: object.metadata.name };
  return (
    <span>
      {isThere ? <a href={href(pageOf(kind as Kind, place))}>{text}</a> : <strong>{text}</strong>}
      {namespace && <span class="muted"> · {namespace}</span>}
    </span>
  );
}
