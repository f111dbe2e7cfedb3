/** Dialog for an operation that requires a fresher login: the request waits for it, and the page stays as it is. */
import { signal } from '@preact/signals';
import { LogIn } from 'lucide';
import { setStepUp } from '../api/client';
import type { StepUp } from '../api/problem';
import { logInAgain, problemAside, takeUndone } from '../app/session';
import { onTabMessage } from '../app/tabs';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
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

export function StepUpAsked() {
  const stepUp = wanted.value;
  if (stepUp === undefined) return null;
  const minutes = Math.ceil(Number(stepUp.max_age ?? 0) / 60);
  return (
    <Dialog title={t('stepUp.title')} onClose={() => settle(false)}>
      <p>{minutes > 0 ? t('stepUp.recent', { count: minutes }) : t('stepUp.stronger')}</p>
      <p class="muted">{t('stepUp.then')}</p>
      <div class="buttons">
        <Button kind="main" icon={LogIn} onClick={() => void logInAgain(stepUp)}>
          {t('ended.logIn')}
        </Button>
        <Button kind="quiet" onClick={() => settle(false)}>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}
