const probePath = /\/(livez|readyz|healthz)$/;

/** Reports whether a path is that of a health probe: answered under any load, and too frequent for the log. */
export const isProbe = (path: string): boolean => probePath.test(path);
