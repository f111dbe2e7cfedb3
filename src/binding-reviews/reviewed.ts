/** Bindings of a review, and the answers that are about them as they are now. */
import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import { describedBinding, describedSubject } from '@atrium/kubernetes/rbac/grants.ts';
import type { RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import type { z } from 'zod';
import { userBindingOf } from '../explorer/rights.ts';
import { standingIn } from '../standing-access/bindings.ts';
import { ownAccount } from '../users/record/lookup.ts';
import { subjectNamesOf } from '../users/record/subject-name.ts';
import type { ReviewContext } from './context.ts';
import { type Answer, type ReviewRow, reviewApiVersion, type reviewedBindingList } from './review.ts';

const maxSubjects = 100;

/** A binding of a review. */
export interface Reviewed {
  readonly binding: RoleBinding;
  readonly version: string;
  /** Undefined without an answer about this version. */
  readonly answer: Answer | undefined;
  /** True if an owner kept the binding in this round, before it changed. */
  readonly isChanged: boolean;
}

/** Returns the digest of what an answer is about: the binding or its UserBinding, its role and its subjects. */
export function versionOf(context: ReviewContext, binding: RoleBinding): string {
  const { uid, role, subjects } = binding;
  // The service creates the binding of a UserBinding again, and it is still the same right.
  const owner = userBindingOf(context, binding)?.uid;
  const named = subjects.map(({ kind, name }) => `${kind} ${name}`).sort();
  return hash('sha256', JSON.stringify([owner ?? uid, role.kind, role.name, named]), 'base64url').slice(0, 22);
}

/** Returns the bindings of a review by name. */
export async function reviewedBindings(context: ReviewContext, { spec, place, status: { answers = [] } }: ReviewRow): Promise<Reviewed[]> {
  if (spec === undefined) return [];
  const answered = new Map(answers.map((answer) => [answer.name, answer]));
  const found: Reviewed[] = [];
  const slices = new Slices();
  for (const binding of standingIn(context, place)) {
    if (isEnding(context, binding)) continue;
    const version = versionOf(context, binding);
    const given = answered.get(binding.name);
    const answer = given?.decision === 'Kept' ? given : undefined;
    const isChanged = answer !== undefined && answer.version !== version;
    found.push({ binding, version, answer: isChanged ? undefined : answer, isChanged });
    const turn = slices.end();
    if (turn !== undefined) await turn;
  }
  return found.sort((one, other) => (one.binding.name < other.binding.name ? -1 : 1));
}

/** Reports whether the UserBinding of a binding is deleted, which removes the binding in a moment. */
const isEnding = (context: ReviewContext, binding: RoleBinding): boolean => userBindingOf(context, binding)?.isDeleted === true;

/** Reports whether a binding names the caller with any account, or only a group of the caller. */
export function ownershipOf({ users }: ReviewContext, { subjects }: RoleBinding, caller: Caller): 'user' | 'group' | undefined {
  const account = ownAccount(users.accounts, caller);
  const names = new Set([caller.identity.name, ...(account ? subjectNamesOf(account) : [])]);
  if (subjects.some(({ kind, name }) => kind !== 'Group' && names.has(name))) return 'user';
  return subjects.some(({ kind, name }) => kind === 'Group' && caller.identity.groups.includes(name)) ? 'group' : undefined;
}

export function describedList(context: ReviewContext, reviewed: readonly Reviewed[], caller: Caller): z.output<typeof reviewedBindingList> {
  return {
    ...{ apiVersion: reviewApiVersion, kind: 'ReviewedBindingList', metadata: {}, total: reviewed.length },
    items: reviewed.slice(0, maxListed).map(({ binding, version, answer }) => ({
      ...describedBinding(binding),
      subjects: binding.subjects.slice(0, maxSubjects).map(describedSubject),
      version,
      isOwn: ownershipOf(context, binding, caller) !== undefined,
      ...(answer && { answer }),
    })),
  };
}

/** Bound of an answer. */
const maxListed = 500;
