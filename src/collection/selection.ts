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

/** Bound of the filters, each of which reads every row. More than users type, and few enough for one turn of the event loop. */
const maxFilters = 32;

type Filterable<Row> = Pick<ListProperties<Row>, 'searched' | 'compared'>;

export const filterNames = ({ searched, compared }: Filterable<never>): string[] => [...searched.keys(), ...compared.keys()];

function propertyPredicate<Row>(properties: Filterable<Row>, property: string, values: readonly string[]): Predicate<Row> {
  const compared = properties.compared.get(property);
  if (compared !== undefined) {
    const wanted = new Set(values);
    return (row) => wanted.has(compared(row));
  }
  const searched = properties.searched.get(property);
  if (searched === undefined)
    throw badParameter('filterBy', `unknown property; known are: ${filterNames(properties).join(', ')}`, 'FieldValueNotSupported');
  const parts = values.map((value) => value.toLowerCase());
  return (row) => {
    const text = searched(row);
    return parts.some((part) => holds(text, part));
  };
}

const holds = (text: string | readonly string[], part: string): boolean =>
  typeof text === 'string' ? text.includes(part) : text.some((element) => element.includes(part));

/** Returns a predicate for rows that contain the text in one of the properties of `search`, ignoring case. Undefined for an empty text. */
export function parseSearch<Row>(
  { searched, search }: Pick<ListProperties<Row>, 'searched' | 'search'>,
  text: string,
): Predicate<Row> | undefined {
  if (text === '') return undefined;
  const part = text.toLowerCase();
  const reads = search.flatMap((property) => searched.get(property) ?? []);
  return (row) => reads.some((read) => holds(read(row), part));
}

/** Parses `property,value,property,value`, in which `\,` is a comma in a value. */
function pairsOf(parameter: string): [property: string, value: string][] {
  const parts = parameter.split(/(?<!\\),/).map((part) => part.replaceAll('\\,', ','));
  if (parts.length % 2 !== 0) throw badParameter('filterBy', 'must be property,value pairs; a comma in a value is written \\,');
  return parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? '']] : []));
}

/**
 * Parses all `filterBy` parameters. A row must match one value of each property. Undefined if there are no filters.
 *
 * @throws StatusError 400 for an odd count, an unknown property or too many pairs
 */
export function parseFilters<Row>(properties: Filterable<Row>, parameters: readonly string[]): Predicate<Row> | undefined {
  const wanted = new Map<string, string[]>();
  const pairs = parameters.filter((parameter) => parameter !== '').flatMap(pairsOf);
  if (pairs.length > maxFilters) throw badParameter('filterBy', `must have at most ${maxFilters} pairs`, 'FieldValueTooMany');
  for (const [property, value] of pairs) wanted.set(property, [...(wanted.get(property) ?? []), value]);
  const predicates = [...wanted].map(([property, values]) => propertyPredicate(properties, property, values));
  return predicates.length === 0 ? undefined : (row) => predicates.every((predicate) => predicate(row));
}
