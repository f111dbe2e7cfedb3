import { question } from '../app/extensions';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';

/** Shows the question of a plugin. */
export function Asked() {
  const asked = question.value;
  if (asked === undefined) return null;
  const answer = (isConfirmed: boolean) => {
    question.value = undefined;
    asked.answer(isConfirmed);
  };
  return (
    <Dialog title={asked.title} onClose={() => answer(false)}>
      <p>{asked.text}</p>
      <div class="buttons">
        <Button kind="main" onClick={() => answer(true)}>
          {asked.button}
        </Button>
        <Button kind="quiet" onClick={() => answer(false)} isFocused>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}
