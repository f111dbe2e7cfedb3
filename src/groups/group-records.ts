import { groupResource } from '../accounts/local-groups.ts';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isKubernetesObject, isRecord, type KubernetesObject, resourcePath } from '../kubernetes/resource.ts';

/** One of `spec.users`. */
export interface Member {
  name: string;
  importTime?: string;
}

/** @returns undefined if there is no such group; @throws StatusError 503, 504 */
export async function readGroup(client: ServiceClient, name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
  try {
    return groupObjectOf(await client.request({ method: 'GET', path: resourcePath(groupResource, { name }), call: 'get groups', signal }));
  } catch (error) {
    if (isRefusal(error, 404) && error.status.details?.name === name) return undefined;
    throw isRefusal(error, 404) ? serviceUnavailable('kubernetes', { cause: error }) : error;
  }
}

export const isRefusal = (error: unknown, ...codes: number[]): error is StatusError =>
  error instanceof StatusError && codes.includes(error.status.code);

/** The Group that the API server answered; what is not stored has no version. @throws StatusError 503 for anything else */
export function groupObjectOf(answer: unknown, { isDryRun = false } = {}): KubernetesObject {
  const group =
    isDryRun && isRecord(answer) && isRecord(answer.metadata)
      ? { ...answer, metadata: { resourceVersion: '-', ...answer.metadata } }
      : answer;
  if (!isKubernetesObject(group)) throw serviceUnavailable('kubernetes', { cause: new Error('a Group without its metadata') });
  return group;
}

/** Of a local group, each once. */
export function membersOf({ spec }: KubernetesObject): Member[] {
  const users = isRecord(spec) && Array.isArray(spec.users) ? spec.users : [];
  const members = new Map<string, Member>();
  for (const user of users) {
    if (!isRecord(user) || typeof user.name !== 'string' || members.has(user.name)) continue;
    members.set(user.name, { name: user.name, ...(typeof user.importTime === 'string' && { importTime: user.importTime }) });
  }
  return [...members.values()];
}

/** Whether the members are kept here, and not by an issuer. */
export const isLocalGroup = ({ spec }: KubernetesObject): boolean => !(isRecord(spec) && isRecord(spec.refConnector));
