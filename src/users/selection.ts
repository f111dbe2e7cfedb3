import { parseFieldSelector, parseLabelSelector } from '../http/selectors.ts';
import { badParameter, StatusError } from '../http/status.ts';
import type { Predicate } from './filter.ts';
import type { UserRow } from './row.ts';

/** `metadata.name` and the selectable fields of the custom resource definition, also on API servers that do not know of those yet. */
const selectableFields = new Map<string, (row: UserRow) => string>([
  ['metadata.name', (row) => row.name],
  ['spec.email', (row) => row.email],
  ['spec.username', (row) => row.username],
  ['spec.connector_id', (row) => row.traits.connectorID],
  ['spec.connector_type', (row) => row.traits.connectorType],
  ['spec.state', (row) => row.traits.state],
  ['spec.valid', (row) => row.traits.valid],
  ['spec.is_disabled', (row) => row.traits.isDisabled],
  ['status.phase', (row) => row.traits.phase],
]);

/** Says which parameter it was that the grammar refused. */
function inParameter<T>(parameter: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof StatusError ? badParameter(parameter, error.message) : error;
  }
}

/** @throws StatusError 400 */
export function labelPredicate(selector: string): Predicate | undefined {
  if (selector === '') return undefined;
  const matches = inParameter('labelSelector', () => parseLabelSelector(selector));
  return (row) => matches(row.labels);
}

/** @throws StatusError 400 for bad grammar and for fields that cannot be selected by */
export function fieldPredicate(selector: string): Predicate | undefined {
  const requirements = inParameter('fieldSelector', () => parseFieldSelector(selector)).map(({ field, operator, value }) => {
    const read = selectableFields.get(field);
    if (read === undefined) throw badParameter('fieldSelector', `field label not supported: ${field}`, 'FieldValueNotSupported');
    return (row: UserRow) => (read(row) === value) === (operator === '=');
  });
  return requirements.length === 0 ? undefined : (row) => requirements.every((holds) => holds(row));
}
