import { t } from '../../text/text';
import { SessionList } from './session-list';

export function Page() {
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('sessions.title')}</h1>
      </header>
      <p class="muted measure">{t('sessions.what')}</p>
      <SessionList mayEnd />
    </section>
  );
}
