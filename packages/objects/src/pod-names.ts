/** Names that controllers give to pods, and to the objects between. Without labels, they are all that tells the workload of a pod. */

/** Letters of generated names (k8s.io/apimachinery, `rand.SafeEncodeString`). */
const random = '[bcdfghjklmnpqrstvwxz2456789]';

/** Suffixes of the pods of a workload. A Job of a CronJob is named by the minute of its schedule. */
const suffixes = {
  deployments: `-${random}{1,10}-${random}{5}`,
  replicasets: `-${random}{5}`,
  daemonsets: `-${random}{5}`,
  statefulsets: '-[0-9]+',
  jobs: `(-[0-9]+)?-${random}{5}`,
  cronjobs: `-[0-9]+(-[0-9]+)?-${random}{5}`,
} as const;

export type NamingWorkload = keyof typeof suffixes;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Returns a regular expression that matches whole names of pods of a workload, in the syntax that JavaScript and RE2 share. */
export const podNames = (resource: NamingWorkload, name: string): string => escaped(name) + suffixes[resource];

const between: Readonly<Partial<Record<NamingWorkload, { kind: string; suffix: string }>>> = {
  deployments: { kind: 'ReplicaSet', suffix: `-${random}{1,10}` },
  cronjobs: { kind: 'Job', suffix: '-[0-9]+' },
};

/** Returns a test for the pods of a workload and for the objects between, by their kind and name. */
export function namedAfter(resource: NamingWorkload, name: string): (kind: string, name: string) => boolean {
  const pods = new RegExp(`^${podNames(resource, name)}$`);
  const { kind: middle, suffix = '' } = between[resource] ?? {};
  const owners = new RegExp(`^${escaped(name)}${suffix}$`);
  return (kind, other) => (kind === 'Pod' && pods.test(other)) || (kind === middle && owners.test(other));
}
