import { OwnPassword } from '../app/own-password';
import { logOut, readPerson } from '../app/session';
import { t } from '../text/text';
import { Button } from '../ui/button';

/** Shows the password form alone: no other action is allowed until the password is changed. */
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
