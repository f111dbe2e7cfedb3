import { z } from 'zod';
import { labelSelector, selectorText } from '../api/label-selector.ts';
import { isRecord, reader } from '../api/reader.ts';
import { type LabelMatcher, parseLabelSelector } from '../api/selectors.ts';
import { type PolicyRule, policyRules } from './rules.ts';

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
