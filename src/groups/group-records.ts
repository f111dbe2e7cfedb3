import { isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import type { ResourceKind } from '../kubernetes/resource-client.ts';
import { groupResource } from '../users/record/local-groups.ts';

export const groupKind: ResourceKind = { type: groupResource, kind: 'Group' };

/** One of `spec.users`. */
export interface Member {
  name: string;
  importTime?: string;
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
