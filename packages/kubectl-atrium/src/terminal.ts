/** Process context of a command. */
export interface Terminal {
  environment: Readonly<Record<string, string | undefined>>;
  /** Receives requested output and nothing else: kubectl reads it. */
  stdout: { write(text: string): unknown };
  /** Receives messages for users. */
  stderr: { write(text: string): unknown };
  /** True if a user can answer in this terminal. */
  isInteractive: boolean;
  platform: NodeJS.Platform;
  /** User id, on systems that have one. */
  userID: number | undefined;
  homeDirectory: string;
  /** Aborted when the process receives a signal to end. The reason contains the exit code. */
  signal: AbortSignal;
}

/** Failure that the user can understand; its message is all that is shown. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  /** Status of the answer, for a refusal by the service. */
  readonly status: number | undefined;

  constructor(message: string, { exitCode = 1, status, ...options }: ErrorOptions & { exitCode?: number; status?: number } = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.status = status;
  }
}

/** End of a command whose request waits for approval. Its output says so already. */
export class RequestPending extends Error {
  override readonly name = 'RequestPending';
  readonly exitCode = 3;
}

const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** End by a signal, after cleaning up. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(signal: keyof typeof signalNumbers) {
    super('interrupted');
    this.exitCode = 128 + signalNumbers[signal];
  }
}

/** Characters that a terminal obeys, or that change how a line reads: controls, direction marks, separators, half characters. */
const unsafe = /[\p{C}\p{Zl}\p{Zp}]/gu;
const longest = 500;

/** Makes foreign text harmless for a terminal: one line without control characters, and limited in length. */
export const harmless = (text: string): string =>
  text
    .slice(0, longest + 1)
    .replaceAll(unsafe, ' ')
    .slice(0, longest)
    .replace(/[\ud800-\udbff]$/, '');

/** Makes lines with foreign text harmless for a terminal. */
export const harmlessLines = (text: string): string => text.replaceAll(unsafe, (found) => (found === '\n' ? found : ' '));

export const say = ({ stderr }: Pick<Terminal, 'stderr'>, text: string): void => {
  stderr.write(`${harmlessLines(text)}\n`);
};

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

/** Characters of JSON that are escaped. Glyphs of a font, which prompts of shells have, control nothing: a recording keeps its digest. */
const unsafeInJSON = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Returns JSON with the same value, in which no character controls a terminal. */
export const harmlessJSON = (json: string): string => json.replaceAll(unsafeInJSON, (found) => (found === '\n' ? found : escaped(found)));

export const jsonText = (value: unknown, indent?: number): string => harmlessJSON(`${JSON.stringify(value, null, indent)}\n`);

/** Tells the user why a command failed. @returns the exit code */
export function exitCodeOf(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof Interrupted || error instanceof RequestPending) return error.exitCode;
  // An unexpected error is reported by its name only: its message might contain a token.
  say({ stderr }, error instanceof CommandError ? error.message : `unexpected: ${error instanceof Error ? error.name : typeof error}`);
  return error instanceof CommandError ? error.exitCode : 1;
}
