import { objectState } from '@atrium/objects/object-state.ts';
import { useEffect } from 'preact/hooks';
import { apiPath, type Kind, kindId, pageOf, placeInPath } from '../../../api/kinds';
import type { ClusterObject } from '../../../api/objects';
import { useObject } from '../../../api/use-object';
import { useFeature } from '../../../api/version';
import { viewed } from '../../../api/view';
import { AskFor } from '../../../app/ask';
import { setTitle } from '../../../app/brand';
import { pluginTabs } from '../../../app/extensions';
import { Guarded } from '../../../app/guarded';
import { NoPage } from '../../../app/no-page';
import type { PageProps } from '../../../app/page-props';
import { may, type Right, useRights } from '../../../app/rights';
import { href } from '../../../app/router';
import { refTo } from '../../../plugins/actions';
import { PluginTab } from '../../../plugins/tab';
import { t } from '../../../text/text';
import { Failure, Held, Notice, Old, Skeleton } from '../../../ui/state';
import { Tabs } from '../../../ui/tabs';
import { ActivityLink } from '../../activity/activity-link';
import { ObjectActions } from '../actions/actions';
import { Activity } from '../activity/activity';
import { StateView } from '../cells';
import { Events } from '../events/events';
import { openedRow, RowSummary } from '../list/opened-row';
import { Logs } from '../logs/logs';
import { hasWorkloadLogs, WorkloadLogs } from '../logs/workload-logs';
import { loadSections } from '../sections/sections';
import { TerminalTab } from '../terminal/terminal';
import { OfKind } from '../use-kind';
import { YamlTab } from '../yaml/yaml-tab';
import { Summary } from './summary';

export function ahead({ tab = 'summary', ...params }: PageProps['params']): void {
  if (tab === 'summary') loadSections(placeInPath(params));
}

export function Page({ params }: PageProps) {
  const { group = '', version = '', resource = '', namespace, name = '', tab, rest } = params;
  return (
    <OfKind group={group} version={version} resource={resource}>
      {(kind, kinds) => {
        if (kind.isNamespaced && namespace === undefined) return <NoPage address={pageOf(kind, { namespace: name, name: tab }, rest)} />;
        if (!kind.isNamespaced && namespace !== undefined) return <NoPage address={pageOf(kind, { name }, tab)} />;
        if (rest !== undefined) return <NoPage />;
        return <ObjectPage kind={kind} kinds={kinds} namespace={namespace} name={name} tab={tab} />;
      }}
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
  // The API server authorizes a Namespace as one of its own objects: a RoleBinding in it applies.
  const place = kind.group === '' && kind.resource === 'namespaces' ? name : namespace;
  const right = (verb: string): Right => ({ verb, group: kind.group, resource: kind.resource, name, ...(place && { namespace: place }) });
  const rights = { get: right('get'), watch: right('watch'), update: right('update') };
  useRights(Object.values(rights));
  useEffect(() => {
    setTitle(`${name} · ${kind.title}`);
  });
  const page = <OneObject key={`${kind.resource}.${kind.group}/${namespace}/${name}`} {...props} rights={rights} />;
  // The object is requested beside the rights: its answer is a refusal of its own.
  return may(rights.get) === false ? (
    <Guarded right={rights.get} title={name}>
      {page}
    </Guarded>
  ) : (
    page
  );
}

/** These fill the page; the others scroll with it. */
const filling = ['yaml', 'logs', 'terminal'];

type OneProps = ObjectProps & { rights: Record<'get' | 'watch' | 'update', Right> };

function OneObject(props: OneProps) {
  const { kind, kinds, namespace, name, tab = 'summary', rights } = props;
  const mayWatch = may(rights.watch) === true && kind.verbs.includes('watch');
  const path = apiPath(kind, { namespace, name });
  const load = useObject({ path, watched: mayWatch ? { path: apiPath(kind, { namespace }), name } : undefined });
  const [object, problem, mayGet] = [load.data.value, load.error.value, may(rights.get)];
  useEffect(() => {
    // The right was granted since.
    if (mayGet && load.error.peek()?.status === 403) void load.reload();
  }, [mayGet]);
  return (
    <section class={`page ${filling.includes(tab) ? 'fill padded' : ''}`}>
      <p class="crumb">
        <a href={href(pageOf(kind, { namespace }))}>{kind.title}</a>
        {namespace && <span class="muted"> · {namespace}</span>}
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{name}</h1>
        {object && (
          <Held problem={problem} lost={load.lost.value}>
            <StateView of={objectState(object)} />
          </Held>
        )}
        {object && <ObjectActions kind={kind} kinds={kinds} object={object} />}
      </header>
      {object !== undefined ? (
        <Read {...props} tab={tab} object={object} load={load} />
      ) : problem !== undefined ? (
        <>
          <Failure problem={problem} onRetry={() => void load.reload()}>
            <AskFor right={rights.get} />
          </Failure>
          {problem.isGone(name) && <Past {...props} tab={tab} />}
        </>
      ) : (
        <Unread {...props} tab={tab} />
      )}
    </section>
  );
}

const isPod = (kind: Kind): boolean => kindId(kind) === 'pods';

function ObjectTabs({ kind, namespace, name, tab = '' }: ObjectProps) {
  const tabs = [
    { id: 'summary', label: t('cluster.summary') },
    { id: 'yaml', label: 'YAML' },
    { id: 'events', label: t('cluster.events') },
    ...(useFeature('audit') && viewed.value === undefined ? [{ id: 'history', label: t('object.history') }] : []),
    ...(isPod(kind) || hasWorkloadLogs(kind) ? [{ id: 'logs', label: t('cluster.logs') }] : []),
    ...(isPod(kind) ? [{ id: 'terminal', label: t('cluster.terminal') }] : []),
    ...pluginTabs(kind.group, kind.resource).map(({ id, label }) => ({ id, label: label() })),
  ];
  return <Tabs label={name} tabs={tabs} current={tab} to={(id) => pageOf(kind, { namespace, name }, id === 'summary' ? undefined : id)} />;
}

/** Until the object is read, the row that led here is shown. */
function Unread(props: ObjectProps) {
  const { kind, namespace, name, tab } = props;
  const row = openedRow({ kind, namespace, name });
  if (row === undefined) return <Skeleton />;
  return (
    <>
      <ObjectTabs {...props} />
      {tab === 'summary' ? <RowSummary row={row} /> : <Skeleton />}
    </>
  );
}

/** History of an object that does not exist, at the address of its history; elsewhere a link to it. */
function Past(props: ObjectProps) {
  const { kind, namespace, name, tab } = props;
  return tab === 'history' ? (
    <Activity {...props} />
  ) : (
    <ActivityLink of={{ kind: kindId(kind), namespace, name, since: 'all' }}>{t('activity.onObject')}</ActivityLink>
  );
}

function Read(props: OneProps & { object: ClusterObject; load: ReturnType<typeof useObject> }) {
  const { kind, kinds, name, tab = '', rights, object, load } = props;
  const [problem, lost] = [load.error.value, load.lost.value];
  return (
    <>
      {problem?.isGone(name) ? (
        <Notice>{t('cluster.gone', { kind: kind.kind, name })}</Notice>
      ) : (
        <Old lost={lost} problem={problem} onRetry={() => void load.reload()} />
      )}
      <ObjectTabs {...props} />
      <PluginTab id={tab} of={refTo(kind, object.metadata)} />
      {tab === 'summary' && (
        <Held problem={problem} lost={lost}>
          <Summary kind={kind} kinds={kinds} object={object} />
        </Held>
      )}
      {tab === 'yaml' && <YamlTab kind={kind} object={object} updateRight={rights.update} onSaved={() => load.reload()} />}
      {tab === 'events' && <Events object={object} />}
      {tab === 'history' && <Activity {...props} />}
      {tab === 'logs' && isPod(kind) && <Logs kind={kind} pod={object} />}
      {tab === 'logs' && hasWorkloadLogs(kind) && <WorkloadLogs kind={kind} object={object} />}
      {tab === 'terminal' && isPod(kind) && <TerminalTab kind={kind} pod={object} />}
    </>
  );
}
