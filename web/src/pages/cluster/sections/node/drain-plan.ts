import { isFinished } from '@atrium/objects/pod-resources.ts';
/** Sorts the pods of a node like `kubectl drain --ignore-daemonsets`. */
import { kubectl } from '../../kubectl.ts';
import type { Pod } from '../pod/pod-shape.ts';

export interface DrainedPod {
  pod: Pod;
  /** Why it is not evicted. */
  stays?: 'daemonSet' | 'mirror';
  /** Losses that the user accepts first: `--delete-emptydir-data` and `--force`. */
  loses: readonly ('emptyDir' | 'noController')[];
}

const mirror = 'kubernetes.io/config.mirror';

export const drainPlan = (pods: readonly Pod[]): readonly DrainedPod[] => pods.map(planned);

function planned(pod: Pod): DrainedPod {
  const { metadata, spec } = pod;
  const controller = metadata.ownerReferences?.find((owner) => owner.controller === true);
  if (metadata.annotations?.[mirror] !== undefined) return { pod, stays: 'mirror', loses: [] };
  if (isFinished(pod)) return { pod, loses: [] };
  if (controller?.kind === 'DaemonSet') return { pod, stays: 'daemonSet', loses: [] };
  const volumes = Array.isArray(spec?.volumes) ? (spec.volumes as readonly { emptyDir?: unknown }[]) : [];
  const hasData = volumes.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null);
  return { pod, loses: [...(hasData ? (['emptyDir'] as const) : []), ...(controller ? [] : (['noController'] as const))] };
}

const flags = { emptyDir: '--delete-emptydir-data', noController: '--force' } as const;

export function drainCommand(node: string, plan: readonly DrainedPod[]): string {
  const losses = new Set(plan.flatMap(({ loses }) => loses));
  return kubectl('drain', node, '--ignore-daemonsets', ...[...losses].sort().map((loss) => flags[loss]));
}
