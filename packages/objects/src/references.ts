/** Objects that a pod, a template of pods or an Ingress refers to by name, in its own namespace. */

import { listOf, type Members, membersOf, textOf } from './members.ts';

export type UsedKind = 'ConfigMap' | 'Secret' | 'PersistentVolumeClaim' | 'ServiceAccount';

export interface Reference {
  kind: UsedKind;
  name: string;
  /** Places that refer to it, such as `env DB_HOST`, `volume data` and `imagePullSecrets`. */
  by: readonly string[];
}

type Found = readonly [kind: UsedKind, name: unknown, by: string];

/** Returns the spec of the pods that an object has or makes: a Pod, or a workload, Job or CronJob with a template. */
export function podSpecOf(object: unknown): Members | undefined {
  const { kind, spec } = membersOf(object);
  const own = membersOf(spec);
  if (kind === 'Pod') return own;
  const { template } = kind === 'CronJob' ? membersOf(membersOf(own.jobTemplate).spec) : own;
  return template === undefined ? undefined : membersOf(membersOf(template).spec);
}

/** Returns what a pod or its template uses, each once, in the order of kinds and names. */
export function referencesOf(object: unknown): Reference[] {
  const spec = podSpecOf(object);
  if (spec === undefined) return [];
  const containers = [...listOf(spec.initContainers), ...listOf(spec.containers), ...listOf(spec.ephemeralContainers)];
  const podName = membersOf(object).kind === 'Pod' ? textOf(membersOf(membersOf(object).metadata).name) : '';
  return merged([
    ...containers.flatMap(ofContainer),
    ...listOf(spec.volumes).flatMap((volume) => ofVolume(volume, podName)),
    ...listOf(spec.imagePullSecrets).map(({ name }) => ['Secret', name, 'imagePullSecrets'] as const),
    ['ServiceAccount', textOf(spec.serviceAccountName) || textOf(spec.serviceAccount) || 'default', 'serviceAccountName'],
  ]);
}

function ofContainer({ env, envFrom }: Members): Found[] {
  return [
    ...listOf(envFrom).flatMap(({ configMapRef, secretRef }): Found[] => [
      ['ConfigMap', membersOf(configMapRef).name, 'envFrom'],
      ['Secret', membersOf(secretRef).name, 'envFrom'],
    ]),
    ...listOf(env).flatMap(({ name, valueFrom }): Found[] => {
      const { configMapKeyRef, secretKeyRef } = membersOf(valueFrom);
      const by = `env ${textOf(name)}`;
      return [
        ['ConfigMap', membersOf(configMapKeyRef).name, by],
        ['Secret', membersOf(secretKeyRef).name, by],
      ];
    }),
  ];
}

/** Volume plugins that name a Secret, and the member with its name. */
const secretMembers = [
  ['secretRef', 'name'],
  ['nodePublishSecretRef', 'name'],
  ['secretName', ''],
] as const;

function ofVolume(volume: Members, podName: string): Found[] {
  const by = `volume ${textOf(volume.name)}`;
  const { configMap, secret, persistentVolumeClaim, ephemeral, projected } = volume;
  const plugins = ['csi', 'azureFile', 'cephfs', 'rbd', 'iscsi', 'flexVolume', 'scaleIO', 'storageos', 'cinder'].map((name) =>
    membersOf(volume[name]),
  );
  const projections = listOf(membersOf(projected).sources).flatMap((source): Found[] => [
    ['ConfigMap', membersOf(source.configMap).name, by],
    ['Secret', membersOf(source.secret).name, by],
  ]);
  return [
    ['ConfigMap', membersOf(configMap).name, by],
    ['Secret', membersOf(secret).secretName, by],
    ['PersistentVolumeClaim', membersOf(persistentVolumeClaim).claimName, by],
    // The claim of a generic ephemeral volume has the names of both.
    ['PersistentVolumeClaim', ephemeral !== undefined && podName !== '' && `${podName}-${textOf(volume.name)}`, by],
    ...plugins.flatMap((plugin) =>
      secretMembers.map(([member, inner]): Found => ['Secret', inner === '' ? plugin[member] : membersOf(plugin[member])[inner], by]),
    ),
    ...projections,
  ];
}

/** Returns the Secrets with the certificates of an Ingress. */
export const certificatesOf = (ingress: unknown): Reference[] =>
  merged(listOf(membersOf(membersOf(ingress).spec).tls).map(({ secretName }): Found => ['Secret', secretName, 'tls']));

/** Returns the names of the Services to which an Ingress sends requests. */
export function backendsOf(ingress: unknown): string[] {
  const { defaultBackend, rules } = membersOf(membersOf(ingress).spec);
  const paths = listOf(rules).flatMap(({ http }) => listOf(membersOf(http).paths));
  const backends = [defaultBackend, ...paths.map(({ backend }) => backend)];
  return [...new Set(backends.map((backend) => textOf(membersOf(membersOf(backend).service).name)))].filter(Boolean);
}

/** Returns the Secrets that a ServiceAccount names. */
export const secretsOf = (account: unknown): Reference[] => {
  const { secrets, imagePullSecrets } = membersOf(account);
  return merged([
    ...listOf(secrets).map(({ name }): Found => ['Secret', name, 'secrets']),
    ...listOf(imagePullSecrets).map(({ name }): Found => ['Secret', name, 'imagePullSecrets']),
  ]);
};

function merged(found: readonly Found[]): Reference[] {
  const references = new Map<string, { kind: UsedKind; name: string; by: Set<string> }>();
  for (const [kind, given, by] of found) {
    const name = textOf(given);
    if (name === '') continue;
    const known = references.get(`${kind}/${name}`) ?? { kind, name, by: new Set() };
    references.set(`${kind}/${name}`, known);
    known.by.add(by);
  }
  return [...references.values()]
    .map(({ by, ...reference }) => ({ ...reference, by: [...by] }))
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
}

const order: readonly UsedKind[] = ['ConfigMap', 'Secret', 'PersistentVolumeClaim', 'ServiceAccount'];
