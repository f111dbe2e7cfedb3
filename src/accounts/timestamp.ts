/** RFC 3339, UTC, whole seconds: as Kubernetes writes times. */
export const timestamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');
