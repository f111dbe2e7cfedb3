/** What a directory says of a user whose password was right. */
interface DirectoryProof {
  groups: readonly string[];
}

/** Directories that keep the passwords of their users to themselves. */
export interface DirectoryPasswords {
  /** Whether that is a directory which is asked. */
  has(connectorID: string): boolean;
  /**
   * Asks the directory of that connector.
   *
   * @returns undefined if that is not their password, or there is no entry of that e-mail address
   * @throws StatusError 503 if it gives no answer
   */
  check(attempt: { connectorID: string; email: string; password: string }, signal: AbortSignal): Promise<DirectoryProof | undefined>;
  /**
   * Makes the record of a user who is new in a directory, as a synchronisation would, if that is their password.
   *
   * @returns false if it is not, no directory knows them, or records are not made at login; @throws StatusError 503
   */
  provision(attempt: { email: string; password: string }, signal: AbortSignal): Promise<boolean>;
}
