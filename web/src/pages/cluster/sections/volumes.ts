/** Volumes of pods, and the sources of PersistentVolumes. Kubernetes API: core/v1. */

import type { ClusterObject } from '../../../api/object-types.ts';

interface PodVolume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  ephemeral?: object;
}

/** Lists the claims that a pod uses. The claim of an ephemeral volume is named after pod and volume. */
export function claimsOf({ metadata, spec }: ClusterObject): string[] {
  const volumes = (Array.isArray(spec?.volumes) ? spec.volumes : []) as readonly PodVolume[];
  return volumes.flatMap(({ name, persistentVolumeClaim: claim, ephemeral }) =>
    claim ? [claim.claimName] : ephemeral ? [`${metadata.name}-${name}`] : [],
  );
}

const details: Readonly<Record<string, readonly string[]>> = {
  csi: ['driver', 'volumeHandle'],
  hostPath: ['path'],
  local: ['path'],
  nfs: ['server', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  fc: ['targetWWNs', 'lun'],
};

/** Prints the place of a volume: `csi disks.example.com vol-1`. */
export function sourceOf({ spec = {} }: ClusterObject): string {
  const found = Object.entries(details).find(([name]) => typeof spec[name] === 'object' && spec[name] !== null);
  if (found === undefined) return '';
  const [name, members] = found;
  const source = spec[name] as Record<string, unknown>;
  return [name, ...members.flatMap((member) => (source[member] === undefined ? [] : [String(source[member])]))].join(' ');
}
