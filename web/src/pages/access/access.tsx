import { useMyNamespaces } from '../../app/namespace';
import { t } from '../../text/text';
import { Chips } from '../../ui/chips';
import { Loaded } from '../../ui/loaded';
import { Empty, FirstOnly } from '../../ui/state';
import { Question } from './question';

export function Page() {
  const namespaces = useMyNamespaces();
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('access.title')}</h1>
      </header>
      <div class="cards">
        <section class="card" aria-labelledby="ask-title">
          <h2 id="ask-title">{t('access.ask')}</h2>
          <Question namespaces={namespaces.data.value?.items.map(({ metadata }) => metadata.name) ?? []} />
        </section>
        <section class="card" aria-labelledby="mine-title">
          <h2 id="mine-title">{t('access.mine')}</h2>
          <p class="muted">{t('access.mineWhat')}</p>
          <Loaded load={namespaces}>
            {({ items, metadata }) => (
              <>
                <FirstOnly isPart={metadata.continue !== ''} count={items.length} kind="Namespaces" />
                {items.length === 0 ? (
                  metadata.continue === '' && <Empty text={t('access.none')} />
                ) : (
                  <Chips of={items.map((one) => one.metadata.name)} />
                )}
              </>
            )}
          </Loaded>
        </section>
      </div>
    </section>
  );
}
