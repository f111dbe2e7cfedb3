import type { CoreV1Api, V1Container, V1EnvFromSource, V1EnvVar, V1Pod } from '@kubernetes/client-node';

/** Returns a field of the Pod as the downward API does (`metadata.name`, `status.podIP`, `metadata.labels['app']`, …). */
export function fieldOf(pod: V1Pod, fieldPath: string): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath);
  if (keyed) return pod.metadata?.[keyed[1] === 'labels' ? 'labels' : 'annotations']?.[keyed[2] ?? ''] ?? '';
  switch (fieldPath) {
    case 'metadata.name':
      return pod.metadata?.name ?? '';
    case 'metadata.namespace':
      return pod.metadata?.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata?.uid ?? '';
    case 'spec.nodeName':
      return pod.spec?.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec?.serviceAccountName ?? '';
    case 'status.podIP':
      return pod.status?.podIP ?? '';
    default:
      throw new Error(`the field ${fieldPath} is none that this kubelet knows`);
  }
}

/**
 * Returns the environment variables of a container, with `$(NAME)` replaced.
 *
 * @throws Error if a required reference does not exist; a kubelet does not start the container then
 */
export async function environmentOf(core: CoreV1Api, pod: V1Pod, container: V1Container): Promise<Record<string, string>> {
  const environment: Record<string, string> = {};
  for (const source of container.envFrom ?? []) Object.assign(environment, await variablesFrom(core, pod, source));
  for (const variable of container.env ?? []) {
    const value = await variableOf(core, pod, variable);
    if (value !== undefined) environment[variable.name] = expand(value, environment);
  }
  return environment;
}

/** Replaces `$(NAME)` by the variable's value. References to unknown variables stay. */
export const expand = (text: string, environment: Readonly<Record<string, string>>): string =>
  text.replace(/\$\(([-._a-zA-Z0-9]+)\)/g, (whole, name: string) => environment[name] ?? whole);

async function variablesFrom(core: CoreV1Api, pod: V1Pod, { prefix = '', configMapRef, secretRef }: V1EnvFromSource) {
  const data = await dataOf(core, pod, configMapRef, secretRef);
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [prefix + key, value]));
}

async function variableOf(core: CoreV1Api, pod: V1Pod, { name, value = '', valueFrom }: V1EnvVar): Promise<string | undefined> {
  if (!valueFrom) return value;
  const { fieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef) return fieldOf(pod, fieldRef.fieldPath);
  const reference = configMapKeyRef ?? secretKeyRef;
  if (!reference) throw new Error(`the variable ${name} comes from where this kubelet does not look`);
  const found = (await dataOf(core, pod, configMapKeyRef, secretKeyRef))[reference.key];
  if (found === undefined && !reference.optional) throw new Error(`${reference.name} has no ${reference.key}, which ${name} needs`);
  return found;
}

interface Reference {
  name?: string;
  optional?: boolean;
}

/** Returns the decoded data of the ConfigMap or the Secret. */
async function dataOf(core: CoreV1Api, pod: V1Pod, configMap?: Reference, secret?: Reference): Promise<Record<string, string>> {
  const target = { namespace: pod.metadata?.namespace ?? '', name: configMap?.name ?? secret?.name ?? '' };
  const isOptional = configMap?.optional ?? secret?.optional ?? false;
  if (configMap) return (await absentIf(isOptional, core.readNamespacedConfigMap(target)))?.data ?? {};
  const { data = {} } = (await absentIf(isOptional, core.readNamespacedSecret(target))) ?? {};
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** Returns the read object, or undefined if it is optional and does not exist. */
export async function absentIf<T>(isOptional: boolean, read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isOptional && error instanceof Error && 'code' in error && error.code === 404) return undefined;
    throw error;
  }
}
