import { OwnPassword } from '../app/own-password';
import { logOut, readPerson } from '../app/session';
import { t } from '../text/text';
import { Button } from '../ui/button';

/** The form alone: nothing else is allowed until it is done. */
export function PasswordDue() {
  return (
    <main class="start">
      <h1>{t('password.due')}</h1>
      <p class="muted measure">{t('password.dueWhy')}</p>
      <OwnPassword onDone={() => void readPerson()} />
      <Button kind="quiet" onClick={() => void logOut()}>
        {t('shell.logOut')}
      </Button>
    </main>
  );
}
