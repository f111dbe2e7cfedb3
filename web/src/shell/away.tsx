import { CloudOff, RefreshCw } from 'lucide';
import { away, retryNow } from '../api/outage';
import { brandTitle } from '../app/brand';
import { t, timeOf } from '../text/text';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { Logo } from './logo';

/** Strip below the header while the service does not answer. */
export function Away() {
  const since = away.value;
  return (
    since && (
      <section class="own-access away" role="alert">
        <p class="bad">
          <Icon of={CloudOff} />
          <span>{t('shell.away', { time: timeOf(since) })}</span>
          <Button kind="quiet" icon={RefreshCw} onClick={retryNow}>
            {t('state.retry')}
          </Button>
        </p>
      </section>
    )
  );
}

/** Start page until the service says who is logged in. */
export const Waiting = () => (
  <main class="start">
    <Logo size={56} />
    <h1>{brandTitle()}</h1>
    <p role="alert">
      {t('state.unreachable')} {t('state.again')}
    </p>
    <Button icon={RefreshCw} onClick={retryNow}>
      {t('state.retry')}
    </Button>
  </main>
);
