type Members = Record<string, unknown>;

/** Drops members that are null or empty: issuers send them for absent members, and most clients treat them as absent. */
export const withoutEmpty = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''));

/** Returns the members of a JSON object, without empty members; undefined for any other text. */
export function membersOf(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? withoutEmpty({ ...value }) : undefined;
  } catch {
    return undefined;
  }
}
