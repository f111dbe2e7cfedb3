/**
 * Label selectors of objects.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/
 */
import { z } from 'zod';

const expression = z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).optional() });

export const labelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z.array(expression).optional(),
});

/** Returns a selector as a query parameter. '' if a part cannot be read, and for the empty selector. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: z.output<typeof labelSelector>): string {
  const parts = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of matchExpressions) {
    const text = expressionText(key, operator, values);
    if (text === '') return '';
    parts.push(text);
  }
  return parts.join();
}

function expressionText(key: string, operator: string, values: readonly string[]): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  if (operator === 'In' || operator === 'NotIn') return `${key} ${operator.toLowerCase()} (${values.join()})`;
  return '';
}
