/** Properties of a user from a directory that has verified the password. */
interface DirectoryProof {
  groups: readonly string[];
}

/** Directories that verify the passwords of their users. */
export interface DirectoryPasswords {
  /** Reports whether the connector is a directory that verifies passwords. */
  has(connectorID: string): boolean;
  /**
   * Verifies a password at the directory of the connector.
   *
   * @returns undefined if the password is wrong, or the directory has no entry with the e-mail address
   * @throws StatusError 503 if the directory does not answer
   */
  check(attempt: { connectorID: string; email: string; password: string }, signal: AbortSignal): Promise<DirectoryProof | undefined>;
  /**
   * Creates the record of a user who is new in a directory, like a synchronization would, if the password is right.
   *
   * @returns false if the password is wrong, no directory knows the user, or records are not created at login
   * @throws StatusError 503
   */
  provision(attempt: { email: string; password: string }, signal: AbortSignal): Promise<boolean>;
}
