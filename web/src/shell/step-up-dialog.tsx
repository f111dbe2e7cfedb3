import { LogIn } from 'lucide';
import type { StepUp } from '../api/problem';
import { logInAgain } from '../app/session';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';

interface StepUpProps {
  stepUp: StepUp;
  onClose: () => void;
}

export function StepUpDialog({ stepUp, onClose }: StepUpProps) {
  const minutes = Math.ceil(Number(stepUp.max_age ?? 0) / 60);
  return (
    <Dialog title={t('stepUp.title')} onClose={onClose}>
      <p>{minutes > 0 ? t('stepUp.recent', { count: minutes }) : t('stepUp.stronger')}</p>
      <p class="muted">{t('stepUp.then')}</p>
      <div class="buttons">
        <Button kind="main" icon={LogIn} onClick={() => void logInAgain(stepUp)}>
          {t('ended.logIn')}
        </Button>
        <Button kind="quiet" onClick={onClose}>
          {t('action.cancel')}
        </Button>
      </div>
    </Dialog>
  );
}
