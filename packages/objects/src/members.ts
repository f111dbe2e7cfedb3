/** Members of a received object, each of which may be missing or malformed. The console reads them without the schemas of `reader.ts`. */

export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);
export const membersOf = (value: unknown): Members => (isMembers(value) ? value : {});
export const listOf = (value: unknown): Members[] => (Array.isArray(value) ? value.filter(isMembers) : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Returns the last condition of a type. */
export const conditionOf = (object: unknown, type: string): Members | undefined =>
  listOf(membersOf(membersOf(object).status).conditions).findLast((condition) => condition.type === type);

/** Returns the group of an `apiVersion`; the core group is `''`. */
export const groupOf = (apiVersion: unknown): string => {
  const text = textOf(apiVersion);
  return text.includes('/') ? (text.split('/')[0] ?? '') : '';
};
