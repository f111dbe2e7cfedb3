import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { t } from '../../text/text';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';

type Plugin = Schemas['ListedConsolePlugin'];

/** What is enabled, and what lies there without being so. This console does not run plugins yet. */
export function Page() {
  const load = useLoad('plugins', (signal) => bodyOf(api.GET('/api/v1/console-plugins', { signal })));
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('plugins.title')}</h1>
      </header>
      <p class="muted measure">{t('plugins.what')}</p>
      <Loaded load={load}>
        {({ plugins, items }) => {
          const enabled = new Set(plugins.map(({ name }) => name));
          const others = [...new Set(items.map(({ plugin }) => plugin))].filter((name) => !enabled.has(name));
          const filesOf = (name: string) => items.filter(({ plugin }) => plugin === name).length;
          if (plugins.length + others.length === 0) return <Empty text={t('plugins.none')} />;
          return (
            <>
              {plugins.length > 0 && (
                <PlainTable
                  label={t('plugins.title')}
                  rows={plugins}
                  idOf={({ name }) => name}
                  columns={[
                    { title: t('users.name'), cell: ({ displayName }: Plugin) => <span class="strong">{displayName}</span> },
                    { title: t('tokens.id'), cell: ({ name }) => <code>{name}</code> },
                    { title: t('users.source'), cell: ({ source }) => source },
                    { title: t('plugins.files'), cell: ({ name, source }) => (source === 'ConfigMap' ? filesOf(name) : '') },
                    { title: t('plugins.integrity'), cell: ({ integrity }) => integrity && <code>{integrity}</code> },
                  ]}
                />
              )}
              {others.length > 0 && (
                <section class="card" aria-labelledby="others-title">
                  <h2 id="others-title">{t('plugins.others')}</h2>
                  <p class="muted">{t('plugins.othersWhat')}</p>
                  <ul class="chips">
                    {others.map((name) => (
                      <li key={name} class="chip">
                        {name}
                      </li>
                    ))}
                  </ul>
                </section>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
