import { useEffect } from 'preact/hooks';
import { apiPath, type Kind, pageOf } from '../../api/kinds';
import { type Load, useLoad } from '../../api/load';
import { type ClusterObject, getJson } from '../../api/objects';
import { useWatch } from '../../api/watch';
import { setTitle } from '../../app/brand';
import { pluginTabs } from '../../app/extensions';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/page-props';
import { may, type Right, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { PluginTab } from '../../plugins/tab';
import { t } from '../../text/text';
import { Failure, Held, Notice, Old, Skeleton } from '../../ui/state';
import { Tabs } from '../../ui/tabs';
import { ObjectActions } from './actions';
import { Events } from './events';
import { Logs } from './logs';
import { Summary } from './summary';
import { TerminalTab } from './terminal';
import { OfKind } from './use-kind';
import { hasWorkloadLogs, WorkloadLogs } from './workload-logs';
import { YamlTab } from './yaml-tab';

export function Page({ params }: PageProps) {
  const { group = '', version = '', resource = '', namespace, name = '', tab } = params;
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind, kinds) => <ObjectPage kind={kind} kinds={kinds} namespace={namespace} name={name} tab={tab} />}
    </OfKind>
  );
}

interface ObjectProps {
  kind: Kind;
  kinds: readonly Kind[];
  namespace?: string | undefined;
  name: string;
  tab?: string | undefined;
}

export function ObjectPage(props: ObjectProps) {
  const { kind, namespace, name } = props;
  // The API server judges a Namespace as one of its own objects: a RoleBinding in it counts.
  const place = kind.group === '' && kind.resource === 'namespaces' ? name : namespace;
  const right = (verb: string): Right => ({ verb, group: kind.group, resource: kind.resource, name, ...(place && { namespace: place }) });
  const rights = { get: right('get'), watch: right('watch'), update: right('update') };
  useRights(Object.values(rights));
  useEffect(() => {
    setTitle(`${name} · ${kind.title}`);
  });
  return (
    <Guarded right={rights.get} title={name}>
      <OneObject key={`${kind.resource}.${kind.group}/${namespace}/${name}`} {...props} rights={rights} />
    </Guarded>
  );
}

const refOf = ({ metadata: { name, uid, namespace } }: ClusterObject) => ({
  name,
  ...(uid !== undefined && { uid }),
  ...(namespace !== undefined && { namespace }),
});

/** These fill the page; the others scroll with it. */
const filling = ['yaml', 'logs', 'terminal'];

function OneObject({ kind, kinds, namespace, name, tab = 'summary', rights }: ObjectProps & { rights: Record<'watch' | 'update', Right> }) {
  const path = apiPath(kind, { namespace, name });
  const load: Load<ClusterObject> = useLoad(`object/${path}`, (signal) => getJson<ClusterObject>(path, signal));
  const [object, problem] = [load.data.value, load.error.value];
  const mayWatch = may(rights.watch) === true && kind.verbs.includes('watch');
  const watched = { path: mayWatch ? apiPath(kind, { namespace }) : undefined, fieldSelector: `metadata.name=${name}` };
  const lost = useWatch({ ...watched, resourceVersion: object?.metadata.resourceVersion }, load.reload);
  const isPod = kind.group === '' && kind.resource === 'pods';
  const isWorkload = hasWorkloadLogs(kind);
  const tabs = [
    { id: 'summary', label: t('cluster.summary') },
    { id: 'yaml', label: 'YAML' },
    { id: 'events', label: t('cluster.events') },
    ...(isPod || isWorkload ? [{ id: 'logs', label: t('cluster.logs') }] : []),
    ...(isPod ? [{ id: 'terminal', label: t('cluster.terminal') }] : []),
    ...pluginTabs(kind.group, kind.resource).map(({ id, label }) => ({ id, label: label() })),
  ];
  return (
    <section class={`page ${filling.includes(tab) ? 'fill padded' : ''}`}>
      <p class="crumb">
        <a href={href(pageOf(kind, { namespace }))}>{kind.title}</a>
        {namespace && <span class="muted"> · {namespace}</span>}
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{name}</h1>
        {object && <ObjectActions kind={kind} object={object} />}
      </header>
      {object === undefined ? (
        problem ? (
          <Failure problem={problem} onRetry={() => void load.reload()} />
        ) : (
          <Skeleton />
        )
      ) : (
        <>
          {problem?.status === 404 ? (
            <Notice>{t('cluster.gone', { kind: kind.kind, name })}</Notice>
          ) : (
            <Old lost={lost.value} problem={problem} onRetry={() => void load.reload()} />
          )}
          <Tabs label={name} tabs={tabs} current={tab} to={(id) => pageOf(kind, { namespace, name }, id === 'summary' ? undefined : id)} />
          <PluginTab id={tab} of={{ group: kind.group, version: kind.version, resource: kind.resource, ...refOf(object) }} />
          {tab === 'summary' && (
            <Held problem={problem} lost={lost.value}>
              <Summary kind={kind} kinds={kinds} object={object} />
            </Held>
          )}
          {tab === 'yaml' && <YamlTab kind={kind} object={object} updateRight={rights.update} onSaved={() => load.reload()} />}
          {tab === 'events' && <Events object={object} />}
          {isPod && tab === 'logs' && <Logs kind={kind} pod={object} />}
          {isWorkload && tab === 'logs' && <WorkloadLogs kind={kind} object={object} />}
          {isPod && tab === 'terminal' && <TerminalTab kind={kind} pod={object} />}
        </>
      )}
    </section>
  );
}
