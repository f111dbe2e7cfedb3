const firstMs = 1000;
/** With the jitter, users wait at most five seconds longer than an outage lasts. The service names longer pauses by `Retry-After`. */
const longestMs = 4000;

/** Returns the pause after a number of failures in a row, in milliseconds. Pages do not come back at the same moment. */
export const pauseAfter = (failures: number): number => Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.75 + Math.random() / 2);
