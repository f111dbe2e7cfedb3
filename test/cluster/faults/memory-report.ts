/** Loaded into the service's process by `--import`: tells how much it holds when its parent asks. */
process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ ...process.memoryUsage(), resources: process.getActiveResourcesInfo().length });
});
// Waiting for the parent's question must not keep the process from ending.
process.channel?.unref();

export {};
