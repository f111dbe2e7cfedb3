import { closestMatch } from 'leven';

/** The name that is most like a misspelt one, in any case; undefined if none is. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]));
  const maxDistance = Math.max(2, Math.floor(given.length / 3));
  return byLowerCase.get(closestMatch(given.toLowerCase(), [...byLowerCase.keys()], { maxDistance }) ?? '');
}
