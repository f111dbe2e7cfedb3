const decimal = /^[1-9]\d*$/;

/**
 * Compares resource versions: below, at or above 0 as `left` is older than, equal to or newer than `right`; undefined if they cannot be
 * compared.
 *
 * Resource versions of one resource are decimal numbers in the order of the changes; the API server guarantees that since 1.35.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (left === right) return 0;
  if (!decimal.test(left) || !decimal.test(right)) return undefined;
  // A number does not hold 64 bits.
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : 1;
}
