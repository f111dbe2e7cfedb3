import { person } from '../../app/session';
import { dateTime, t } from '../../text/text';
import { Facts } from '../../ui/facts';

export function Page() {
  const who = person.value;
  if (!who) return null;
  const { ext } = who;
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('overview.hello', { name: ext.display_name || who.name })}</h1>
      </header>
      <div class="cards">
        <section class="card" aria-labelledby="who-title">
          <h2 id="who-title">{t('overview.who')}</h2>
          <Facts
            of={[
              [t('users.name'), ext.display_name],
              [t('overview.inKubernetes'), <code key="name">{who.name}</code>],
              [t('users.email'), who.email],
              [t('users.groups'), who.groups.join(', ')],
              [t('overview.until'), ext.expires_at && dateTime(ext.expires_at)],
            ]}
          />
        </section>
      </div>
    </section>
  );
}
