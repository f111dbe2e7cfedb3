import { t } from '../text/text';
import { LinkButton } from '../ui/button';
import { href } from './router';

/** @param address the page that was probably meant */
export const NoPage = ({ address }: { address?: string | undefined }) => (
  <section class="page">
    <h1 tabIndex={-1}>{t('state.noPage')}</h1>
    {address === undefined ? (
      <p class="muted">{t('state.noPageWhy')}</p>
    ) : (
      <p>
        {t('state.rightAddress')}{' '}
        <a class="address" href={href(address)}>
          {href(address)}
        </a>
      </p>
    )}
    <div class="buttons">
      <LinkButton to="/">{t('overview.title')}</LinkButton>
    </div>
  </section>
);
