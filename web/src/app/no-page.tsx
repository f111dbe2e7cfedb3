import { t } from '../text/text';
import { LinkButton } from '../ui/button';

export const NoPage = () => (
  <section class="page">
    <h1 tabIndex={-1}>{t('state.noPage')}</h1>
    <p class="muted">{t('state.noPageWhy')}</p>
    <div class="buttons">
      <LinkButton to="/">{t('overview.title')}</LinkButton>
    </div>
  </section>
);
