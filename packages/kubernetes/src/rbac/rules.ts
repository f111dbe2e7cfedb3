/**
 * Evaluates a rule of a role like the RBAC authorizer of the API server. The result never decides: it is compared with real access reviews,
 * or explains one.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#role-and-clusterrole
 */
import { labelSelector, selectorText } from '@atrium/objects/labels.ts';
import { isRecord, reader } from '@atrium/objects/reader.ts';
import { type LabelMatcher, parseLabelSelector } from '@atrium/objects/selectors.ts';
import { z } from 'zod';

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
interface PathQuestion {
  readonly verb: string;
  readonly path: string;
}

export type AccessQuestion = ResourceQuestion | PathQuestion;

const texts = z.array(z.string());
export const policyRuleSchema = z.object({
  verbs: texts,
  apiGroups: texts,
  resources: texts,
  resourceNames: texts,
  nonResourceURLs: texts,
});
const readRules = reader(z.object({ rules: z.array(policyRuleSchema) }));

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

interface KeptRules {
  readonly rules: readonly PolicyRule[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly aggregates?: readonly LabelMatcher[];
}

/** A stored or simulated role. */
interface GivenRole {
  readonly kind?: unknown;
  readonly metadata: { readonly namespace?: string | undefined; readonly labels?: Readonly<Record<string, string>> | undefined };
  readonly rules?: unknown;
  readonly aggregationRule?: unknown;
}

const readAggregation = reader(z.object({ clusterRoleSelectors: z.array(z.unknown()) }));

/** Returns the rules of a role, and for a ClusterRole what aggregation needs. @throws StatusError 400 for an invalid selector */
export function keptRules({ metadata: { namespace, labels }, rules, aggregationRule }: GivenRole): KeptRules {
  const kept = { rules: policyRules(rules) };
  if (namespace !== undefined) return kept;
  return {
    ...kept,
    ...(labels !== undefined && Object.keys(labels).length > 0 && { labels }),
    ...(isRecord(aggregationRule) && { aggregates: (readAggregation(aggregationRule).clusterRoleSelectors ?? []).map(matcherOf) }),
  };
}

const never: LabelMatcher = () => false;

/** The empty selector matches all roles; a selector that cannot be read matches none. */
function matcherOf(given: unknown): LabelMatcher {
  const { success, data } = labelSelector.safeParse(given);
  if (!success) return never;
  const isEmpty = Object.keys(data.matchLabels ?? {}).length === 0 && (data.matchExpressions ?? []).length === 0;
  const text = selectorText(data);
  return text === '' && !isEmpty ? never : parseLabelSelector(text);
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

/** Word of an RBAC rule; `*` asks for the right to all. */
const word = (what: string, example: string) =>
  z
    .string()
    .max(253)
    .regex(/^[^\s/]+$/, `must be ${what}, such as ${example}`);

/** Query parameters of a question about a right, without its place. */
export const questionQuery = {
  verb: word('a verb', 'list').describe('Verb of the action: `get`, `list`, `create`, …'),
  resource: word('the plural of a resource, without its group', 'pods').describe('Plural of the resource: `pods`, `deployments`, …'),
  group: z
    .string()
    .max(253)
    .regex(/^[^\s/]*$/, 'must be an API group without a version, such as apps')
    .default('')
    .describe('API group of the resource; empty: the core group.'),
  subresource: z
    .string()
    .max(253)
    .regex(/^\S*$/, 'must be a subresource, such as log')
    .default('')
    .describe('Subresource: `log`, `scale`, …'),
};
