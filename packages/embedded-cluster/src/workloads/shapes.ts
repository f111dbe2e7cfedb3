/** The parts of workload objects that the controllers read and write. Kubernetes API: core/v1, apps/v1, batch/v1. */

import type { ObjectMeta, StoredObject } from '../objects.ts';

export interface ContainerSpec {
  name: string;
  image: string;
  /** `Always` makes an init container a sidecar. */
  restartPolicy?: 'Always';
  /** Names the container whose processes an ephemeral container sees. */
  targetContainerName?: string;
  [field: string]: unknown;
}

interface Ended {
  exitCode: number;
  reason: string;
  startedAt: string;
  finishedAt: string;
}

interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: Ended;
}

export interface ContainerStatus {
  name: string;
  image: string;
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
  nodeSelector?: Record<string, string>;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  [field: string]: unknown;
}

export interface PodStatus {
  phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  reason?: string;
  message?: string;
  startTime?: string;
  podIP?: string;
  hostIP?: string;
  qosClass?: string;
  conditions?: Condition[];
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
}

export interface Pod extends StoredObject {
  spec: PodSpec;
  status: PodStatus;
}

export interface PodTemplate {
  metadata?: Pick<ObjectMeta, 'labels' | 'annotations'>;
  spec: PodSpec;
}

interface Selector {
  matchLabels?: Record<string, string>;
}

interface WorkloadSpec {
  replicas: number;
  selector: Selector;
  template: PodTemplate;
}

export interface ReplicaSet extends StoredObject {
  spec: WorkloadSpec;
}

export interface Deployment extends StoredObject {
  spec: WorkloadSpec & {
    paused?: boolean;
    revisionHistoryLimit: number;
    progressDeadlineSeconds: number;
    strategy: { type: 'RollingUpdate' | 'Recreate'; rollingUpdate?: { maxSurge: number | string; maxUnavailable: number | string } };
  };
}

export interface StatefulSet extends StoredObject {
  spec: WorkloadSpec & { revisionHistoryLimit: number };
  status?: { currentRevision?: string };
}

export interface DaemonSet extends StoredObject {
  spec: Omit<WorkloadSpec, 'replicas'> & { revisionHistoryLimit: number };
}

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

export interface Job extends StoredObject {
  spec: JobSpec;
  status?: { startTime?: string; active?: number; conditions?: Condition[] };
}

export interface CronJob extends StoredObject {
  spec: {
    schedule: string;
    timeZone?: string;
    suspend?: boolean;
    concurrencyPolicy: 'Allow' | 'Forbid' | 'Replace';
    successfulJobsHistoryLimit: number;
    failedJobsHistoryLimit: number;
    jobTemplate: { metadata?: Pick<ObjectMeta, 'labels' | 'annotations'>; spec: JobSpec };
  };
  status?: { lastScheduleTime?: string };
}

export interface Node extends StoredObject {
  spec: { unschedulable?: boolean };
}

export interface ScalerMetric {
  type: string;
  resource?: { name: string; target: { averageUtilization?: number; averageValue?: string } };
}

export interface Scaler extends StoredObject {
  spec: { scaleTargetRef: { kind: string; name: string }; minReplicas?: number; maxReplicas: number; metrics?: ScalerMetric[] };
  status?: { conditions?: Condition[]; lastScaleTime?: string };
}

export interface Service extends StoredObject {
  spec: {
    selector?: Record<string, string>;
    ports?: { name?: string; port: number; targetPort?: number | string; protocol?: string }[];
  };
}

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
  limitRanges: '/limitranges',
} as const;
export type Collection = (typeof collections)[keyof typeof collections];

/** Returns the status of the condition of that type, `undefined` without one. */
export const conditionOf = (conditions: readonly Condition[] | undefined, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type);

/** Returns the containers of a pod of all sorts. */
export const allContainers = ({ spec }: Pod): ContainerSpec[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
  ...(spec.ephemeralContainers ?? []),
];

/** Returns the statuses of the containers of a pod of all sorts. */
export const statusesOf = ({ status }: Pod): ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
  ...(status.ephemeralContainerStatuses ?? []),
];

/** Returns whether an init container runs on beside the containers of the pod. */
export const isSidecar = ({ restartPolicy }: ContainerSpec): boolean => restartPolicy === 'Always';

/** Returns whether a pod counts as ready. */
export const isReady = ({ status }: Pod): boolean => conditionOf(status.conditions, 'Ready')?.status === 'True';

/** Returns whether a pod still counts for its controller. */
export const isActive = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && status.phase !== 'Succeeded' && status.phase !== 'Failed';

export { controllerOf } from '../objects.ts';
