import { closestMatch } from 'leven';

/** Returns the name that is closest to a misspelt one, ignoring case; undefined if none is close. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]));
  const maxDistance = Math.max(2, Math.floor(given.length / 3));
  return byLowerCase.get(closestMatch(given.toLowerCase(), [...byLowerCase.keys()], { maxDistance }) ?? '');
}
