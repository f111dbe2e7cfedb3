/**
 * Evaluates a rule of a role like the RBAC authorizer of the API server. The result never decides: it is compared with real access reviews,
 * or explains one.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#role-and-clusterrole
 */
import { z } from 'zod';
import { reader } from '../api/reader.ts';

/** A rule of a Role or ClusterRole. Missing members are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Names that the rule is for. Empty to allow all names, and requests without a name. */
  readonly resourceNames: readonly string[];
  /** Paths that are no resources. `*` at the end matches any rest. */
  readonly nonResourceURLs: readonly string[];
}

/** A request for a resource. '' stands for the core group, and for no subresource, namespace or name. */
export interface ResourceQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A request for a path that is no resource. */
export interface PathQuestion {
  readonly verb: string;
  readonly path: string;
}

export type AccessQuestion = ResourceQuestion | PathQuestion;

const texts = z.array(z.string());
const rule = z.object({ verbs: texts, apiGroups: texts, resources: texts, resourceNames: texts, nonResourceURLs: texts });
const readRules = reader(z.object({ rules: z.array(rule) }));

/**
 * Returns the rules of a Role or ClusterRole. The rules of an aggregated ClusterRole are those that its controller wrote. An invalid rule
 * grants nothing.
 */
export function policyRules(given: unknown): readonly PolicyRule[] {
  const { rules = [] } = readRules({ rules: given });
  return rules.map(({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => ({
    verbs,
    apiGroups,
    resources,
    resourceNames,
    nonResourceURLs,
  }));
}

/** Reports whether a rule allows a request, without regard to the namespace of the binding. */
export const ruleAllows = (rule: PolicyRule, question: AccessQuestion): boolean =>
  'path' in question ? pathMatches(rule, question) : isAboutResource(rule, question) && matchesName(rule, question);

/** Reports whether a rule allows a request for a resource, without regard to `resourceNames`. */
export function isAboutResource(
  { verbs, apiGroups, resources }: PolicyRule,
  { verb, group, resource, subresource }: Pick<ResourceQuestion, 'verb' | 'group' | 'resource' | 'subresource'>,
): boolean {
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    includesOrAll(verbs, verb) &&
    includesOrAll(apiGroups, group) &&
    (includesOrAll(resources, combined) || (subresource !== '' && resources.includes(`*/${subresource}`)))
  );
}

const matchesName = ({ resourceNames }: PolicyRule, { name }: ResourceQuestion) =>
  resourceNames.length === 0 || resourceNames.includes(name);

const pathMatches = ({ verbs, nonResourceURLs }: PolicyRule, { verb, path }: PathQuestion) =>
  includesOrAll(verbs, verb) && nonResourceURLs.some((url) => url === path || (url.endsWith('*') && path.startsWith(withoutStars(url))));

const includesOrAll = (list: readonly string[], value: string) => list.includes('*') || list.includes(value);

export function withoutStars(url: string): string {
  let end = url.length;
  while (url[end - 1] === '*') end -= 1;
  return url.slice(0, end);
}

/** Returns the numbers by which roles are compared: wildcards first, then the pairs of a verb and a resource. */
export const rulesWidth = ({ rules }: { rules: readonly PolicyRule[] }): readonly [number, number] => [
  rules.some(({ verbs, resources, nonResourceURLs }) => [...verbs, ...resources, ...nonResourceURLs].includes('*')) ? 1 : 0,
  rules.reduce((sum, { verbs, resources }) => sum + verbs.length * resources.length, 0),
];

/** Compares lists of numbers, the first ones first. */
export function compareWidths(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((width, index) => width !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
