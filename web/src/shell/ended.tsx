import { LogIn } from 'lucide';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { forget, hasEnded, logInAgain } from '../app/session';
import { t } from '../text/text';
import { Button } from '../ui/button';

/** The session is over. It stands above the page, whose forms stay as they are. */
export function Ended() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (hasEnded.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [hasEnded.value]);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="ended-title" onCancel={(event) => event.preventDefault()}>
      <h2 id="ended-title">{t('ended.title')}</h2>
      <p>{t('ended.text')}</p>
      <div class="buttons">
        <Button kind="quiet" onClick={forget}>
          {t('ended.leave')}
        </Button>
        <Button kind="main" icon={LogIn} onClick={() => void logInAgain()}>
          {t('ended.logIn')}
        </Button>
      </div>
    </dialog>
  );
}
