import { pluginPage, pluginStates } from '../../app/extensions';
import { NoPage } from '../../app/no-page';
import type { PageProps } from '../../app/page-props';
import { useMounted } from '../../plugins/tab';
import { t } from '../../text/text';
import { Loaded } from '../../ui/loaded';
import { Skeleton } from '../../ui/state';

/** Page of a plugin: the console adds the heading, the plugin the content. */
export function Page({ params: { plugin = '', path = '' } }: PageProps) {
  const load = useMounted(true);
  const state = pluginStates.value?.get(plugin);
  const page = pluginPage(plugin, path);
  const isComing = pluginStates.value === undefined || state?.state === 'loading';
  if (page === undefined && !isComing && state?.problem === undefined) return <NoPage />;
  const title = page?.label() ?? state?.displayName ?? t('plugins.title');
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
      </header>
      <Loaded load={load}>
        {({ Mounted, PluginFailure }) =>
          page ? (
            <Mounted plugin={plugin} mount={page.mount} path={path} />
          ) : state?.problem ? (
            <PluginFailure plugin={plugin} message={state.problem} onRetry={() => location.reload()} />
          ) : (
            <Skeleton />
          )
        }
      </Loaded>
    </section>
  );
}
