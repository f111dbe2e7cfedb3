import pino, { type Logger } from 'pino';

const isOrdinary = /^\{"level":"(?:info|debug)"/;

/**
 * Writes the lines of one turn of the event loop together: each write is a call to the kernel, and one for each request costs a tenth
 * of what the request does. A line of a warning or an error is written at once, with all before it.
 */
export class GatheredLines implements Destination {
  readonly #destination: Destination;
  readonly #flush = () => this.flush();
  #lines = '';

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  write(line: string): void {
    if (this.#lines === '') setImmediate(this.#flush);
    this.#lines += line;
    if (!isOrdinary.test(line)) this.flush();
  }

  /** To be called when the process ends, so that nothing is lost. */
  flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#destination.write(lines);
  }
}

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
export function createLog({ level, format }: LogOptions, destination: Destination = process.stdout): Logger {
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
  const lineOf = format === 'pretty' ? (line: string) => escapedTwice(printableLine(line)) : printableLine;
  return pino(options, { write: (line) => destination.write(lineOf(line)) });
}

/** Characters that a terminal obeys, or that change how a line reads (CWE-117). JSON leaves them; it escapes those below U+0020 itself. */
const unescaped = /[\x7f-\x9f\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Returns a line of JSON with the same value. Headers of requests carry characters up to U+00FF. */
export const printableLine = (json: string): string =>
  json.replaceAll(unescaped, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Keeps the escapes of a line that pino-pretty parses and prints. */
const escapedTwice = (json: string): string =>
  json.replaceAll(/\\(?:\\|u(?:00|06|20)[0-9a-f]{2})/g, (found) => (found === '\\\\' ? found : `\\${found}`));

export interface Destination {
  write(line: string): unknown;
}

const maxCauses = 4;

/**
 * An error without its own enumerable members: libraries attach requests, headers and bodies to them. Its causes are logged too, because
 * only they name the right that the service lacks.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error === undefined ? undefined : String(error);
  const code = 'code' in error ? error.code : undefined;
  const cause = depth < maxCauses ? errorFields(error.cause, depth + 1) : undefined;
  const { name: type, message, stack } = error;
  return { type, message, ...(code !== undefined && { code }), stack, ...(cause !== undefined && { cause }) };
}
