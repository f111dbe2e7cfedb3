/** Operations that require a fresher login: the request waits for it, and the page stays as it is. */
import { signal } from '@preact/signals';
import { setStepUp } from '../api/client';
import { useLoad } from '../api/load';
import type { StepUp } from '../api/problem';
import { problemAside, takeUndone } from '../app/session';
import { onTabMessage } from '../app/tabs';
import { loadTexts, t } from '../text/text';
import { toast } from '../ui/toast';

const wanted = signal<StepUp>();
let waiting: ((isThere: boolean) => void)[] = [];

function settle(isThere: boolean): void {
  for (const answer of waiting) answer(isThere);
  waiting = [];
  wanted.value = undefined;
}

/** Starts after the session, and then reports an action that was interrupted for a login in this tab. */
export function startStepUp(): void {
  setStepUp((stepUp) => {
    wanted.value = stepUp;
    return new Promise((resolve) => waiting.push(resolve));
  });
  onTabMessage(({ kind }) => {
    if (wanted.value !== undefined) settle(kind === 'login');
  });
  if (takeUndone()) toast('bad', t('stepUp.undone'));
  const problem = problemAside.value;
  if (problem !== undefined) toast('bad', problem === 'cancelled' ? t('start.cancelled') : `${t('start.failed')} ${problem.message}`);
}

/** Asks for the login in a dialog, whose code is loaded once it is needed. */
export function StepUpAsked() {
  const stepUp = wanted.value;
  const load = useLoad(stepUp && 'step-up', async () => (await Promise.all([import('./step-up-dialog'), loadTexts('overlays')]))[0]);
  const Part = load.data.value?.StepUpDialog;
  return stepUp && Part && <Part stepUp={stepUp} onClose={() => settle(false)} />;
}
