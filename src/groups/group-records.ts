import { groupResource } from '../accounts/local-groups.ts';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import { isKubernetesObject, isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import type { ResourceKind } from '../kubernetes/resource-client.ts';

export const groupKind: ResourceKind = { type: groupResource, kind: 'Group' };

/** One of `spec.users`. */
export interface Member {
  name: string;
  importTime?: string;
}

export const isRefusal = (error: unknown, ...codes: number[]): error is StatusError =>
  error instanceof StatusError && codes.includes(error.status.code);

/** The Group that the API server answered. @throws StatusError 503 for anything else */
export function groupObjectOf(group: unknown): KubernetesObject {
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
