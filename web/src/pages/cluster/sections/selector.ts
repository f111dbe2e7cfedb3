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

/** Prints a selector, or plain labels, as kubectl takes it: empty for all objects, undefined for one that cannot be printed. */
export function selectorText(selector: unknown): string | undefined {
  if (typeof selector !== 'object' || selector === null) return undefined;
  const isPlain = !('matchLabels' in selector || 'matchExpressions' in selector);
  const { matchLabels, matchExpressions } = (isPlain ? { matchLabels: selector } : selector) as {
    matchLabels?: Record<string, unknown> | null;
    matchExpressions?: readonly Expression[] | null;
  };
  const labels = Object.entries(matchLabels ?? {});
  if (labels.some(([, value]) => typeof value !== 'string')) return undefined;
  const expressions = (matchExpressions ?? []).map((expression) => operators[expression.operator]?.(expression));
  if (expressions.includes(undefined)) return undefined;
  return [...labels.map(([name, value]) => `${name}=${value}`), ...expressions].join(',');
}

/** Returns the selector of a workload or of a Service as a label selector in text; empty for one that selects nothing. */
export const selectedLabels = ({ spec }: ClusterObject): string => selectorText(spec?.selector) ?? '';
