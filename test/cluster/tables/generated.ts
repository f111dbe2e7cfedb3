/** Objects at random, the same ones for the same seed, with statuses that controllers and kubelets write in odd moments. */

import { randomNumbers } from '../../support/random-numbers.ts';

export interface Generated {
  path: string;
  body: { metadata: { name: string; [member: string]: unknown }; [member: string]: unknown };
  status?: object;
  isDeleted?: boolean;
}

const namespaced = (group: string, resource: string) => `${group}/namespaces/default/${resource}`;
export const paths = {
  pods: namespaced('/api/v1', 'pods'),
  nodes: '/api/v1/nodes',
  events: namespaced('/api/v1', 'events'),
  jobs: namespaced('/apis/batch/v1', 'jobs'),
  cronjobs: namespaced('/apis/batch/v1', 'cronjobs'),
  deployments: namespaced('/apis/apps/v1', 'deployments'),
  statefulsets: namespaced('/apis/apps/v1', 'statefulsets'),
  daemonsets: namespaced('/apis/apps/v1', 'daemonsets'),
  replicasets: namespaced('/apis/apps/v1', 'replicasets'),
} as const;

/** Chooses at random. */
export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomNumbers(seed);
    // The first numbers of near seeds are alike.
    for (let round = 0; round < 20; round += 1) this.#random();
  }

  pick<T>(...of: readonly [T, ...T[]]): T {
    return of[Math.floor(this.#random() * of.length)] ?? of[0];
  }

  /** Returns a whole number below a limit. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  is(share: number): boolean {
    return this.#random() < share;
  }

  /** Returns members with a value, each with a probability. */
  some(members: object, share = 0.5): object {
    return Object.fromEntries(Object.entries(members).filter(() => this.is(share)));
  }

  shuffled<T>(of: readonly T[]): T[] {
    return of
      .map((one) => ({ one, at: this.#random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
  }
}

const dayMs = 86_400_000;
/** Returns a time at noon of a past day: ages of days do not change while a test runs. */
const pastTime = (dice: Dice, now: Date): string =>
  new Date(now.getTime() - (9 + dice.below(700)) * dayMs - dayMs / 2).toISOString().replace(/\.\d+/, '');

function containerState(dice: Dice, time: () => string): object {
  const finished = { startedAt: time(), finishedAt: time() };
  return dice.pick<() => object>(
    () => ({}),
    () => ({ running: { startedAt: time() } }),
    () => ({ running: { startedAt: time() } }),
    () => ({ waiting: dice.some({ reason: dice.pick('ContainerCreating', 'PodInitializing', 'CrashLoopBackOff', 'ErrImagePull') }, 0.8) }),
    () => ({ terminated: { exitCode: 0, ...dice.some({ reason: 'Completed' }, 0.8), ...finished } }),
    () => ({
      terminated: {
        ...{ exitCode: dice.pick(1, 2, 137, 143), ...finished },
        ...dice.some({ reason: dice.pick('Error', 'OOMKilled', 'Completed'), signal: dice.pick(9, 15), message: 'ended' }, 0.5),
      },
    }),
  )();
}

const image = (name: string) => `registry.example.com/${name}:1`;
const named = (kind: string, count: number) => Array.from({ length: count }, (_, index) => `${kind}${index}`);

function statuses(dice: Dice, names: readonly string[], time: () => string): object[] {
  const known = dice.is(0.1) ? names.slice(1) : names;
  return (dice.is(0.1) ? dice.shuffled(known) : known).map((name) => ({
    ...{
      name,
      image: image(name),
      imageID: '',
      ready: dice.is(0.5),
      restartCount: dice.pick(0, 0, 1, 7),
      state: containerState(dice, time),
    },
    ...dice.some({ started: dice.is(0.6) }, 0.8),
    lastState: dice.is(0.3) ? { terminated: { exitCode: 1, reason: 'Error', startedAt: time(), finishedAt: time() } } : {},
  }));
}

const condition = (type: string, status: string, more: object = {}) => ({ type, status, ...more });

/** Returns a pod that has ended well, with sidecars that were killed at the end. */
function donePod(dice: Dice, index: number, now: Date): Generated {
  const [startedAt, finishedAt] = [pastTime(dice, now), pastTime(dice, now)].sort();
  const ended = (name: string, exitCode: number, reason: string) => ({
    ...{ name, image: image(name), imageID: '', ready: false, restartCount: dice.pick(0, 2) },
    state: { terminated: { exitCode, reason, startedAt, finishedAt } },
  });
  const spec = {
    restartPolicy: dice.pick('OnFailure', 'Never'),
    initContainers: [{ name: 'side', image: image('side'), restartPolicy: 'Always' }],
    containers: [{ name: 'main', image: image('main') }],
  };
  const status = {
    phase: 'Succeeded',
    conditions: [condition('Initialized', 'True', { reason: 'PodCompleted' }), condition('Ready', 'False', { reason: 'PodCompleted' })],
    initContainerStatuses: [ended('side', dice.pick(0, 137, 143), dice.pick('Error', 'OOMKilled', 'Completed'))],
    containerStatuses: [ended('main', 0, 'Completed')],
  };
  return { path: paths.pods, body: { metadata: { name: `pod-${index}` }, spec }, status };
}

export function pod(dice: Dice, index: number, now: Date): Generated {
  if (dice.is(0.1)) return donePod(dice, index, now);
  const time = () => pastTime(dice, now);
  const [init, main, debug] = [named('init', dice.pick(0, 0, 1, 3)), named('main', dice.pick(1, 1, 2, 3)), dice.is(0.1)];
  const truth = () => dice.pick('True', 'True', 'False', 'Unknown');
  const conditions = [
    ...(dice.is(0.6) ? [condition('Ready', truth())] : []),
    ...(dice.is(0.6) ? [condition('Initialized', truth())] : []),
    ...(dice.is(0.3) ? [condition('PodScheduled', truth(), dice.some({ reason: dice.pick('SchedulingGated', 'Unschedulable') }))] : []),
    ...(dice.is(0.3) ? [condition('example.com/gate', truth())] : []),
  ];
  const spec = {
    restartPolicy: dice.pick('Always', 'OnFailure', 'Never'),
    initContainers: init.map((name) => ({ name, image: image(name), ...(dice.is(0.4) && { restartPolicy: 'Always' }) })),
    containers: main.map((name) => ({ name, image: image(name) })),
    ...dice.some(
      { nodeName: 'node-1', readinessGates: [{ conditionType: 'example.com/gate' }, { conditionType: 'example.com/other' }] },
      0.2,
    ),
  };
  return {
    path: paths.pods,
    body: { metadata: { name: `pod-${index}`, finalizers: ['example.com/kept'] }, spec },
    status: {
      ...{ phase: dice.pick('Pending', 'Running', 'Running', 'Succeeded', 'Failed', 'Unknown'), conditions },
      ...{ initContainerStatuses: statuses(dice, init, time), containerStatuses: statuses(dice, main, time) },
      ...dice.some({ reason: dice.pick('Evicted', 'NodeLost', 'NodeLost'), message: 'a message', nominatedNodeName: 'node-2' }, 0.2),
      ...(dice.is(0.4) && { podIP: '10.0.0.3', podIPs: [{ ip: '10.0.0.3' }] }),
      ...(debug && { ephemeralContainerStatuses: statuses(dice, ['debug'], time) }),
    },
    isDeleted: dice.is(0.2),
  };
}

const labels = { app: 'generated' };
const template = (restartPolicy = 'Always') => ({
  metadata: { labels },
  spec: { restartPolicy, containers: ['a', 'b'].map((name) => ({ name, image: image(name) })) },
});

export function job(dice: Dice, index: number, now: Date): Generated {
  const time = () => pastTime(dice, now);
  const types = dice.shuffled(['Complete', 'Failed', 'Suspended', 'FailureTarget', 'SuccessCriteriaMet']).slice(0, dice.pick(0, 1, 1, 2));
  const [start, end] = [time(), time()].sort();
  return {
    path: paths.jobs,
    body: {
      metadata: { name: `job-${index}`, finalizers: ['example.com/kept'] },
      spec: {
        ...{ suspend: dice.is(0.3), template: template('Never') },
        ...dice.some({ completions: dice.pick(1, 3, 5), parallelism: dice.pick(0, 1, 2, 4) }),
      },
    },
    status: {
      conditions: types.map((type) =>
        condition(type, dice.pick('True', 'True', 'False'), { reason: 'Generated', lastTransitionTime: end }),
      ),
      ...(dice.is(0.8) && { startTime: start, ...(types.includes('Complete') && { completionTime: end }) }),
      ...dice.some({ active: dice.below(4), succeeded: dice.below(4), failed: dice.below(4) }),
    },
    isDeleted: dice.is(0.2),
  };
}

/** Returns a field of a schedule. */
function field(dice: Dice, low: number, high: number, names: readonly string[] = []): string {
  const number = () => low + dice.below(high - low + 1);
  const word = (value: number) => (names.length > 0 && dice.is(0.3) ? (names[value - low] ?? String(value)) : String(value));
  const range = () => {
    const [from = low, to = high] = [number(), number()].sort((a, b) => a - b);
    return `${word(from)}-${word(to)}`;
  };
  const part = () =>
    dice.pick<() => string>(
      () => '*',
      () => word(number()),
      () => word(number()),
      range,
      () => `*/${dice.pick(1, 2, 3, 5, 15)}`,
      () => `${range()}/${dice.pick(1, 2, 7)}`,
      () => `${word(number())}/${dice.pick(1, 2, 9)}`,
      () => '?',
    )();
  return dice.is(0.2) ? [part(), part()].join(',') : part();
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['SUN', 'mon', 'Tue', 'wed', 'thu', 'fri', 'sat'];

export function schedule(dice: Dice): string {
  if (dice.is(0.05)) return dice.pick('@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually');
  const any = (text: string) => (dice.is(0.3) ? '*' : text);
  return [
    ...[field(dice, 0, 59), any(field(dice, 0, 23)), any(field(dice, 1, 31))],
    ...[any(field(dice, 1, 12, monthNames)), any(field(dice, 0, 6, dayNames))],
  ].join(dice.pick(' ', ' ', '  '));
}

/** Texts that cron takes or refuses in odd ways. */
export const oddSchedules = [
  ...['60 * * * *', '* * 0 * *', '* * 32 * *', '* * * 13 *', '* * * * 7', '*/0 * * * *', '5-1 * * * *', 'a * * * *', '1/2/3 * * * *'],
  ...['', ' ', '* * * *', '* * * * * *', '@Daily', '@daily ', ' @daily', '@every 5d', '@every', '@reboot', '-1 * * * *', '1- * * * *'],
  ...[
    '+5 * * * *',
    '*/+5 * * * *',
    '05 010 * * *',
    ', * * * *',
    '1,,2 * * * *',
    ',1 * * * *',
    '*-5 * * * *',
    '*-5/2 0 * * *',
    '?/2 0 * * *',
  ],
  ...['1-2-3 * * * *', '* * * jan-mar *', '* * * JAN *', '* * * * mon-fri', '* * * * sunday', '0 0 1-31 * 3', '0 0 */1 * 3', '0 0 5,* * 3'],
  ...['0 0 31 2 *', '0 0 30 feb *', '0 0 29 2 *', '0 0 , * *', '0 0 */2 * 3', '30 6 1 * */3', '1.5 * * * *', '* * * * mon#1', '0 0 L * *'],
];

/** The library runs late on days on which the clock of Australia/Lord_Howe changes by half an hour. */
const zones = [
  'Etc/UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'America/Havana',
  'America/Santiago',
  'Pacific/Chatham',
] as const;
export const zone = (dice: Dice) => dice.pick<string>(...zones);

export function cronJob(dice: Dice, index: number, now: Date): Generated {
  const reference = (of: number) => ({ apiVersion: 'batch/v1', kind: 'Job', name: `job-${of}`, namespace: 'default', uid: `${of}` });
  return {
    path: paths.cronjobs,
    body: {
      metadata: { name: `cron-${index}` },
      spec: {
        ...{ schedule: schedule(dice), jobTemplate: { spec: { template: template('Never') } } },
        ...dice.some({ timeZone: zone(dice), suspend: dice.is(0.5) }),
      },
    },
    status: dice.some({
      active: Array.from({ length: dice.below(4) }, (_, of) => reference(of)),
      lastScheduleTime: pastTime(dice, now),
      lastSuccessfulTime: pastTime(dice, now),
    }),
  };
}

/** Counts of a status, most of them near the number that is wanted. */
function counts(dice: Dice, wanted: number, names: readonly string[]): Record<string, number> {
  const near = () => (dice.is(0.6) ? wanted : Math.max(0, wanted + dice.pick(-2, -1, 1, 2)));
  return Object.fromEntries(names.map((name) => [name, near()]));
}

const progressing = ['ProgressDeadlineExceeded', 'ProgressDeadlineExceeded', 'NewReplicaSetAvailable', 'ReplicaSetCreateError'] as const;

export function deployment(dice: Dice, index: number): Generated {
  const replicas = dice.pick(0, 1, 3, 5);
  const reason = dice.pick(...progressing);
  return {
    path: paths.deployments,
    body: {
      metadata: { name: `deployment-${index}` },
      spec: { replicas, paused: dice.is(0.1), selector: { matchLabels: labels }, template: template() },
    },
    status: {
      ...{ observedGeneration: dice.pick(0, 1, 1, 1, 2) },
      ...counts(dice, replicas, ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas']),
      conditions: [
        ...(dice.is(0.3) ? [condition('Progressing', reason === 'NewReplicaSetAvailable' ? 'True' : 'False', { reason })] : []),
        ...(dice.is(0.1) ? [condition('ReplicaFailure', 'True', { reason: 'FailedCreate' })] : []),
      ],
    },
  };
}

export function statefulSet(dice: Dice, index: number): Generated {
  const replicas = dice.pick(0, 1, 3, 5);
  const type = dice.pick('RollingUpdate', 'RollingUpdate', 'OnDelete');
  const rollingUpdate = type === 'RollingUpdate' && dice.is(0.7) ? { rollingUpdate: { partition: dice.pick(0, 1, 2, 9) } } : {};
  return {
    path: paths.statefulsets,
    body: {
      metadata: { name: `stateful-${index}` },
      spec: {
        replicas,
        serviceName: 'db',
        selector: { matchLabels: labels },
        template: template(),
        updateStrategy: { type, ...rollingUpdate },
      },
    },
    status: {
      ...{ observedGeneration: dice.pick(0, 1, 1, 1, 2), currentRevision: dice.pick('a', 'b'), updateRevision: 'b' },
      ...counts(dice, replicas, ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas', 'currentReplicas']),
    },
  };
}

export function daemonSet(dice: Dice, index: number): Generated {
  const wanted = dice.pick(0, 1, 3, 5);
  const fields = ['currentNumberScheduled', 'numberReady', 'updatedNumberScheduled', 'numberAvailable'];
  return {
    path: paths.daemonsets,
    body: {
      metadata: { name: `daemon-${index}` },
      spec: {
        ...{ selector: { matchLabels: labels }, updateStrategy: { type: dice.pick('RollingUpdate', 'RollingUpdate', 'OnDelete') } },
        template: { ...template(), spec: { ...template().spec, ...dice.some({ nodeSelector: { disk: 'ssd', arch: 'arm' } }) } },
      },
    },
    status: {
      ...{ observedGeneration: dice.pick(0, 1, 1, 1, 2), desiredNumberScheduled: wanted, numberMisscheduled: 0 },
      ...counts(dice, wanted, fields),
    },
  };
}

export function replicaSet(dice: Dice, index: number): Generated {
  const replicas = dice.pick(0, 1, 3);
  return {
    path: paths.replicasets,
    body: { metadata: { name: `set-${index}` }, spec: { replicas, selector: { matchLabels: labels }, template: template() } },
    status: counts(dice, replicas, ['replicas', 'readyReplicas', 'availableReplicas']),
  };
}

export function node(dice: Dice, index: number): Generated {
  const role = (name: string) => `node-role.kubernetes.io/${name}`;
  const info = { machineID: '', systemUUID: '', bootID: '', kubeProxyVersion: '', operatingSystem: '' };
  const versions = { kubeletVersion: 'v1.36.3', osImage: 'Debian', kernelVersion: '6.12', containerRuntimeVersion: 'containerd://2' };
  const empty = Object.fromEntries(Object.keys(versions).map((name) => [name, '']));
  const addresses = ['InternalIP', 'InternalIP', 'ExternalIP', 'Hostname'].map((type, at) => ({ type, address: `10.0.0.${at}` }));
  return {
    path: paths.nodes,
    body: {
      metadata: {
        name: `node-${index}`,
        labels: dice.some({ [role('worker')]: '', [role('control-plane')]: '', 'kubernetes.io/role': 'old', disk: 'ssd' }, 0.4),
      },
      spec: { unschedulable: dice.is(0.3) },
    },
    status: {
      conditions: [
        ...(dice.is(0.3) ? [condition('MemoryPressure', 'True')] : []),
        ...(dice.is(0.8) ? [condition('Ready', dice.pick('True', 'True', 'False', 'Unknown'))] : []),
      ],
      addresses: addresses.filter(() => dice.is(0.6)),
      nodeInfo: { ...info, ...empty, architecture: dice.pick('', 'arm64'), ...dice.some(versions, 0.8) },
    },
  };
}

export function event(dice: Dice, index: number, now: Date): Generated {
  const time = () => pastTime(dice, now);
  const micro = () => time().replace('Z', '.000000Z');
  const reporter = { reportingComponent: 'example.com/reporter', reportingInstance: 'one', action: 'Test' };
  return {
    path: paths.events,
    body: {
      metadata: { name: `event-${index}`, namespace: 'default' },
      involvedObject: {
        ...{ apiVersion: 'v1', kind: dice.pick('Pod', 'ReplicaSet'), namespace: 'default' },
        ...dice.some({ name: 'web-1', fieldPath: 'spec.containers{web}' }, 0.8),
      },
      ...{ type: dice.pick('Normal', 'Warning'), reason: 'Generated', message: dice.pick('a message', ' blanks around \n', '') },
      ...dice.some({ source: { component: 'kubelet', ...dice.some({ host: 'node-1' }) } }, 0.7),
      ...dice.some({ firstTimestamp: time(), lastTimestamp: time(), count: dice.below(9) }, 0.6),
      ...(dice.is(0.4) && { eventTime: micro(), ...reporter }),
      ...(dice.is(0.2) && { series: { count: 2 + dice.below(9), lastObservedTime: micro() } }),
    },
  };
}
