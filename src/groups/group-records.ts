import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { ResourceKind } from '../kubernetes/resource-client.ts';
import { groupResource } from '../users/record/local-groups.ts';
import { readGroup } from './schema.ts';

export const groupKind: ResourceKind = { type: groupResource, kind: 'Group' };

/** An item of `spec.users`. */
export interface Member {
  name: string;
  importTime?: string;
}

/** Returns the members of a local group, without duplicates. */
export function membersOf(object: KubernetesObject): Member[] {
  const members = new Map<string, Member>();
  for (const { name, ...rest } of readGroup(object).spec?.users ?? []) {
    if (name !== undefined && !members.has(name)) members.set(name, { name, ...rest });
  }
  return [...members.values()];
}

/** Reports whether the service stores the members, rather than an issuer. */
export const isLocalGroup = (object: KubernetesObject): boolean => readGroup(object).spec?.refConnector === undefined;
