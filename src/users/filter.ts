import { badParameter } from '../http/status.ts';
import type { UserRow } from './row.ts';

/** Whether a list holds a user. */
export type Predicate = (row: UserRow) => boolean;

/** Each filter costs a look at every user: more than anybody types, and few enough for one turn of the event loop. */
const maxFilters = 32;

/** Searched for a literal part, in any case. */
const searchedProperties = new Map<string, (row: UserRow) => string | readonly string[]>([
  ['name', (row) => row.name],
  ['email', (row) => row.lowerEmail],
  ['username', (row) => row.lowerUsername],
  ['account', (row) => row.lowerAccount],
  ['mail', (row) => row.lowerMail],
  ['mobile', (row) => row.lowerMobile],
  ['connector_name', (row) => row.traits.lowerConnectorName],
  ['groups', (row) => row.traits.lowerGroups],
]);

/** Compared whole. */
const comparedProperties = new Map<string, (row: UserRow) => string>([
  ['state', (row) => row.traits.state],
  ['phase', (row) => row.traits.phase],
  ['connector_id', (row) => row.traits.connectorID],
  ['connector_type', (row) => row.traits.connectorType],
  ['valid', (row) => row.traits.valid],
  ['is_admin', (row) => row.traits.isAdmin],
  ['is_disabled', (row) => row.traits.isDisabled],
]);

export const filterProperties = [...searchedProperties.keys(), ...comparedProperties.keys()];

function propertyPredicate(property: string, values: readonly string[]): Predicate {
  const compared = comparedProperties.get(property);
  if (compared !== undefined) {
    const wanted = new Set(values);
    return (row) => wanted.has(compared(row));
  }
  const searched = searchedProperties.get(property);
  if (searched === undefined)
    throw badParameter('filterBy', `unknown property; known are: ${filterProperties.join(', ')}`, 'FieldValueNotSupported');
  const parts = values.map((value) => value.toLowerCase());
  return (row) => {
    const text = searched(row);
    if (typeof text === 'string') return parts.some((part) => text.includes(part));
    return text.some((element) => parts.some((part) => element.includes(part)));
  };
}

/** `property,value,property,value`; `\,` is a comma in a value. */
function pairsOf(parameter: string): [property: string, value: string][] {
  const parts = parameter.split(/(?<!\\),/).map((part) => part.replaceAll('\\,', ','));
  if (parts.length % 2 !== 0) throw badParameter('filterBy', 'must be property,value pairs; a comma in a value is written \\,');
  return parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? '']] : []));
}

/**
 * What the values of all `filterBy` parameters ask for: of one property any, of different ones all. Undefined if they ask for nothing.
 *
 * @throws StatusError 400 for an odd count or an unknown property
 */
export function parseFilters(parameters: readonly string[]): Predicate | undefined {
  const wanted = new Map<string, string[]>();
  const pairs = parameters.filter((parameter) => parameter !== '').flatMap(pairsOf);
  if (pairs.length > maxFilters) throw badParameter('filterBy', `must have at most ${maxFilters} pairs`, 'FieldValueTooMany');
  for (const [property, value] of pairs) wanted.set(property, [...(wanted.get(property) ?? []), value]);
  const predicates = [...wanted].map(([property, values]) => propertyPredicate(property, values));
  return predicates.length === 0 ? undefined : (row) => predicates.every((predicate) => predicate(row));
}
