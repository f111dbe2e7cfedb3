/** Does something with each, so many at once. @throws what the first that fails throws; what is under way then goes on by itself */
export async function atATime<T>(atOnce: number, items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}
