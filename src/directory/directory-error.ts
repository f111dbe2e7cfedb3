import { ResultCodeError } from 'ldapts';

/** Why a directory was of no use. */
export type DirectoryFailure = 'NotConfigured' | 'Unreachable' | 'BindRefused' | 'Incomplete';

/** A directory was of no use. The message is for callers who may synchronise: it holds no secret, and no text that came from elsewhere. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError';
  readonly reason: DirectoryFailure;

  constructor(reason: DirectoryFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** What went wrong, in words of ours: those of the library and of the system hold addresses, those of the server hold anything. */
export function reasonOf(error: unknown): string {
  if (error instanceof ResultCodeError) return `LDAP result ${error.code}`;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && /^[A-Z_0-9]+$/.test(error.code)) return error.code;
  if (error instanceof Error && ['TimeoutError', 'AbortError'].includes(error.name)) return 'timed out';
  return 'the connection broke off';
}
