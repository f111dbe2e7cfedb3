/** Volumes of pods, and the sources of PersistentVolumes. Kubernetes API: core/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

export interface VolumeRow {
  name: string;
  /** The member of the API, such as `configMap`. */
  type: string;
  /** Objects that the volume holds. */
  objects: readonly { kind: string; name: string }[];
  /** Further figures of the volume: a path, a driver, a size. */
  text: string;
  mounts: readonly { container: string; path: string }[];
}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? (value as Members) : {});
const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.map(membersOf) : []);
const textsOf = (source: Members, members: readonly string[]): string[] =>
  members.flatMap((member) => (typeof source[member] === 'string' && source[member] !== '' ? [source[member]] : []));

const named = (kind: string, name: unknown) => (typeof name === 'string' && name !== '' ? [{ kind, name }] : []);

/** Lists the volumes of a pod with the objects that they hold and the places where containers mount them. */
export function volumeRows({ metadata, spec = {} }: ClusterObject): VolumeRow[] {
  const containers = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((member) => listOf(spec[member]));
  return listOf(spec.volumes).map(({ name: given, ...volume }) => {
    const name = String(given);
    const [type = 'emptyDir'] = Object.keys(volume);
    const source = membersOf(volume[type]);
    const mounts = containers.flatMap((container) =>
      listOf(container.volumeMounts)
        .filter((mount) => mount.name === name)
        .map(({ mountPath }) => ({ container: String(container.name), path: String(mountPath) })),
    );
    const objects =
      type === 'ephemeral' ? named('PersistentVolumeClaim', metadata.name && `${metadata.name}-${name}`) : objectsIn(type, source);
    return { name, type, objects, mounts, text: textsOf(source, volumeDetails[type] ?? []).join(' ') };
  });
}

function objectsIn(type: string, source: Members): VolumeRow['objects'] {
  if (type === 'persistentVolumeClaim') return named('PersistentVolumeClaim', source.claimName);
  if (type === 'configMap') return named('ConfigMap', source.name);
  if (type === 'secret') return named('Secret', source.secretName ?? source.name);
  const parts = type === 'projected' ? listOf(source.sources) : [];
  return parts.flatMap((part) => ['configMap', 'secret'].flatMap((member) => objectsIn(member, membersOf(part[member]))));
}

const details: Readonly<Record<string, readonly string[]>> = {
  csi: ['driver', 'volumeHandle'],
  hostPath: ['path'],
  local: ['path'],
  nfs: ['server', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  fc: ['targetWWNs', 'lun'],
};

/** Members of the source of a pod's volume that say where it is, or how large it may be. */
const volumeDetails: Readonly<Record<string, readonly string[]>> = {
  ...details,
  csi: ['driver'],
  emptyDir: ['medium', 'sizeLimit'],
  image: ['reference'],
  volumeClaimTemplate: ['storage', 'storageClassName'],
};

/** Prints the place of a volume: `csi disks.example.com vol-1`. */
export function sourceOf({ spec = {} }: ClusterObject): string {
  const found = Object.entries(details).find(([name]) => typeof spec[name] === 'object' && spec[name] !== null);
  if (found === undefined) return '';
  const [name, members] = found;
  const source = spec[name] as Record<string, unknown>;
  return [name, ...members.flatMap((member) => (source[member] === undefined ? [] : [String(source[member])]))].join(' ');
}
