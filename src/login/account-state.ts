import type { Account } from '../accounts/account.ts';
import type { AccountLookup } from '../accounts/lookup.ts';
import { noLongerCounts, phaseCause, revoked } from '../accounts/refused-credential.ts';
import { type StatusError, serviceUnavailable, unauthorized } from '../http/status.ts';
import { issuerLoginOf } from './issuer-login.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import type { SessionRow } from './session-record.ts';
import type { Session } from './sessions.ts';
import type { VerifiedClaims } from './types.ts';

/** A session so young may be known before the record of its user, which was made a moment earlier: the two watches run apart. */
const youngMs = 30_000;
const watchDelayMs = 2_000;

export interface AccountStateOptions {
  accounts: AccountLookup;
  revokedTokens: RevokedTokens;
  /** `users.idleDays` */
  idleDays: number;
  now: () => Date;
}

/** A token that verified: whose it is, and since when. */
interface TokenOwner {
  /** User name as Kubernetes sees it. */
  subjectName: string;
  /** Unix seconds. */
  issuedAt: number;
  /** The login string that names the record. */
  login: string | undefined;
  claims: VerifiedClaims;
}

/** Whether users may go on with the tokens and sessions that they have (api.md 1.3), by what this replica has seen of the cluster. */
export class AccountState {
  readonly #options: AccountStateOptions;

  constructor(options: AccountStateOptions) {
    this.#options = options;
  }

  /** To be awaited before anything is judged. @throws StatusError 503 while it is not known who there is and what is revoked */
  async whenKnown(signal: AbortSignal): Promise<void> {
    const { accounts, revokedTokens } = this.#options;
    await revokedTokens.whenKnown(signal);
    // Where the resource is not installed, log-in works without records.
    const isKnown = () => accounts.isSynced || accounts.failure()?.startsWith('404') === true;
    // Any version will do: it is seen with the first list.
    if (isKnown() || (await accounts.waitFor('1', watchDelayMs, signal)) || isKnown()) return;
    throw serviceUnavailable('kubernetes', { cause: new Error('the users are not known yet') });
  }

  /** Waits for the record of a session made a moment ago. @throws the signal's reason when it aborts */
  async whenCaughtUp({ user, userUID, createdAt }: SessionRow, signal: AbortSignal): Promise<void> {
    const { accounts, now } = this.#options;
    const isThere = () => userUID === undefined || accounts.get(user)?.uid === userUID;
    if (now().getTime() - createdAt < youngMs) await this.#until(isThere, signal);
  }

  /** The user's record, as far as there is one. */
  accountOf(user: string): Account | undefined {
    return this.#options.accounts.get(user);
  }

  find(login: string | undefined): Account | undefined {
    return login === undefined ? undefined : this.#options.accounts.find(login);
  }

  /** Why the user of a session may not go on with it, as the 401 to throw; undefined if they may. */
  refusalOfSession({ row, secrets }: Session): StatusError | undefined {
    const isEnded = row.login === undefined && this.#options.revokedTokens.hasEndedLoginOf(secrets.tokens.claims, row.createdAt);
    return isEnded ? noLongerCounts(revoked) : this.refusalOfRow(row);
  }

  /** The same as far as can be told without opening it. */
  refusalOfRow({ user, userUID, subjectName, createdAt, login }: SessionRow): StatusError | undefined {
    if (login !== undefined && this.#options.revokedTokens.hasEnded(login, createdAt)) return noLongerCounts(revoked);
    if (subjectName !== '' && this.#options.revokedTokens.hasSubject(subjectName, createdAt)) return noLongerCounts(revoked);
    const account = this.accountOf(user);
    // A record made anew under the name of a deleted one does not inherit its sessions.
    if (userUID !== undefined && account?.uid !== userUID) return noLongerCounts(revoked);
    return account && this.#refusal(account, createdAt / 1000);
  }

  /** The same of a token in the hands of the user. */
  refusalOfToken({ subjectName, issuedAt, login, claims }: TokenOwner): StatusError | undefined {
    if (this.#options.revokedTokens.hasEndedLoginOf(claims, issuedAt * 1000)) return noLongerCounts(revoked);
    if (this.#options.revokedTokens.hasSubject(subjectName, issuedAt * 1000)) return noLongerCounts(revoked);
    const account = this.find(login);
    return account && this.#refusal(account, issuedAt);
  }

  /**
   * The same when tokens were renewed: then the user must still be there, as nothing else ends the refresh tokens of one who was deleted.
   * And a session that the issuer has ended goes on by nothing that is newer, as refresh tokens for offline access outlive it there.
   *
   * @throws the signal's reason when it aborts
   */
  async refusalOfRenewal(owner: TokenOwner, signal: AbortSignal): Promise<StatusError | undefined> {
    const { accounts, revokedTokens } = this.#options;
    const { sid } = issuerLoginOf(owner.claims);
    if (revokedTokens.hasEnded({ sid, sub: undefined }, 0)) return noLongerCounts(revoked);
    const isThere = () => this.find(owner.login) !== undefined;
    if (accounts.isSynced) await this.#until(isThere, signal);
    return accounts.isSynced && !isThere() ? noLongerCounts(revoked) : this.refusalOfToken(owner);
  }

  /** Resolves when something is true of the users, at the latest after the time that the watch may be behind. */
  async #until(isTrue: () => boolean, signal: AbortSignal): Promise<void> {
    if (isTrue()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, watchDelayMs);
    const forget = this.#options.accounts.onChange(() => isTrue() && resolve());
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
    forget();
    signal.throwIfAborted();
  }

  #refusal(account: Account, since: number): StatusError | undefined {
    if (account.sessionsNotBefore !== undefined && since < account.sessionsNotBefore) return noLongerCounts(revoked);
    const { now, idleDays } = this.#options;
    const cause = phaseCause(account, now(), idleDays);
    return cause && noLongerCounts(cause);
  }
}

/** 401 for a session that is over, or never was. */
export function sessionEnded(cause?: unknown): StatusError {
  const error = unauthorized({ tokenGiven: true, message: 'the session has ended' });
  error.cause = cause;
  return error;
}
