/** RFC 3339, UTC, whole seconds: as Kubernetes writes times. */
export const timestamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

/** From when on tokens count that are issued after a moment: they tell their time in whole seconds. */
export const nextSecond = (time: Date): Date => new Date((Math.floor(time.getTime() / 1000) + 1) * 1000);
