import { ResultCodeError } from 'ldapts';

/** Reason for which a directory cannot be used. */
export type DirectoryFailure = 'NotConfigured' | 'Unreachable' | 'BindRefused' | 'Incomplete';

/** A directory cannot be used. The message is for callers who may synchronise: it has no secret, and no text of server or system. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError';
  readonly reason: DirectoryFailure;

  constructor(reason: DirectoryFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Returns a reason without foreign text: messages of the library and the system have addresses, messages of the server have any text. */
export function reasonOf(error: unknown): string {
  if (error instanceof ResultCodeError) return `LDAP result ${error.code}`;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[A-Z_0-9]+$/.test(error.code)) return error.code;
  if (error instanceof Error && ['TimeoutError', 'AbortError'].includes(error.name)) return 'timed out';
  return 'the connection broke off';
}
