/** Checks of a request against the current policy, user and role. */
import { hash } from 'node:crypto';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { type PolicyRule, policyRules } from '@atrium/kubernetes/rbac/rules.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { namespaceResource } from '../bindings/target-namespaces.ts';
import type { Services } from '../services.ts';
import type { AccessContext } from './context.ts';
import type { PolicyRow } from './policy.ts';
import { isOpen, type RequestRow, type RequestSpec } from './request.ts';

const namespacesOf = (client: ServiceClient) => new ServiceResource(client, { type: namespaceResource, kind: 'Namespace' });
const clusterRoles = { group: 'rbac.authorization.k8s.io', resource: 'clusterroles' };
const atOnce = 4;

/** Reason why a request no longer stands, as one word for programs and as text for people. */
export interface LapseReason {
  readonly reason: 'PolicyChanged' | 'UserGone' | 'UserDisabled' | 'RoleChanged';
  readonly message: string;
}

/** Final phase of a request whose time is over. */
interface TimeLapse {
  readonly phase: 'Lapsed' | 'Ended';
  readonly reason: 'NotDecided' | 'NotGranted' | 'Expired';
  readonly message: string;
}

const changed = (message: string): LapseReason => ({ reason: 'PolicyChanged', message });

/**
 * Returns why the request no longer stands, undefined if it does. Labels of namespaces are not read: access does not depend on them later.
 */
export function lapseReasonOf({ policies, people, services }: AccessContext, { spec }: Pick<RequestRow, 'spec'>): LapseReason | undefined {
  if (spec === undefined) return changed('the request cannot be read');
  const account = people.accounts.get(spec.record);
  if (account?.uid !== spec.recordUID) return { reason: 'UserGone', message: 'the User record of the requester was deleted' };
  if (!people.isNormal(account)) return { reason: 'UserDisabled', message: 'the account of the requester may no longer log in' };
  const policy = policies.cache.get(spec.policy.name);
  if (policy?.uid !== spec.policy.uid) return changed('the policy was deleted');
  if (people.of(account).subjectOf(policy) === undefined) return changed('the requester is no longer a subject of the policy');
  const { roleRef } = spec;
  if (!policy.roleRefs.includes(roleRef)) return changed('the policy no longer names the role');
  if (!coversByName(policy, spec)) return changed('the policy no longer covers the place');
  if (spec.breakGlass && !policy.breakGlass) return changed('the policy no longer allows break-glass');
  if (policy.maxSeconds < spec.durationSeconds) return changed('the policy no longer allows that duration');
  if (services.rbac.clusterRoleUID(roleRef) !== spec.roleUID) return { reason: 'RoleChanged', message: 'the ClusterRole was deleted' };
  return undefined;
}

/** Time after which access that cannot be given lapses. */
const maxApprovingMs = 60_000;

/** Times of a request in milliseconds since 1970: begin of an attempt to give its access, and the end of its phase. */
export function phaseTimes(
  { services: { config } }: Pick<AccessContext, 'services'>,
  { phase, created, decisions, until }: Pick<RequestRow, 'phase' | 'created' | 'decisions' | 'until'>,
): { readonly approvedAt: number; readonly endsAt: number } {
  const approvedAt = Math.max(created, ...decisions.map(({ time }) => Date.parse(time)));
  const ends: Partial<Record<RequestRow['phase'], number>> = {
    Pending: created + config.accessRequests.pendingSeconds * 1000,
    Approving: approvedAt + maxApprovingMs,
    Scheduled: until,
    Active: until,
  };
  return { approvedAt, endsAt: ends[phase] ?? Number.POSITIVE_INFINITY };
}

/**
 * Returns the reason why the time of an open request is over, undefined while it is not. Each replica compares the time itself: the leader,
 * which writes the final phase, may have been killed.
 */
export function timeLapseOf(
  context: Pick<AccessContext, 'services'>,
  row: Pick<RequestRow, 'phase' | 'created' | 'decisions' | 'until'>,
): TimeLapse | undefined {
  if (context.services.now().getTime() < phaseTimes(context, row).endsAt) return undefined;
  if (row.phase === 'Pending') return { phase: 'Lapsed', reason: 'NotDecided', message: 'the request was not decided in time' };
  if (row.phase === 'Approving') return { phase: 'Lapsed', reason: 'NotGranted', message: 'the access could not be given in time' };
  return { phase: 'Ended', reason: 'Expired', message: 'the access has reached its end' };
}

/** Reports whether a request is open and its time is not over. */
export const isInTime = (context: Pick<AccessContext, 'services'>, row: RequestRow): boolean =>
  isOpen(row) && timeLapseOf(context, row) === undefined;

type Place = Pick<RequestSpec, 'scope' | 'namespaces'>;

/** Reports whether the policy covers the place, apart from the labels of namespaces. */
export function coversByName({ scope: covered }: PolicyRow, { scope, namespaces: names = [] }: Place): boolean {
  if (covered === undefined) return false;
  if (covered.kind === 'cluster') return true;
  if (scope === 'platform') return false;
  return covered.kind === 'selector' || names.every((name) => covered.names.has(name));
}

/**
 * Returns the namespaces that the selector of the policy does not select, or that do not exist. The API server compares the labels.
 *
 * @returns an empty list for a policy without a selector
 */
export async function unselected(
  { client }: Services,
  { scope }: PolicyRow,
  names: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  if (scope?.kind !== 'selector') return [];
  const resource = namespacesOf(client);
  const selection = { labelSelector: scope.labelSelector, isMetadataOnly: true };
  const found = await mapLimit(atOnce, names, (name) => resource.getByList(name, signal, selection));
  return names.filter((_name, index) => found[index] === undefined);
}

/** Returns the labels of a namespace, undefined if it does not exist. @throws StatusError 503, 504 */
export async function labelsOf(
  { client }: Services,
  name: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>> | undefined> {
  const namespace = await namespacesOf(client).getByList(name, signal, { isMetadataOnly: true });
  return namespace && (namespace.metadata.labels ?? {});
}

/** Bound of the namespaces that the answer names. */
const maxNamed = 1000;

/** Returns the names of the namespaces that a policy covers, sorted; undefined if it covers all. */
export async function coveredNamespaces({ client }: Services, { scope }: PolicyRow, signal: AbortSignal): Promise<string[] | undefined> {
  if (scope?.kind === 'cluster') return undefined;
  if (scope?.kind === 'names') return [...scope.names].sort();
  if (scope === undefined) return [];
  const resource = namespacesOf(client);
  const names: string[] = [];
  for await (const { metadata } of resource.list({ labelSelector: scope.labelSelector, isMetadataOnly: true }, signal)) {
    names.push(metadata.name);
    if (names.length >= maxNamed) break;
  }
  return names.sort();
}

/** Reports whether the service's account may bind the ClusterRole. @throws StatusError 503, 504 */
export async function isBindable({ client }: Services, name: string, signal: AbortSignal): Promise<boolean> {
  const answer = await client.request({
    call: 'create selfsubjectaccessreviews',
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { ...clusterRoles, verb: 'bind', name } },
    },
    isRepeatable: true,
    signal,
  });
  return partsOf(answer).status?.allowed === true;
}

/** Returns the SHA-256 of the rules of a ClusterRole, in any order; undefined if the role does not exist. */
export function rulesHashOf(rbac: Pick<Services['rbac'], 'clusterRoleRules'>, role: string): string | undefined {
  const rules = rbac.clusterRoleRules(role);
  // The controller of aggregated roles may change the order.
  return rules && hash('sha256', JSON.stringify(rules.map((rule) => JSON.stringify(rule)).sort()), 'base64url');
}

const clusterRole = { type: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' }, kind: 'ClusterRole' };

/**
 * Reads the requested ClusterRole. Returns undefined if it no longer exists, also if another one has its name.
 *
 * @throws StatusError 503, 504
 */
export async function readRequestedRole(
  { client }: Services,
  { roleRef, roleUID }: { roleRef: string; roleUID: string },
  signal: AbortSignal,
): Promise<{ rules: readonly PolicyRule[] } | undefined> {
  const role = await new ServiceResource(client, clusterRole).getByList(roleRef, signal);
  return role?.metadata.uid === roleUID ? { rules: policyRules(role.rules) } : undefined;
}
