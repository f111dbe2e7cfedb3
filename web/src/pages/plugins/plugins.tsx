import { api, bodyOf } from '../../api/client';
import { useLoad } from '../../api/load';
import { isWithoutPlugins, type PluginState, pluginStates } from '../../app/extensions';
import { useRights } from '../../app/rights';
import { SwitchOff, switchOffRight, WithoutPlugins } from '../../plugins/switch-off';
import { t } from '../../text/text';
import { Chips } from '../../ui/chips';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty, Notice } from '../../ui/state';

/** Shows enabled plugins with their state, and plugins that are available but not enabled. */
export function Page() {
  const load = useLoad('plugins', (signal) => bodyOf(api.GET('/api/v1/console-plugins', { signal })));
  useRights((load.data.value?.plugins ?? []).map(({ name }) => switchOffRight(name)));
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('plugins.title')}</h1>
      </header>
      <p class="muted measure">{t('plugins.what')}</p>
      {isWithoutPlugins && <Notice kind="warn">{t('plugins.isWithout')}</Notice>}
      <Loaded load={load}>
        {({ plugins, items }) => {
          const enabled = new Map(plugins.map((plugin) => [plugin.name, plugin]));
          const others = [...new Set(items.map(({ plugin }) => plugin))].filter((name) => !enabled.has(name));
          if (plugins.length + others.length === 0) return <Empty text={t('plugins.none')} />;
          const rows = plugins.map(
            ({ name, displayName }): PluginState => pluginStates.value?.get(name) ?? { name, displayName, state: 'off' },
          );
          return (
            <>
              {rows.length > 0 && (
                <PlainTable
                  label={t('plugins.title')}
                  rows={rows}
                  idOf={({ name }) => name}
                  columns={[
                    { title: t('users.name'), cell: nameCell },
                    { title: t('about.version'), cell: ({ version }) => version },
                    { title: t('users.phase'), cell: stateCell },
                    { title: t('users.source'), cell: ({ name }) => enabled.get(name)?.source },
                    { title: t('plugins.integrity'), cell: ({ name }) => pinCell(enabled.get(name)?.integrity) },
                    { title: '', cell: ({ name }) => <SwitchOff plugin={name} kind="quiet" /> },
                  ]}
                />
              )}
              {rows.length > 0 && !isWithoutPlugins && (
                <p>
                  <WithoutPlugins />
                </p>
              )}
              {others.length > 0 && (
                <section class="card" aria-labelledby="others-title">
                  <h2 id="others-title">{t('plugins.others')}</h2>
                  <p class="muted">{t('plugins.othersWhat')}</p>
                  <Chips of={others} />
                </section>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

const nameCell = ({ name, displayName }: PluginState) => (
  <>
    <span class="strong">{displayName}</span> {displayName !== name && <code class="muted">{name}</code>}
  </>
);

const stateCell = ({ state, problem }: PluginState) => (
  <>
    <span class={state === 'failed' || state === 'refused' ? 'wrong strong' : ''}>{t(`plugins.state.${state}`)}</span>
    {problem && <p class="muted small">{problem}</p>}
  </>
);

const pinCell = (integrity: string | undefined) =>
  integrity ? <code title={integrity}>{integrity.slice(0, 18)}…</code> : <span class="muted">{t('plugins.notPinned')}</span>;
