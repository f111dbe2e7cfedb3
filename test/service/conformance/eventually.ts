const patience = 60_000;

/** Calls `probe` until it resolves. @throws its last error after the time limit */
export async function eventually<T>(probe: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + patience;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
