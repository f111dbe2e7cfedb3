import type { ClusterObject } from '../../../api/object-types.ts';

interface Expression {
  key: string;
  operator: string;
  values?: readonly string[];
}

const operators: Readonly<Record<string, (expression: Expression) => string>> = {
  In: ({ key, values = [] }) => `${key} in (${values.join(',')})`,
  NotIn: ({ key, values = [] }) => `${key} notin (${values.join(',')})`,
  Exists: ({ key }) => key,
  DoesNotExist: ({ key }) => `!${key}`,
};

/** Returns the selector of a workload or of a Service as a label selector in text; empty for one that selects nothing. */
export function selectedLabels({ spec }: ClusterObject): string {
  const selector = spec?.selector;
  if (typeof selector !== 'object' || selector === null) return '';
  const isPlain = !('matchLabels' in selector || 'matchExpressions' in selector);
  const { matchLabels = {}, matchExpressions = [] } = (isPlain ? { matchLabels: selector } : selector) as {
    matchLabels?: Record<string, unknown>;
    matchExpressions?: readonly Expression[];
  };
  const labels = Object.entries(matchLabels);
  if (labels.some(([, value]) => typeof value !== 'string')) return '';
  const expressions = matchExpressions.map((expression) => operators[expression.operator]?.(expression));
  if (expressions.includes(undefined)) return '';
  return [...labels.map(([name, value]) => `${name}=${value}`), ...expressions].join(',');
}
