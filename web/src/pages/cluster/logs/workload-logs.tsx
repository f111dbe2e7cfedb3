import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { apiPath, type Kind, kindId } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { type ClusterObject, getJson } from '../../../api/objects';
import { useWatch } from '../../../api/watch';
import { Guarded } from '../../../app/guarded';
import { may, type Right, useRights } from '../../../app/rights';
import { query, setQuery } from '../../../app/router';
import { t } from '../../../text/text';
import { Loaded } from '../../../ui/loaded';
import { Empty, Failure, FirstOnly, Notice, Old, Skeleton } from '../../../ui/state';
import { runsOf } from '../containers';
import { logCommand } from '../kubectl';
import { useOwnPods } from '../sections/pod/own-pods';
import { isOwnedBy } from '../sections/pod/pod-owner';
import { useRelatedRows } from '../sections/related/related-rows';
import { selectedLabels } from '../sections/selector';
import { tailLines } from './log-stream';
import type { LogTarget } from './log-streams';
import { LogView } from './log-view';

const shownStreams = 20;
const shownPods = 200;

const podKind = { group: '', version: 'v1', resource: 'pods' } as Kind;

interface ObjectList {
  metadata: { resourceVersion: string; continue?: string };
  items: ClusterObject[];
}

const withLogs = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'replicasets.apps', 'jobs.batch', 'cronjobs.batch'];

export const hasWorkloadLogs = (kind: Kind): boolean => withLogs.includes(kindId(kind));

interface WorkloadProps {
  kind: Kind;
  object: ClusterObject;
}

/** The logs of all pods of a workload; of a CronJob, of its newest Job. */
export function WorkloadLogs({ kind, object }: WorkloadProps) {
  const { namespace } = object.metadata;
  const place = namespace ? { namespace } : {};
  const right = (verb: string, more: Partial<Right> = {}): Right => ({ verb, group: '', resource: 'pods', ...place, ...more });
  const [list, watch, log] = [right('list'), right('watch'), right('get', { subresource: 'log' })];
  useRights([list, watch, log]);
  const isCronJob = kindId(kind) === 'cronjobs.batch';
  return (
    <Guarded right={list}>
      <Guarded right={log}>
        {isCronJob ? (
          <NewestJob cronJob={object} mayWatch={may(watch) === true} />
        ) : (
          <LogsOfPods kind={kind} object={object} mayWatch={may(watch) === true} />
        )}
      </Guarded>
    </Guarded>
  );
}

const jobKind = { group: 'batch', version: 'v1', resource: 'jobs', title: 'Jobs' } as Kind;

function NewestJob({ cronJob, mayWatch }: { cronJob: ClusterObject; mayWatch: boolean }) {
  const { namespace, uid } = cronJob.metadata;
  const right = (verb: string): Right => ({ verb, group: 'batch', resource: 'jobs', ...(namespace && { namespace }) });
  const [list, watch] = [right('list'), right('watch')];
  useRights([list, watch]);
  return (
    <Guarded right={list}>
      <NewestOf namespace={namespace} uid={uid} mayWatchJobs={may(watch) === true} mayWatch={mayWatch} />
    </Guarded>
  );
}

interface NewestProps {
  namespace: string | undefined;
  uid: string | undefined;
  mayWatchJobs: boolean;
  mayWatch: boolean;
}

function NewestOf({ namespace, uid, mayWatchJobs, mayWatch }: NewestProps) {
  const { list, rows } = useRelatedRows({ kind: jobKind, namespace, isOwn: isOwnedBy(uid), mayWatch: mayWatchJobs });
  const [problem, isPart] = [list.error.value, list.remaining.value];
  const onRetry = () => void list.refresh();
  if (rows === undefined) return problem ? <Failure problem={problem} onRetry={onRetry} /> : <Skeleton />;
  const [job] = rows;
  return (
    <>
      <Old problem={problem} lost={list.lost.since.value} onRetry={onRetry} />
      <FirstOnly isPart={isPart} count={list.size.value} kind={jobKind.title} />
      {job ? (
        <LogsOfJob key={job.metadata.uid} namespace={namespace} name={job.metadata.name} mayWatch={mayWatch} />
      ) : (
        !isPart && <Empty text={t('cluster.noJob')} />
      )}
    </>
  );
}

/** Reads the selector of a Job, which never changes. */
function LogsOfJob({ namespace, name, mayWatch }: { namespace: string | undefined; name: string; mayWatch: boolean }) {
  const path = `${apiPath(jobKind, { namespace })}?${new URLSearchParams({ fieldSelector: `metadata.name=${name}`, limit: '1' })}`;
  const load = useLoad(`logs/${path}`, (signal) => getJson<ObjectList>(path, signal));
  return (
    <Loaded load={load}>
      {({ items: [job] }) => (job ? <LogsOfPods kind={jobKind} object={job} mayWatch={mayWatch} /> : <Empty text={t('cluster.noJob')} />)}
    </Loaded>
  );
}

interface LoadedListProps {
  path: string;
  labelSelector: string;
  mayWatch: boolean;
  children: (list: ObjectList) => ComponentChildren;
}

function LoadedList({ path, labelSelector, mayWatch, children }: LoadedListProps) {
  const asked = new URLSearchParams({ limit: String(shownPods), labelSelector });
  const load = useLoad(`logs/${path}?${asked}`, (signal) => getJson<ObjectList>(`${path}?${asked}`, signal));
  const resourceVersion = load.data.value?.metadata.resourceVersion;
  const lost = useWatch({ path: mayWatch ? path : undefined, labelSelector, resourceVersion }, load.reload);
  const [data, problem] = [load.data.value, load.error.value];
  const onRetry = () => void load.reload();
  if (data === undefined) return problem ? <Failure problem={problem} onRetry={onRetry} /> : <Skeleton />;
  return (
    <>
      <Old problem={problem} lost={lost.value} onRetry={onRetry} />
      {children(data)}
    </>
  );
}

function LogsOfPods({ kind, object, mayWatch }: WorkloadProps & { mayWatch: boolean }) {
  const { namespace } = object.metadata;
  const labelSelector = selectedLabels(object);
  const isOwn = useOwnPods(kind, object);
  if (isOwn === undefined) return <Skeleton />;
  if (labelSelector === '') return <Empty text={t('cluster.noSelector')} />;
  return (
    <LoadedList path={apiPath(podKind, { namespace })} labelSelector={labelSelector} mayWatch={mayWatch}>
      {({ items, metadata }) => <ManyLogs object={object} list={{ metadata, items: items.filter(isOwn) }} />}
    </LoadedList>
  );
}

/** A pod that the page has seen, also one that is gone. */
interface SeenPod {
  name: string;
  isGone: boolean;
}

function useSeenPods(pods: readonly ClusterObject[]): readonly SeenPod[] {
  const seen = useSignal<ReadonlySet<string>>(new Set());
  const names = new Set(pods.map(({ metadata }) => metadata.name));
  const all = new Set([...seen.peek(), ...names]);
  if (all.size > seen.peek().size) seen.value = all;
  return [...all].sort().map((name) => ({ name, isGone: !names.has(name) }));
}

interface ManyLogsProps {
  object: ClusterObject;
  list: ObjectList;
}

function ManyLogs({ object, list: { items, metadata } }: ManyLogsProps) {
  const [pod, container] = [query.value.get('pod') ?? '', query.value.get('container') ?? ''];
  const pods = useSeenPods(items);
  const containers = [...new Set(items.flatMap((one) => runsOf(one).map(({ name }) => name)))].sort();
  const isWanted = (target: LogTarget) => isOf(target.id, pod, container);
  const isPrevious = query.value.get('previous') === 'true';
  const all = items.flatMap((one) => targetsOf(one, isPrevious, containers.length > 1)).filter(isWanted);
  const hasPrevious = items.some((one) => runsOf(one).some(({ restarts }) => restarts > 0));
  const hidden = all.length - shownStreams;
  return (
    <>
      {hidden > 0 && <Notice kind="info">{t('cluster.moreStreams', { count: hidden, shown: shownStreams })}</Notice>}
      {metadata.continue && <Notice kind="info">{t('cluster.morePods', { count: shownPods })}</Notice>}
      <LogView
        isMany
        label={object.metadata.name}
        fileName={`${object.metadata.name}.log`}
        targets={all.slice(0, shownStreams)}
        isShown={pod || container ? (id) => isOf(id, pod, container) : undefined}
        hasPrevious={hasPrevious}
        commandOf={(range) =>
          logCommand({
            ...{ ...range, pod, container, tailLines, streams: shownStreams },
            ...{ namespace: object.metadata.namespace, selector: selectedLabels(object) },
          })
        }
        filters={
          <>
            <Choice label={t('cluster.pod')} name="pod" all={t('cluster.allPods', { count: pods.length })} of={pods} />
            {containers.length > 1 && (
              <Choice
                label={t('cluster.container')}
                name="container"
                all={t('cluster.allContainers')}
                of={containers.map((name) => ({ name }))}
              />
            )}
          </>
        }
      />
    </>
  );
}

const isOf = (id: string, pod: string, container: string): boolean => {
  const [ofPod, ofContainer] = id.split('/');
  return (pod === '' || pod === ofPod) && (container === '' || container === ofContainer);
};

/** The containers that have something to read. */
function targetsOf(pod: ClusterObject, isPrevious: boolean, isNamed: boolean): LogTarget[] {
  const { name, namespace, uid } = pod.metadata;
  return runsOf(pod)
    .filter(({ hasStarted, restarts }) => (isPrevious ? restarts > 0 : hasStarted))
    .map((container) => ({
      id: `${name}/${container.name}/${uid}`,
      name: isNamed ? `${name} ${container.name}` : name,
      path: apiPath(podKind, { name, namespace, subresource: 'log' }),
      container: container.name,
      run: isPrevious ? `${container.restarts}` : container.run,
    }));
}

interface ChoiceProps {
  label: string;
  /** In the address. */
  name: string;
  all: string;
  of: readonly { name: string; isGone?: boolean }[];
}

function Choice({ label, name, all, of }: ChoiceProps) {
  return (
    <label>
      <span class="hidden">{label}</span>
      <select
        class="log-choice"
        value={query.value.get(name) ?? ''}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
      >
        <option value="">{all}</option>
        {of.map((one) => (
          <option key={one.name} value={one.name}>
            {one.isGone ? t('cluster.gonePod', { name: one.name }) : one.name}
          </option>
        ))}
      </select>
    </label>
  );
}
