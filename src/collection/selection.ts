import { checkSelectorLength, type FieldRequirement, parseFieldSelector, parseLabelSelector } from '../api/selectors.ts';
import { badParameter, StatusError } from '../api/status.ts';
import type { ListProperties, ListRow, Predicate } from './properties.ts';

/** Adds the name of the parameter to an error of the parser. */
function inParameter<T>(parameter: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof StatusError ? badParameter(parameter, error.message) : error;
  }
}

/** Returns the requirements of the parameter `fieldSelector`. @throws StatusError 400 */
export const fieldRequirements = (selector: string): FieldRequirement[] => inParameter('fieldSelector', () => parseFieldSelector(selector));

/** Checks the selectors of a list that the API server parses. @throws StatusError 400 */
export function checkPassedSelectors(query: URLSearchParams): void {
  for (const name of ['labelSelector', 'fieldSelector'])
    for (const selector of query.getAll(name)) inParameter(name, () => checkSelectorLength(selector));
}

/** @throws StatusError 400 */
function labelPredicate(selector: string): Predicate<Pick<ListRow, 'labels'>> | undefined {
  if (selector === '') return undefined;
  const matches = inParameter('labelSelector', () => parseLabelSelector(selector));
  return (row) => matches(row.labels);
}

/** Parses a field selector. @throws StatusError 400 for a syntax error or an unsupported field */
function fieldPredicate<Row>({ selectable }: Pick<ListProperties<Row>, 'selectable'>, selector: string): Predicate<Row> | undefined {
  const requirements = fieldRequirements(selector).map(({ field, operator, value }) => {
    const read = selectable.get(field);
    if (read === undefined) throw badParameter('fieldSelector', `field label not supported: ${field}`, 'FieldValueNotSupported');
    return (row: Row) => (read(row) === value) === (operator === '=');
  });
  return requirements.length === 0 ? undefined : (row) => requirements.every((holds) => holds(row));
}

/** Returns a predicate for both selectors, undefined if both are empty. @throws StatusError 400 */
export function selectionPredicate<Row extends Pick<ListRow, 'labels'>>(
  properties: Pick<ListProperties<Row>, 'selectable'>,
  { labelSelector, fieldSelector }: { labelSelector: string; fieldSelector: string },
): Predicate<Row> | undefined {
  return allOf<Row>([labelPredicate(labelSelector), fieldPredicate(properties, fieldSelector)]);
}

/** Combines predicates, undefined if there are none. */
export function allOf<Row>(given: readonly (Predicate<Row> | undefined)[]): Predicate<Row> | undefined {
  const predicates = given.filter((predicate) => predicate !== undefined);
  return predicates.length === 0 ? undefined : (row) => predicates.every((holds) => holds(row));
}
