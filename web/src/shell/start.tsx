import { useSignal } from '@preact/signals';
import { LogIn } from 'lucide';
import { api, bodyOf, type Schemas } from '../api/client';
import { useLoad } from '../api/load';
import { asProblem } from '../api/problem';
import { brandTitle } from '../app/brand';
import { logIn, loginProblem, wasCancelled } from '../app/session';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Causes, Notice } from '../ui/state';
import { Away } from './away';
import { Logo } from './logo';

/** Start page of visitors without a session. */
export function Start() {
  const busyWith = useSignal<string>();
  const issuers = useLoad('issuers', (signal) => bodyOf(api.GET('/api/v2/token/issuers', { signal })));
  const problem = loginProblem.value;
  async function begin(id: string, issuer?: string): Promise<void> {
    busyWith.value = id;
    loginProblem.value = undefined;
    wasCancelled.value = false;
    try {
      await logIn(undefined, issuer === undefined ? {} : { issuer });
    } catch (error) {
      loginProblem.value = asProblem(error);
      busyWith.value = undefined;
    }
  }
  const buttons = buttonsFor(issuers.data.value?.items, issuers.error.value !== undefined);
  return (
    <main class="start">
      <Away />
      <Logo size={56} />
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
      {buttons.map(({ id, label, issuer }, index) => (
        <Button
          key={id}
          kind={index === 0 ? 'main' : 'plain'}
          icon={LogIn}
          onClick={() => void begin(id, issuer)}
          isBusy={busyWith.value === id}
        >
          {label}
        </Button>
      ))}
    </main>
  );
}

/** Returns a button for each issuer: none while the list loads, a single one if loading fails or there is only one issuer. */
function buttonsFor(items: Schemas['LoginIssuers']['items'] | undefined, hasFailed: boolean) {
  if (items !== undefined && items.length > 1)
    return items.map(({ id, name }) => ({ id, label: t('start.logInAt', { name }), issuer: id }));
  return items === undefined && !hasFailed ? [] : [{ id: '', label: t('start.logIn'), issuer: undefined }];
}
