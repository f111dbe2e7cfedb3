/** Changes of an object that its menu offers. A kind of objects gets another one by an entry here. */

import { CirclePause, CirclePlay, type IconNode, Play, RotateCw } from 'lucide';
import { apiPath, type Kind, kindId } from '../../../api/kinds';
import { type ClusterObject, write } from '../../../api/objects';
import type { Right } from '../../../app/rights';
import { type Key, t } from '../../../text/text';
import { isRestartable, kubectl, kubectlFor } from '../kubectl';

type Changed = Pick<ClusterObject, 'metadata'>;

export interface ObjectAction {
  label: Key;
  /** The consequence, for the dialog that asks first. */
  hint: Key;
  icon: IconNode;
  right: Right;
  command: string;
  /** @param query `?dryRun=All`, or empty for the actual request */
  send: (query: string) => Promise<Changed>;
  message: string;
  /** Unset: the answer of the API server is not the end, a controller still has to act. */
  isDone?: boolean;
  /** True if a rollout follows, whose end is told. */
  rollsOut?: boolean;
  /** True for an action that most readers of the page come for. */
  isAtHand?: boolean;
}

interface Offered extends Pick<ObjectAction, 'label' | 'hint' | 'icon' | 'isDone' | 'rollsOut' | 'isAtHand'> {
  patch: object;
  done: Key;
  /** Unset: `kubectl patch`. */
  verb?: readonly string[];
}

const pause: Offered = {
  ...{ label: 'act.pause', hint: 'act.pauseHint', icon: CirclePause, isDone: true, done: 'act.paused' },
  ...{ patch: { spec: { paused: true } }, verb: ['rollout', 'pause'] },
};
const resume: Offered = {
  ...{ label: 'act.resume', hint: 'act.resumeHint', icon: CirclePlay, done: 'act.resumed', rollsOut: true },
  ...{ patch: { spec: { paused: null } }, verb: ['rollout', 'resume'] },
};
const suspend = (hint: Key, isDone: boolean): Offered => ({
  ...{ label: 'act.suspend', hint, icon: CirclePause, isDone, done: 'act.suspended', patch: { spec: { suspend: true } } },
});
const unsuspend: Offered = {
  ...{ label: 'act.unsuspend', hint: 'act.unsuspendHint', icon: CirclePlay, done: 'act.unsuspended', patch: { spec: { suspend: false } } },
};
/** Returns the merge patch that makes new pods, as `kubectl rollout restart` does. */
export const restartPatch = () => ({
  spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() } } } },
});
const restart = (): Offered => ({
  ...{ label: 'cluster.restart', hint: 'act.restartHint', icon: RotateCw, done: 'cluster.restarted', verb: ['rollout', 'restart'] },
  ...{ isAtHand: true, rollsOut: true },
  patch: restartPatch(),
});

function offeredFor(kind: Kind, { spec = {}, status = {} }: ClusterObject): Offered[] {
  const id = kindId(kind);
  if (id === 'cronjobs.batch') return [spec.suspend === true ? unsuspend : suspend('act.suspendHint', true)];
  if (id === 'jobs.batch' && status.completionTime === undefined)
    return [spec.suspend === true ? unsuspend : suspend('act.suspendJobHint', false)];
  return [
    // kubectl refuses to restart a paused Deployment, because no rollout would follow.
    ...(isRestartable(id) && spec.paused !== true ? [restart()] : []),
    ...(id === 'deployments.apps' ? [spec.paused === true ? resume : pause] : []),
  ];
}

/** Returns the changes that the state of an object allows, whether or not the caller may make them. */
export function actionsOf(kind: Kind, object: ClusterObject): ObjectAction[] {
  const { metadata } = object;
  const right: Right = { verb: 'patch', group: kind.group, resource: kind.resource, name: metadata.name };
  if (metadata.namespace) right.namespace = metadata.namespace;
  const patches = offeredFor(kind, object).map(({ patch, done, verb, ...shown }) => ({
    ...{ ...shown, right, message: t(done, { kind: kind.kind, name: metadata.name }) },
    command: verb ? kubectlFor(verb, kind, metadata) : kubectlFor(['patch'], kind, metadata, '--type=merge', '-p', JSON.stringify(patch)),
    send: (query: string) =>
      write<Changed>(apiPath(kind, metadata) + query, { method: 'PATCH', body: patch, contentType: 'application/merge-patch+json' }),
  }));
  return kindId(kind) === 'cronjobs.batch' ? [runNow(kind, object), ...patches] : patches;
}

/** Returns the Job that a CronJob starts by hand, as `kubectl create job --from` makes it. */
function manualJob({ metadata, spec = {} }: ClusterObject, now: Date): object {
  const template = spec.jobTemplate as { metadata?: { labels?: object; annotations?: object }; spec?: object } | undefined;
  // A name of a Job has at most 63 characters, since pods get it as a label.
  const name = `${metadata.name.slice(0, 52)}-${Math.floor(now.getTime() / 1000).toString(36)}`;
  return {
    ...{ apiVersion: 'batch/v1', kind: 'Job', spec: template?.spec },
    metadata: {
      ...{ name, namespace: metadata.namespace, labels: template?.metadata?.labels },
      annotations: { ...template?.metadata?.annotations, 'cronjob.kubernetes.io/instantiate': 'manual' },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'CronJob', name: metadata.name, uid: metadata.uid, controller: true }],
    },
  };
}

function runNow(kind: Kind, object: ClusterObject): ObjectAction {
  const { name, namespace = '' } = object.metadata;
  const job = manualJob(object, new Date()) as { metadata: { name: string } };
  const command = ['create', 'job', job.metadata.name, `--from=cronjob/${name}`, '-n', namespace];
  return {
    ...{ label: 'act.run', hint: 'act.runHint', icon: Play, command: kubectl(...command), isAtHand: true },
    right: { verb: 'create', group: 'batch', resource: 'jobs', namespace },
    send: (query) => write<Changed>(apiPath({ ...kind, resource: 'jobs' }, { namespace }) + query, { method: 'POST', body: job }),
    message: t('act.ran', { name: job.metadata.name }),
  };
}
