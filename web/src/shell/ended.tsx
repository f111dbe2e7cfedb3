import { LogIn } from 'lucide';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { forget, hasEnded, logInAgain } from '../app/session';
import { t } from '../text/text';
import { Button } from '../ui/button';

/** Reports the end of the session in a dialog above the page, whose forms keep their contents. */
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
        <Button kind="main" icon={LogIn} onClick={() => void logInAgain()}>
          {t('ended.logIn')}
        </Button>
        <Button kind="quiet" onClick={forget}>
          {t('ended.leave')}
        </Button>
      </div>
    </dialog>
  );
}
