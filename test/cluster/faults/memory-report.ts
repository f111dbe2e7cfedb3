/** Reports memory and resources of the process on request of its parent. Loaded into the service by `--import`. */
process.on('message', () => {
  globalThis.gc?.();
  process.send?.({ ...process.memoryUsage(), resources: process.getActiveResourcesInfo().length });
});
// The channel to the parent must not keep the process from ending.
process.channel?.unref();

export {};
