import { useSignal } from '@preact/signals';
import { LogIn } from 'lucide';
import { asProblem } from '../api/problem';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Causes, Notice } from '../ui/state';
import { brandLogo, brandTitle } from './brand';
import { logIn, loginProblem, wasCancelled } from './session';

/** What a visitor sees who is not logged in. */
export function Start() {
  const isBusy = useSignal(false);
  const problem = loginProblem.value;
  async function begin(): Promise<void> {
    isBusy.value = true;
    loginProblem.value = undefined;
    wasCancelled.value = false;
    try {
      await logIn();
    } catch (error) {
      loginProblem.value = asProblem(error);
      isBusy.value = false;
    }
  }
  return (
    <main class="start">
      <img src={brandLogo()} alt="" width={56} height={56} />
      <h1>{brandTitle()}</h1>
      <p class="muted">{t('start.what')}</p>
      {wasCancelled.value && <Notice kind="info">{t('start.cancelled')}</Notice>}
      {problem && (
        <Notice>
          <strong>{t('start.failed')}</strong>{' '}
          {problem.reason === 'WrongAddress' ? t('start.wrongAddress', { address: problem.message }) : problem.message}
          <Causes of={problem} />
        </Notice>
      )}
      <Button kind="main" icon={LogIn} onClick={() => void begin()} isBusy={isBusy.value}>
        {t('start.logIn')}
      </Button>
    </main>
  );
}
