/** Formats a time like Kubernetes: RFC 3339, UTC, whole seconds. */
export const timestamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

/** Formats a time in Unix seconds. */
export const timestampOf = (unixSeconds: number): string => timestamp(new Date(unixSeconds * 1000));

/** Returns the next whole second. Tokens have whole seconds, so that a token with that time or later was issued after the given one. */
export const nextSecond = (time: Date): Date => new Date((Math.floor(time.getTime() / 1000) + 1) * 1000);
