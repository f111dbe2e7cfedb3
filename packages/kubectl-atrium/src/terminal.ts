/** What a command has of the process it runs in. */
export interface Terminal {
  environment: Readonly<Record<string, string | undefined>>;
  /** For what was asked for, and nothing else: kubectl reads it. */
  stdout: { write(text: string): unknown };
  /** For people. */
  stderr: { write(text: string): unknown };
  /** Whether a user can answer there. */
  isInteractive: boolean;
  platform: NodeJS.Platform;
  /** The person's own number, where the system has such. */
  userID: number | undefined;
  homeDirectory: string;
  /** Aborted when the process is told to end, with what it ends with. */
  signal: AbortSignal;
}

/** A failure that the person can understand; the message is all that is shown. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };

/** The end by a signal, after what was begun is put in order. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(signal: keyof typeof signalNumbers) {
    super('interrupted');
    this.exitCode = 128 + signalNumbers[signal];
  }
}

/** Text of others, made harmless for a terminal: no control characters, no end. */
export const harmless = (text: string): string => text.replaceAll(/\p{C}/gu, ' ').slice(0, 500);

export const say = ({ stderr }: Terminal, text: string): void => {
  stderr.write(`${text}\n`);
};

/** Tells the person why a command ended. @returns what the process ends with */
export function exitCodeOf(error: unknown, { stderr }: Pick<Terminal, 'stderr'>): number {
  if (error instanceof Interrupted) return error.exitCode;
  // An unexpected error is told by its kind: its text might hold a token.
  stderr.write(
    error instanceof CommandError ? `${error.message}\n` : `unexpected: ${error instanceof Error ? error.name : typeof error}\n`,
  );
  return 1;
}
