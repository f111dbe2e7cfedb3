/**
 * Removes the steps that a failure does not need: halves first, then smaller parts, until no single step can be removed.
 *
 * @param stillFails performs the steps in a new world
 */
export async function shrink<T>(steps: readonly T[], stillFails: (steps: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let left = steps;
  let size = Math.ceil(left.length / 2);
  while (left.length > 1) {
    const shorter = await firstShorter(left, size, stillFails);
    if (shorter !== undefined) left = shorter;
    else if (size === 1) return left;
    size = Math.max(1, Math.min(shorter === undefined ? Math.floor(size / 2) : size, Math.ceil(left.length / 2)));
  }
  return left;
}

const atOnce = 4;

async function firstShorter<T>(steps: readonly T[], size: number, stillFails: (steps: readonly T[]) => Promise<boolean>) {
  // Removal begins at the end, because early steps are needed more often.
  const ends = Array.from({ length: Math.ceil(steps.length / size) }, (_, part) => steps.length - part * size);
  const candidates = ends
    .map((end) => [...steps.slice(0, Math.max(0, end - size)), ...steps.slice(end)])
    .filter((shorter) => shorter.length > 0);
  for (let start = 0; start < candidates.length; start += atOnce) {
    const some = candidates.slice(start, start + atOnce);
    const verdicts = await Promise.all(some.map((shorter) => stillFails(shorter)));
    const found = some[verdicts.indexOf(true)];
    if (found !== undefined) return found;
  }
  return undefined;
}
