/** Fields of any object within bounds: a custom resource has up to 1.5 MiB, of any depth and any number of members. */

export interface Field {
  /** The name of a member, or the index of an item. */
  name: string | number;
  value: unknown;
}

export interface Fields {
  shown: readonly Field[];
  hidden: number;
}

/** Members beyond these are in the YAML of the object. */
export const shownFields = 100;
const shownText = 2000;
const openedFields = 150;

/** Returns the members of an object or a list, undefined for a value without any. */
export function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const names: readonly (string | number)[] = Array.isArray(value) ? Array.from(value.slice(0, shownFields).keys()) : Object.keys(value);
  const count = Array.isArray(value) ? value.length : names.length;
  if (count === 0) return undefined;
  const shown = names.slice(0, shownFields).map((name) => ({ name, value: (value as Record<string, unknown>)[name] }));
  return { shown, hidden: count - shown.length };
}

export const pathOf = (parent: string, { name }: Field): string => `${parent}/${name}`;

/** Returns the paths that are open at first: level by level, as many as a user can read. */
export function openedPaths(root: unknown): ReadonlySet<string> {
  const opened = new Set<string>();
  const queue: { path: string; value: unknown }[] = [{ path: '', value: root }];
  let left = openedFields;
  for (const { path, value } of queue) {
    const fields = fieldsOf(value)?.shown ?? [];
    if (fields.length === 0 || fields.length > left) continue;
    left -= fields.length;
    opened.add(path);
    queue.push(...fields.map((field) => ({ path: pathOf(path, field), value: field.value })));
  }
  return opened;
}

const looksTyped = /^(?:|true|false|null|~|[-+.]?\d.*|\s.*|.*\s)$/s;

/** Returns a value as text. Texts that read like another type are quoted, as in YAML. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return '[]';
  if (typeof value === 'object' && value !== null) return '{}';
  if (typeof value !== 'string') return String(value);
  const cut = value.length > shownText ? `${value.slice(0, shownText)}…` : value;
  return looksTyped.test(cut) && cut.length < 200 ? JSON.stringify(cut) : cut;
}

/** Returns the member that tells an item of a list from the others, such as its name. */
export function itemName(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  const found = ['name', 'type', 'key', 'kind']
    .map((name) => (value as Record<string, unknown>)[name])
    .find((it) => typeof it === 'string');
  return typeof found === 'string' ? found.slice(0, 60) : '';
}
