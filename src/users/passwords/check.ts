import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditOrigin } from '../../http/audit.ts';
import { KeyedSemaphore } from '../../http/keyed-semaphore.ts';
import { type RateExceeded, RateLimit } from '../../http/rate-limit.ts';
import { Semaphore } from '../../http/semaphore.ts';
import { unending } from '../../kubernetes/abortable.ts';
import type { Services } from '../../services.ts';
import { LoginAttempts, type Proved, type Refusal } from '../logins/attempts.ts';
import type { KnownBrowser } from '../logins/known-browsers.ts';
import { Newcomers } from '../logins/newcomers.ts';
import type { Account } from '../record/account.ts';
import type { AccountLookup } from '../record/lookup.ts';
import { recordName, shortHash } from '../record/name.ts';
import type { DirectoryPasswords } from './directory-passwords.ts';
import type { Passwords } from './passwords.ts';
import { PasswordSecrets, type StoredHash } from './secret.ts';

/** What else is asked of some users after the right password. */
export interface FurtherProof {
  /** @throws StatusError 503, 504 */
  isAskedOf(user: { name: string; uid: string }, signal: AbortSignal): Promise<boolean>;
}

/** What a caller claims to know; the rest of the origin is for the audit trail. */
export interface PasswordAttempt extends Partial<AuditOrigin> {
  email: string;
  password: string;
  /** Client address. */
  source: string;
  /** Known to be the user's, if it is one of whom the password is; then failures count there before they count with the address. */
  browser?: KnownBrowser | undefined;
}

export type PasswordVerdict =
  /** `passwordChangedAt` tells this password of the user from earlier and later ones; '' for one that is kept elsewhere. */
  | { outcome: 'ok'; account: Account; passwordChangedAt: string }
  /** `retryAfterSeconds` is about the client's address, not about the user, and may be told. */
  | { outcome: 'refused'; reason: Refusal; retryAfterSeconds?: number };

interface Bucket {
  readonly limit: RateLimit;
  readonly key: string;
}

/** What the audit trail calls a wrong password: at a login, or when a user wants to change it. */
type FailureName = 'LoginFailed' | 'PasswordCheckFailed';

interface CheckedPassword {
  readonly verdict: PasswordVerdict;
  /** Whose password it was, if there is such a user. */
  readonly account?: Account | undefined;
  readonly isLocking?: boolean;
}

/** Hashing is what takes time; more at once would only contend for the same record, and more waiting would reach their deadline. */
const turns = { atOnce: 16, maxWaiting: 128, what: 'passwords are being checked' };

/** Who knows one password could otherwise take all turns with it, as right ones are not counted. */
const turnsOfUser = { ...turns, atOnce: 2 };

/** An address may try as many accounts as this times `lockout.failures`: an office has one address too. */
const failuresPerSource = 10;

/** Refusals are answered at multiples of this after their beginning, so that the time says nothing about why. */
const refusalStepMs = 250;

/**
 * Checks the passwords of local users, and of those whose directory is asked, and locks who failed too often.
 *
 * An attempt is counted on the record by compare-and-swap before the password is looked at, and taken back if it was right: however
 * many guesses come at once on however many replicas, no more are judged than `users.lockout.failures`. A user who is unknown, locked or
 * disabled gets the same answer as for a wrong password, after the same work and at the same time.
 */
export class PasswordCheck {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #passwords: Passwords;
  readonly #directories: DirectoryPasswords | undefined;
  readonly #furtherProof: FurtherProof | undefined;
  /** Those at passwords, and at what else is asked. */
  readonly attempts: LoginAttempts;
  readonly #secrets: PasswordSecrets;
  readonly #sources: RateLimit;
  readonly #browsers: RateLimit;
  readonly #newcomers: Newcomers | undefined;
  readonly #userTurns = new KeyedSemaphore(turnsOfUser);
  readonly #turns = new Semaphore(turns);
  /** Of their own, as a directory that hangs must not keep local users waiting. */
  readonly #directoryTurns = new Semaphore(turns);

  /**
   * @param directories of users whose passwords a directory keeps; undefined if there are none
   * @param furtherProof without it, a right password completes a login
   */
  constructor(
    services: Services,
    accounts: AccountLookup,
    passwords: Passwords,
    directories: DirectoryPasswords | undefined,
    furtherProof?: FurtherProof,
  ) {
    const { config, clock } = services;
    this.#services = services;
    this.#accounts = accounts;
    this.#passwords = passwords;
    this.#directories = directories;
    this.#furtherProof = furtherProof;
    this.attempts = new LoginAttempts(services, accounts, directories);
    this.#secrets = new PasswordSecrets(services);
    const { failures, duration } = config.users.lockout;
    this.#sources = new RateLimit({ limit: failures * failuresPerSource, windowMs: duration, clock });
    this.#browsers = new RateLimit({ limit: failures, windowMs: duration, clock });
    const limit = new RateLimit({ limit: failures, windowMs: duration, clock });
    this.#newcomers = directories && new Newcomers({ directories, limit });
  }

  /**
   * Writes the failure and `UserLocked` to the audit trail; that the user is logged in, the caller of this writes.
   *
   * @throws StatusError 429 when too many are being checked, 503, 504
   */
  async check(attempt: PasswordAttempt, signal: AbortSignal, failure: FailureName = 'LoginFailed'): Promise<PasswordVerdict> {
    const started = this.#services.clock();
    // Before the address is looked at, of which a user who waits for their own turn takes nothing.
    const judged = await this.#userTurns.run(nameOf(attempt.email), () => this.#counted(attempt, signal), signal);
    const verdict = this.#record(attempt, failure, judged);
    const isAtOnce = verdict.outcome === 'ok' || verdict.reason === 'TooManyFromSource';
    if (!isAtOnce) await sleep(refusalStepMs - ((this.#services.clock() - started) % refusalStepMs), undefined, { signal });
    return verdict;
  }

  /**
   * Whether that is the password already, for those who may set it anyway: nothing is counted.
   *
   * @throws StatusError 429, 503, 504
   */
  async isCurrent(user: { name: string; uid: string }, password: string, signal: AbortSignal): Promise<boolean> {
    const stored = await this.#secrets.read(user, signal);
    return stored !== undefined && (await this.#passwords.verify(password, stored.hash)) !== 'mismatch';
  }

  /** Where the attempt counts as a failure until it turns out right, or why it is one too many. */
  #bucketOf({ email, source, browser }: PasswordAttempt): Bucket | RateExceeded {
    const isKnown = browser !== undefined && browser.user === this.#accounts.find(email)?.uid;
    if (isKnown && this.#browsers.take(browser.id) === undefined) return { limit: this.#browsers, key: browser.id };
    return this.#sources.take(source) ?? { limit: this.#sources, key: source };
  }

  async #counted(attempt: PasswordAttempt, signal: AbortSignal): Promise<CheckedPassword> {
    const bucket = this.#bucketOf(attempt);
    if ('retryAfterSeconds' in bucket) return { verdict: { outcome: 'refused', reason: 'TooManyFromSource', ...bucket } };
    return this.#inTurn(attempt, bucket, signal);
  }

  async #inTurn(attempt: PasswordAttempt, bucket: Bucket, signal: AbortSignal): Promise<CheckedPassword> {
    let isFailure = false;
    try {
      const waiting = this.#mayBeOfDirectory(attempt.email) ? this.#directoryTurns : this.#turns;
      const judged = await waiting.run(() => {
        signal.throwIfAborted();
        // A client that hangs up must not get an attempt that is neither counted nor told of. Each call has a deadline of its own.
        return this.#judge(attempt, unending);
      }, signal);
      isFailure = judged.verdict.outcome === 'refused';
      return judged;
    } finally {
      if (!isFailure) bucket.limit.giveBack(bucket.key);
    }
  }

  async #judge({ email, password }: PasswordAttempt, signal: AbortSignal): Promise<CheckedPassword> {
    const accounts = this.#accounts;
    const passwords = this.#passwords;
    const known = accounts.find(email);
    const name = known?.name ?? nameOf(email);
    if (known === undefined && accounts.isSynced) await this.#newcomers?.provision(name, { email, password }, signal);
    const counted = await this.attempts.count({ name, email }, signal);
    const { account, refusal = 'WrongPassword', isLast = false } = counted;
    if (account?.connectorType === 'ldap' && counted.refusal === undefined)
      return this.#askDirectory({ account, isLast }, password, signal);
    const stored = await this.#secrets.read({ name, uid: account?.uid ?? '' }, signal);
    if (account === undefined || stored === undefined || counted.refusal !== undefined) {
      await passwords.dummyVerify(password);
      return { verdict: { outcome: 'refused', reason: refusal }, account, isLocking: isLast };
    }
    const match = await passwords.verify(password, stored.hash);
    if (match === 'mismatch') return { verdict: { outcome: 'refused', reason: 'WrongPassword' }, account, isLocking: isLast };
    if (match === 'match-rehash') await this.#rehash(name, password, stored, signal);
    const proved = await this.attempts.succeed(account, { isComplete: await this.#isComplete(account, signal) }, signal);
    return { verdict: verdictOf(proved, stored.changedAt), account };
  }

  /** Who knows the password alone must not get the count of wrong second factors back to nothing by it. */
  async #isComplete(account: Account, signal: AbortSignal): Promise<boolean> {
    return !(await this.#furtherProof?.isAskedOf(account, signal));
  }

  #mayBeOfDirectory(email: string): boolean {
    return this.#directories !== undefined && this.#accounts.find(email)?.connectorType !== 'local';
  }

  /** @throws StatusError 503 if it gives no answer: then the attempt does not count */
  async #askDirectory(
    { account, isLast }: { account: Account; isLast: boolean },
    password: string,
    signal: AbortSignal,
  ): Promise<CheckedPassword> {
    const directories = this.#directories;
    const passwords = this.#passwords;
    const { connectorID, email } = account;
    try {
      // As much work as for a local user, so that the time does not tell who is one.
      const [proof] = await Promise.all([directories?.check({ connectorID, email, password }, signal), passwords.dummyVerify(password)]);
      if (proof === undefined) return { verdict: { outcome: 'refused', reason: 'WrongPassword' }, account, isLocking: isLast };
      const status = { groups: proof.groups };
      const isComplete = await this.#isComplete(account, signal);
      const proved = await this.attempts.succeed(account, { isComplete, status }, signal);
      return { verdict: verdictOf(proved, ''), account };
    } catch (error) {
      await this.attempts.takeBack(account, signal);
      throw error;
    }
  }

  /** A hash of today's strength, now that the password is at hand. A failed write refuses no login. */
  async #rehash(user: string, password: string, stored: StoredHash, signal: AbortSignal): Promise<void> {
    try {
      await this.#secrets.replaceHash(user, { ...stored, hash: await this.#passwords.hash(password) }, signal);
    } catch (error) {
      this.#services.log.warn({ user, err: error }, 'a password hash stays as weak as it is');
    }
  }

  #record(
    { requestId, source, userAgent }: PasswordAttempt,
    failure: FailureName,
    { verdict, account, isLocking = false }: CheckedPassword,
  ): PasswordVerdict {
    if (verdict.outcome === 'ok') return verdict;
    const { audit } = this.#services;
    const event = {
      source,
      ...(requestId !== undefined && { requestId }),
      ...(userAgent !== undefined && { userAgent }),
      ...(account && { target: { name: account.name, uid: account.uid } }),
    };
    audit.record({ audit: failure, ...event, outcome: 'failure', reason: verdict.reason });
    if (isLocking) audit.record({ audit: 'UserLocked', ...event, outcome: 'success', reason: 'TooManyFailedLogins' });
    return verdict;
  }
}

const nameOf = (email: string): string => recordName(email) ?? shortHash(email);

const verdictOf = (proved: Proved, passwordChangedAt: string): PasswordVerdict =>
  'account' in proved ? { outcome: 'ok', account: proved.account, passwordChangedAt } : { outcome: 'refused', reason: proved.refusal };
