import { hash } from 'node:crypto';
import { StatusError } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Identity } from '../http/operation.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import { type AccountState, sessionEnded } from './account-state.ts';
import type { LoginFacts } from './login-facts.ts';

export interface RenewedLoginsOptions {
  accountState: AccountState;
  /** Who the claims say it is. @throws StatusError 401 */
  identityOf: (claims: VerifiedClaims) => Identity;
  /** The login string that names the record. @throws StatusError 401 */
  loginOf: (claims: VerifiedClaims) => string | undefined;
  /** Whether `kubernetes.credentials` is `impersonate`. */
  isImpersonated: boolean;
  /** Asks the API server. */
  identify: Authenticator['identify'];
}

/** What a renewal brought, as far as it tells whose it is. */
interface Renewed {
  claims?: VerifiedClaims | undefined;
  bearer?: string | undefined;
}

/**
 * Whether renewed tokens are still those of the login (docs/contract/login.md). The issuer may give a person another name, and the `sub` stays; what
 * ends the access of the one or the other person would then miss these tokens.
 */
export class RenewedLogins {
  readonly #options: RenewedLoginsOptions;

  constructor(options: RenewedLoginsOptions) {
    this.#options = options;
  }

  /** The 401 to throw, or undefined. */
  async refusal(login: LoginFacts, { claims, bearer }: Renewed, signal: AbortSignal): Promise<StatusError | undefined> {
    if (claims === undefined) return undefined;
    try {
      const why = this.#differenceIn(login, claims) ?? (await this.#differenceAtAPIServer(login, bearer, signal));
      return why === undefined ? undefined : sessionEnded(new Error(why));
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) return error;
      throw error;
    }
  }

  #differenceIn({ claimedName, userUID }: LoginFacts, claims: VerifiedClaims): string | undefined {
    const { accountState, identityOf, loginOf } = this.#options;
    if (identityOf(claims).name !== claimedName) return 'the renewed tokens are for another user name';
    if (userUID !== undefined && accountState.find(loginOf(claims))?.uid !== userUID) return 'the renewed tokens lead to another record';
    return undefined;
  }

  /** Where it sees the tokens, its word counts for the name; while it is out of reach, or does not take them, the claims' does. */
  async #differenceAtAPIServer({ subjectName }: LoginFacts, token: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    const { isImpersonated, identify } = this.#options;
    if (isImpersonated || token === undefined) return undefined;
    try {
      const { identity } = await identify({ token, hash: hash('sha256', token) }, signal);
      return identity.name === subjectName ? undefined : 'the API server takes the renewed tokens for another user';
    } catch (error) {
      if (error instanceof StatusError || signal.aborted) return undefined;
      throw error;
    }
  }
}
