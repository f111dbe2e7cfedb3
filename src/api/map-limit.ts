/**
 * Calls `act` with each item, at most `limit` calls concurrently.
 *
 * @returns the results in the order of the items
 * @throws the first failure; the calls for the other items continue
 */
export async function mapLimit<T, R>(limit: number, items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  const left = items.entries();
  const worker = async () => {
    for (const [index, item] of left) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
