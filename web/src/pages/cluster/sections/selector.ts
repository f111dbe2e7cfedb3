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

type Labels = Readonly<Record<string, string>>;

const holds: Readonly<Record<string, (labels: Labels, expression: Expression) => boolean>> = {
  In: (labels, { key, values = [] }) => values.includes(labels[key] ?? '') && key in labels,
  NotIn: (labels, { key, values = [] }) => !(key in labels && values.includes(labels[key] ?? '')),
  Exists: (labels, { key }) => key in labels,
  DoesNotExist: (labels, { key }) => !(key in labels),
};

/** Tells whether a LabelSelector finds these labels: an empty one finds all, a missing one none. */
export function selects(selector: unknown, labels: Labels): boolean {
  if (typeof selector !== 'object' || selector === null) return false;
  const { matchLabels, matchExpressions } = selector as { matchLabels?: Labels | null; matchExpressions?: readonly Expression[] | null };
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (matchExpressions ?? []).every((expression) => holds[expression.operator]?.(labels, expression) === true)
  );
}
