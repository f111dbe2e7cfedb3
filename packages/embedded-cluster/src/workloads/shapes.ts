/** The parts of workload objects that the controllers read and write. Kubernetes API: core/v1, apps/v1, batch/v1. */
import { badRequest } from '@atrium/objects/status.ts';
import { type KubernetesObject, type ObjectMeta, type StoredObject, timestamp } from '../objects.ts';

type Labels = Readonly<Record<string, string>>;

export interface ContainerSpec {
  name: string;
  image: string;
  /** `Always` makes an init container a sidecar. */
  restartPolicy?: 'Always';
  /** Names the container whose processes an ephemeral container sees. */
  targetContainerName?: string;
  [field: string]: unknown;
}

interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: { exitCode: number; reason: string; startedAt: string; finishedAt: string };
}

export interface ContainerStatus extends Pick<ContainerSpec, 'name' | 'image'> {
  imageID: string;
  ready: boolean;
  started: boolean;
  restartCount: number;
  state: ContainerState;
  lastState: ContainerState;
}

export interface Condition {
  type: string;
  status: 'True' | 'False';
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

interface PodSpec {
  containers: ContainerSpec[];
  initContainers?: ContainerSpec[];
  ephemeralContainers?: ContainerSpec[];
  nodeName?: string;
  nodeSelector?: Labels;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  volumes?: { name: string }[];
  [field: string]: unknown;
}

export interface PodStatus {
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  startTime?: string;
  podIP?: string;
  conditions?: Condition[];
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
}

export interface Pod extends StoredObject {
  spec: PodSpec;
  status: PodStatus;
}

interface Template<Spec> {
  metadata?: Pick<ObjectMeta, 'labels' | 'annotations'>;
  spec: Spec;
}
export type PodTemplate = Template<PodSpec>;

/** An object of a controller. */
interface Controlled<Spec, Status = unknown> extends StoredObject {
  spec: Spec;
  status?: Status;
}

interface WorkloadSpec {
  replicas: number;
  selector: { matchLabels?: Labels };
  template: PodTemplate;
  revisionHistoryLimit: number;
}

export type ReplicaSet = Controlled<WorkloadSpec, { replicas?: number; readyReplicas?: number }>;
export type StatefulSet = Controlled<
  WorkloadSpec & { volumeClaimTemplates?: readonly { metadata: { name: string } }[] },
  { currentRevision?: string }
>;
export type DaemonSet = Controlled<Omit<WorkloadSpec, 'replicas'>>;
export type Deployment = Controlled<
  WorkloadSpec & {
    paused?: boolean;
    progressDeadlineSeconds: number;
    strategy: { type: 'RollingUpdate' | 'Recreate'; rollingUpdate?: { maxSurge: number | string; maxUnavailable: number | string } };
  },
  { observedGeneration?: number; updatedReplicas?: number; readyReplicas?: number; conditions?: Condition[] }
>;

export interface ControllerRevision extends StoredObject {
  data: { spec: { template: PodTemplate & { $patch: string } } };
  revision: number;
}

interface JobSpec {
  completions?: number;
  parallelism: number;
  backoffLimit: number;
  suspend?: boolean;
  template: PodTemplate;
}

export type Job = Controlled<JobSpec, { startTime?: string; active?: number; conditions?: Condition[] }>;
export type CronJob = Controlled<
  {
    schedule: string;
    timeZone?: string;
    suspend?: boolean;
    concurrencyPolicy: 'Allow' | 'Forbid' | 'Replace';
    successfulJobsHistoryLimit: number;
    failedJobsHistoryLimit: number;
    jobTemplate: Template<JobSpec>;
  },
  { lastScheduleTime?: string }
>;

export type Node = Controlled<{ unschedulable?: boolean }>;

export interface ScalerMetric {
  resource?: { name: string; target: { averageUtilization?: number; averageValue?: string } };
}
export type Scaler = Controlled<
  { scaleTargetRef: { kind: string; name: string }; minReplicas?: number; maxReplicas: number; metrics?: ScalerMetric[] },
  { conditions?: Condition[]; lastScaleTime?: string }
>;

export type Service = Controlled<{
  selector?: Labels;
  ports?: { name?: string; port: number; targetPort?: number | string; protocol?: string }[];
}>;

export const collections = {
  pods: '/pods',
  nodes: '/nodes',
  services: '/services',
  deployments: 'apps/deployments',
  replicaSets: 'apps/replicasets',
  statefulSets: 'apps/statefulsets',
  daemonSets: 'apps/daemonsets',
  revisions: 'apps/controllerrevisions',
  jobs: 'batch/jobs',
  cronJobs: 'batch/cronjobs',
  budgets: 'policy/poddisruptionbudgets',
  endpointSlices: 'discovery.k8s.io/endpointslices',
  quotas: '/resourcequotas',
  scalers: 'autoscaling/horizontalpodautoscalers',
} as const;

export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** Adds the time of a condition, which stays until its status changes. */
export function conditionSince(old: readonly Condition[] | undefined, next: Condition, now: Date): Condition {
  const before = conditionOf(old, next.type);
  const since = before?.status === next.status ? before.lastTransitionTime : undefined;
  return { ...next, lastTransitionTime: since ?? timestamp(now) };
}

export const hasLabels = ({ metadata }: KubernetesObject, wanted: Labels = {}): boolean =>
  Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value);

/** Returns the containers of a pod of all sorts. */
export const allContainers = ({ spec: { initContainers = [], containers, ephemeralContainers = [] } }: Pod): ContainerSpec[] =>
  [initContainers, containers, ephemeralContainers].flat();

/** Returns the statuses of the containers of a pod of all sorts. */
export const statusesOf = ({ status }: Pod): ContainerStatus[] =>
  [status.initContainerStatuses ?? [], status.containerStatuses ?? [], status.ephemeralContainerStatuses ?? []].flat();

/** Returns whether an init container runs on beside the containers of the pod. */
export const isSidecar = ({ restartPolicy }: ContainerSpec): boolean => restartPolicy === 'Always';

export const isReady = ({ status }: Pod): boolean => conditionOf(status.conditions, 'Ready')?.status === 'True';

/** Returns whether a pod still counts for its controller. */
export const isActive = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && status.phase !== 'Succeeded' && status.phase !== 'Failed';

/** @throws StatusError 400 in the words of kube-apiserver and the kubelet */
export function containerOf(pod: Pod, name: string): ContainerStatus {
  const { metadata, spec } = pod;
  const names = allContainers(pod).map((container) => container.name);
  if (name === '' && spec.containers.length > 1)
    throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`);
  const wanted = name || spec.containers[0]?.name;
  if (wanted === undefined || !names.includes(wanted)) throw badRequest(`container ${name} is not valid for pod ${metadata.name}`);
  const found = statusesOf(pod).find((one) => one.name === wanted);
  if (found !== undefined) return found;
  const isPlaced = spec.nodeName !== undefined;
  const waiting = `container "${wanted}" in pod "${metadata.name}" is waiting to start: ContainerCreating`;
  throw badRequest(isPlaced ? waiting : `pod ${metadata.name} does not have a host assigned`);
}
