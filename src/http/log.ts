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

/**
 * Where a log of ours writes to, for lines that are made by hand: what a request costs is in good part its line.
 *
 * @param level `info` or `debug`
 * @returns undefined where the log leaves out lines of that level
 */
export function lineWriter(log: Logger, level: 'debug' | 'info'): ((members: string) => void) | undefined {
  if (!log.isLevelEnabled(level)) return undefined;
  const stream: unknown = Reflect.get(log, pino.symbols.streamSym);
  if (!isDestination(stream)) return undefined;
  return (members) => void stream.write(`{"level":"${level}","time":"${timestamp()}",${members}}\n`);
}

const isDestination = (stream: unknown): stream is Destination =>
  typeof stream === 'object' && stream !== null && 'write' in stream && typeof stream.write === 'function';

let written = { at: Number.NaN, text: '' };

/** Many lines are of one millisecond. */
function timestamp(): string {
  const at = Date.now();
  if (written.at !== at) written = { at, text: new Date(at).toISOString() };
  return written.text;
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
