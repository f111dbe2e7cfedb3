import { hash } from 'node:crypto';
import type { Caller } from '@atrium/http/caller.ts';
import { wantedText } from '@atrium/objects/folded.ts';
import { checkSelectorLength, type FieldRequirement, parseFieldSelector, parseLabelSelector } from '@atrium/objects/selectors.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import { filterNames, type ListProperties, type ListRow, type Predicate } from './properties.ts';
import type { ListParameters } from './schema.ts';
import { parseSort, type SortKey } from './sort.ts';

/** Parameters that select and order rows, without those that select a page. */
export type QueryParameters = Pick<ListParameters, 'labelSelector' | 'fieldSelector' | 'filterBy' | 'search' | 'sortBy' | 'order'>;

/** A parsed query. */
export interface ListQuery<Row> {
  /** Selects rows. Undefined for all rows. */
  readonly fits: Predicate<Row> | undefined;
  readonly sortKeys: readonly SortKey<Row>[];
  /** Key of the list of all rows in this order. */
  readonly orderKey: string;
  /** Hash that binds a continue token to its query. */
  readonly fingerprint: string;
}

/** Limits a list to the rows of a caller. Equal keys stand for equal predicates. */
export interface Scope<Row> {
  /** Key of the predicate, '' for all rows. */
  readonly key: string;
  readonly fits: Predicate<Row> | undefined;
  /** Hash of the caller. Set if continue tokens of other callers must be refused. */
  readonly holder?: string;
}

/** Returns the holder of continue tokens: the user, and the caller who views the cluster as that user. */
export const holderOf = ({ identity, viewing }: Caller): string => {
  const users = [identity, ...(viewing ? [viewing.by.identity] : [])];
  return hash('sha256', JSON.stringify(users.flatMap(({ name, uid }) => [name, uid])), 'base64url');
};

const keyOf = (...parts: readonly (string | readonly string[])[]): string => JSON.stringify(parts);

const orderKeyOf = (sortBy: string): string => keyOf('', '', [], '', sortBy, 'asc');

/** Returns a key that equal queries share, without parsing them. */
export const queryKey = (
  { defaultSort }: Pick<ListProperties<never>, 'defaultSort'>,
  { labelSelector, fieldSelector, filterBy, search, sortBy, order }: QueryParameters,
  scope?: Pick<Scope<never>, 'key'>,
): string => keyOf(labelSelector, fieldSelector, filterBy, search, sortBy || defaultSort, order, ...(scope?.key ? [scope.key] : []));

/** @throws StatusError 400 */
export function parseQuery<Row extends ListRow>(
  properties: ListProperties<Row>,
  parameters: QueryParameters,
  scope?: Scope<Row>,
): ListQuery<Row> {
  const { labelSelector, fieldSelector, filterBy, search, sortBy, order } = parameters;
  const sortKeys = parseSort(properties, sortBy || properties.defaultSort, order);
  const canonicalSort = sortKeys.map(({ property, isDescending }) => `${isDescending ? 'd' : 'a'},${property}`).join();
  return {
    fits: allOf([
      scope?.fits,
      selectionPredicate(properties, parameters),
      parseFilters(properties, filterBy),
      parseSearch(properties, search),
    ]),
    sortKeys,
    orderKey: orderKeyOf(canonicalSort),
    fingerprint: hash('sha256', keyOf(labelSelector, fieldSelector, filterBy, search, canonicalSort), 'base64url').slice(0, 22),
  };
}

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
function allOf<Row>(given: readonly (Predicate<Row> | undefined)[]): Predicate<Row> | undefined {
  const predicates = given.filter((predicate) => predicate !== undefined);
  return predicates.length === 0 ? undefined : (row) => predicates.every((holds) => holds(row));
}

/** Bound of the filters, each of which reads every row. More than users type, and few enough for one turn of the event loop. */
const maxFilters = 32;

type Filterable<Row> = Pick<ListProperties<Row>, 'searched' | 'compared'>;

function propertyPredicate<Row>(properties: Filterable<Row>, property: string, values: readonly string[]): Predicate<Row> {
  const compared = properties.compared.get(property);
  if (compared !== undefined) {
    const wanted = new Set(values);
    return (row) => wanted.has(compared(row));
  }
  const searched = properties.searched.get(property);
  if (searched === undefined)
    throw badParameter('filterBy', `unknown property; known are: ${filterNames(properties).join(', ')}`, 'FieldValueNotSupported');
  const parts = values.map(wantedText);
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
  const part = wantedText(text);
  if (part === '') return undefined;
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
