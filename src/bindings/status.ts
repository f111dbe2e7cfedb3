/** Status of a UserBinding. */
import { type Condition, type Observed, setConditions } from '@atrium/kubernetes/object-status.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { TermState } from './expiry.ts';
import { readUserBinding } from './schema.ts';
import type { BoundSubject, BoundSubjects } from './subjects.ts';

/** Result of a reconciliation. */
export interface Result {
  subjects: BoundSubjects;
  roleRef: string;
  /** True if the ClusterRole exists. A binding to a missing role takes effect once the role exists. */
  hasRole: boolean;
  /** Namespaces that the binding names and that do not exist. */
  missing: readonly string[];
  /** Number of existing target namespaces. */
  targets: number;
  ensured: { clusterRoleBindings: number; roleBindings: number };
  /** State of a period; undefined without start and end. */
  term: TermState | undefined;
  problem: { reason: 'NotAllowedToBind' | 'NameTaken' | 'Refused'; message: string } | undefined;
}

interface ObservedProblem {
  reason: string;
  message: string;
  isFailure?: boolean;
}

interface Finding {
  type: string;
  /** Undefined if everything is as intended. */
  trouble?: ObservedProblem | undefined;
  /** Message of the condition if there is no trouble. */
  message?: string;
}

export function statusOf(object: KubernetesObject, result: Result, now: Date) {
  const generation = object.metadata.generation ?? 0;
  const findings = findingsOf(result);
  const troubles = findings.flatMap(({ trouble }) => trouble ?? []);
  const first = troubles.find(({ isFailure }) => isFailure) ?? troubles[0];
  const phase = phaseOf(result, first);
  const ready: Finding = { type: 'Ready', trouble: first };
  return {
    phase,
    observedGeneration: generation,
    bindingsCreated: result.ensured,
    subjects: result.subjects.bound,
    subjectNames: result.subjects.shown,
    conditions: setConditions(
      object.status,
      [ready, ...findings].map((finding) => observedOf(finding, generation)),
      now,
    ),
  };
}

/** Causes that time or a login ends. */
const expectedReasons: ReadonlySet<string> = new Set(['NotYetValid', 'Expired', 'NotLoggedInYet']);

/** Returns the condition to report as a Warning Event, if there is one. */
export const warningOf = ({ conditions }: { conditions: readonly Condition[] }): Condition | undefined =>
  conditions.find(({ type, status, reason }) => type === 'Ready' && status !== 'True' && !expectedReasons.has(reason));

function phaseOf({ term }: Result, trouble: Finding['trouble']): 'Expired' | 'Synced' | 'Failed' | 'Pending' {
  if (term === 'Expired') return 'Expired';
  if (trouble === undefined) return 'Synced';
  return trouble.isFailure ? 'Failed' : 'Pending';
}

const outOfTerm = {
  NotYetValid: { reason: 'NotYetValid', message: 'the role is granted at spec.notBefore' },
  Expired: { reason: 'Expired', message: 'the role was taken away at spec.expiresAt' },
  InEffect: undefined,
};

function findingsOf({ subjects, roleRef, hasRole, missing, targets, problem, term }: Result): Finding[] {
  const failure = problem && { ...problem, isFailure: true };
  return [
    ...(term === undefined ? [] : [{ type: 'InEffect', trouble: outOfTerm[term] }]),
    { type: 'SubjectsFound', trouble: subjectTrouble(subjects), message: subjectNote(subjects) },
    { type: 'RoleFound', trouble: hasRole ? undefined : roleNotFound(roleRef, problem !== undefined) },
    { type: 'NamespacesFound', trouble: namespaceTrouble(missing, targets) },
    { type: 'BindingsMade', trouble: failure },
  ];
}

/** A role that does not exist is also the cause where it may not be bound. */
const roleNotFound = (roleRef: string, isFailure: boolean) => ({
  reason: 'RoleNotFound',
  message: `the ClusterRole ${roleRef} does not exist`,
  isFailure,
});

function subjectTrouble({ subjects, gone, waiting, isCut }: BoundSubjects): Finding['trouble'] {
  if (gone.length > 0)
    return {
      reason: 'AnotherOfThatName',
      message: `the subject was deleted and another has its name now; to bind the new one, remove the subject and add it again: ${few(gone.map(({ kind, name }) => `${kind} ${name}`))}`,
      isFailure: true,
    };
  if (isCut)
    return {
      reason: 'TooManyMembers',
      message:
        'local groups have too many members to bind each: members get the role only with tokens of the embedded issuer, which name the group',
    };
  if (waiting.length > 0) return { reason: 'NotLoggedInYet', message: `bound at the first login: ${few(waiting)}` };
  if (subjects.length === 0) return { reason: 'NoSubjects', message: 'no subject is bound' };
  return undefined;
}

const subjectNote = ({ native }: BoundSubjects) => (native.length > 0 ? `names reserved for Kubernetes: ${few(native)}` : '');

function namespaceTrouble(missing: readonly string[], targets: number): Finding['trouble'] {
  if (missing.length > 0) return { reason: 'NamespaceNotFound', message: `namespaces that do not exist yet: ${few(missing)}` };
  return targets === 0 ? { reason: 'NoNamespace', message: 'no namespace has the label of the project' } : undefined;
}

const maxNamed = 10;

const few = (names: readonly string[]): string =>
  [...names.slice(0, maxNamed), ...(names.length > maxNamed ? [`and ${names.length - maxNamed} more`] : [])].join(', ');

function observedOf({ type, trouble, message = '' }: Finding, observedGeneration: number): Observed {
  const status = trouble === undefined ? 'True' : 'False';
  const told = { reason: trouble?.reason ?? 'AsExpected', message: (trouble?.message ?? message).slice(0, 4096) };
  return { type, status, ...told, observedGeneration };
}

/**
 * Returns the subjects that the status recorded earlier. The binding of an access request has the UID of its record from the start, so that
 * another record of the name is never bound.
 */
export function recordedSubjects(object: KubernetesObject): BoundSubject[] {
  const { spec = {}, status = {} } = readUserBinding(object);
  const recorded = (status.subjects ?? []).flatMap(({ kind, name, uid }): BoundSubject[] =>
    (kind === 'User' || kind === 'Group') && name !== undefined && uid !== undefined ? [{ kind, name, uid }] : [],
  );
  const uid = spec.request?.recordUID;
  if (uid === undefined) return recorded;
  return (spec.subjects ?? []).flatMap(({ kind, name = '' }): BoundSubject[] => (kind === 'User' ? [{ kind, name, uid }] : []));
}
