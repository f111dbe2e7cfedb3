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

/** Makes foreign text harmless for a terminal: without control characters, and limited in length. */
export const harmless = (text: string): string => text.replaceAll(/\p{C}/gu, ' ').slice(0, 500);

export const say = ({ stderr }: Terminal, text: string): void => {
  stderr.write(`${text}\n`);
};

/** Tells the user why a command failed. @returns the exit code */
export function exitCodeOf(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof Interrupted || error instanceof RequestPending) return error.exitCode;
  // An unexpected error is reported by its name only: its message might contain a token.
  stderr.write(
    error instanceof CommandError ? `${error.message}\n` : `unexpected: ${error instanceof Error ? error.name : typeof error}\n`,
  );
  return 1;
}
