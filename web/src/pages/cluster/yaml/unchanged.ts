/** Compares an object before and after a write. */

/** The API server changes these with a write that changes nothing else. */
const ignored = ['resourceVersion', 'generation', 'managedFields'];

/** Returns the value with sorted keys, as kubectl prints it: the order of keys has no meaning and is no change. */
export const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  );
};

interface Versioned {
  metadata: object;
}

const shownOf = ({ metadata, ...rest }: Versioned) => {
  const members = Object.entries(metadata).filter(([key]) => !ignored.includes(key));
  const sorted = sortKeys({ ...rest, metadata: Object.fromEntries(members) });
  return JSON.stringify(sorted, (_, value) => (typeof value === 'bigint' ? String(value) : value));
};

export const isUnchanged = (before: Versioned, after: Versioned): boolean => shownOf(before) === shownOf(after);
