/** Compares an object before and after a write. */

/** The API server changes these with a write that changes nothing else. */
const ignored = ['resourceVersion', 'generation', 'managedFields'];

const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, plain(member)]),
  );
};

interface Versioned {
  metadata: object;
}

const shownOf = ({ metadata, ...rest }: Versioned) => {
  const members = Object.entries(metadata).filter(([key]) => !ignored.includes(key));
  return JSON.stringify(plain({ ...rest, metadata: Object.fromEntries(members) }));
};

export const isUnchanged = (before: Versioned, after: Versioned): boolean => shownOf(before) === shownOf(after);
