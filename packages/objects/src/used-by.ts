/** Objects that refer to a ConfigMap, Secret, claim or account. */

import { podLabels, selectsLabels } from './chain.ts';
import { membersOf } from './members.ts';
import { certificatesOf, type Reference, referencesOf, secretsOf, type UsedKind } from './references.ts';

export interface User {
  object: unknown;
  by: readonly string[];
  /** Number of pods that a workload has made and that refer to it, too. */
  pods: number;
}

function allReferences(object: unknown): Reference[] {
  const { kind } = membersOf(object);
  return kind === 'Ingress' ? certificatesOf(object) : kind === 'ServiceAccount' ? secretsOf(object) : referencesOf(object);
}

/** Returns the users of an object among those that were read. Pods of a workload that uses it are counted with the workload. */
export function usersOf(used: { kind: UsedKind; name: string }, read: readonly unknown[]): User[] {
  const found = read.flatMap((object) => {
    const reference = allReferences(object).find(({ kind, name }) => kind === used.kind && name === used.name);
    return reference === undefined ? [] : [{ object, by: reference.by, pods: 0 }];
  });
  const isPod = ({ object }: User): boolean => membersOf(object).kind === 'Pod';
  const users = found.filter((user) => !isPod(user));
  for (const pod of found.filter(isPod)) {
    const { labels, ownerReferences } = membersOf(membersOf(pod.object).metadata);
    const workload = ownerReferences === undefined ? undefined : users.find(({ object }) => selectsLabels(podLabels(object), labels));
    if (workload === undefined) users.push(pod);
    else workload.pods += 1;
  }
  return users;
}
