import pino, { type Logger } from 'pino';

export interface LogOptions {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  format: 'json' | 'pretty';
}

/**
 * The process log: one JSON line per entry on stdout. Callers pass names, codes and counts; the redaction is a second fence, not the
 * first.
 *
 * @param destination where lines are gathered (`GatheredLines`), or made into another `format` than `json` (`prettyLog`)
 */
export function createLog({ level }: LogOptions, destination: Destination = process.stdout): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: (error: unknown) => errorFields(error) },
    redact: {
      paths: ['authorization', 'cookie', 'token', 'password', '*.authorization', '*.cookie', '*.token', '*.password'],
      censor: '***',
    },
  };
  return pino(options, destination);
}

export interface Destination {
  write(line: string): unknown;
}

const maxCauses = 4;

/**
 * An error without its own enumerable members: libraries hang requests, headers and bodies on them. Its causes are told too: which right
 * the service lacks stands only there.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error);
  const code = 'code' in error ? error.code : undefined;
  const cause = depth < maxCauses ? errorFields(error.cause, depth + 1) : undefined;
  const { name: type, message, stack } = error;
  return { type, message, ...(code !== undefined && { code }), stack, ...(cause !== undefined && { cause }) };
}
