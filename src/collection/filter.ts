import { badParameter } from '../api/status.ts';
import type { ListProperties, Predicate } from './properties.ts';

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
