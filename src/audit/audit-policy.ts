/** Decides which requests have events, and what the events tell. */
import type { AuditPolicy } from '../config/audit-policy.ts';
import { isKeptByDefault } from './kept-content.ts';

type Rule = AuditPolicy['rules'][number];

/** A request as an audit policy sees it. */
export interface AuditedRequest {
  user: string;
  groups: readonly string[];
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
}

export type AuditRule = Pick<Rule, 'level' | 'delivery'>;

/** Returns the rule that decides about a request. A request without a rule has no event, as in Kubernetes. */
export const ruleFor = ({ rules }: AuditPolicy, request: AuditedRequest): AuditRule =>
  rules.find((rule) => isMatch(rule, request)) ?? { level: 'None' };

/** Reports whether the event of an action of the service keeps the body. Such an action has an event whatever the policy says. */
export const keepsBody = (policy: AuditPolicy | undefined, request: AuditedRequest): boolean =>
  policy === undefined ? isKeptByDefault(request) : !['None', 'Metadata'].includes(ruleFor(policy, request).level);

/** @see https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/audit/policy/checker.go */
function isMatch(rule: Rule, { user, groups, verb, namespace, ...object }: AuditedRequest): boolean {
  const { users, userGroups, verbs, namespaces, resources, nonResourceURLs } = rule;
  const isOfUser = isOpenOr(users, (one) => one === user) && isOpenOr(userGroups, (one) => groups.includes(one));
  if (!isOfUser || !isOpenOr(verbs, (one) => one === verb)) return false;
  if (nonResourceURLs.length > 0 && namespaces.length === 0 && resources.length === 0) return false;
  return isOpenOr(namespaces, (one) => one === namespace) && isOpenOr(resources, (one) => isOf(one, object));
}

const isOpenOr = <T>(values: readonly T[], isMatching: (value: T) => boolean) => values.length === 0 || values.some(isMatching);

type Objects = Pick<AuditedRequest, 'group' | 'resource' | 'subresource' | 'name'>;

function isOf(
  { group, resources, resourceNames }: Rule['resources'][number],
  { resource, subresource, name, ...object }: Objects,
): boolean {
  if (group !== object.group) return false;
  const isResource = (pattern: string) => {
    const [first, second = ''] = pattern.split('/');
    if (pattern === '*') return true;
    if (first === '*') return second === subresource;
    return first === resource && (second === '*' || second === subresource);
  };
  return isOpenOr(resources, isResource) && isOpenOr(resourceNames, (one) => one === name);
}
