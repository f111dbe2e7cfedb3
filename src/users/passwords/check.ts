import { setTimeout as sleep } from 'node:timers/promises';
import { type RateExceeded, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { reportPlaces, reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore, Semaphore } from '@atrium/http/limits/semaphore.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { AuditOrigin } from '../../audit/audit.ts';
import type { Services } from '../../services.ts';
import type { KnownBrowser } from '../logins/known-browsers.ts';
import { type Counted, failuresOfSources, LoginAttempts, type Proved, type Refusal } from '../logins/lockout.ts';
import { type Account, directoryType, recordName, shortHash } from '../record/account.ts';
import type { AccountLookup } from '../record/lookup.ts';
import { type DirectoryPasswords, DirectoryProvisioning } from './directory-passwords.ts';
import type { Passwords } from './passwords.ts';
import { PasswordSecrets, type StoredHash } from './secret.ts';

/** Further authentication that some users need after the password. */
export interface FurtherProof {
  /** Reports whether the user needs further authentication. @throws StatusError 503, 504 */
  isAskedOf(user: { name: string; uid: string }, signal: AbortSignal): Promise<boolean>;
}

/** Password attempt of a client. The optional part of the origin is for the audit trail. */
export interface PasswordAttempt extends Partial<AuditOrigin> {
  email: string;
  password: string;
  /** Address of the client. */
  source: string;
  /** Browser that the user has logged in with before. Failures count against it before they count against the address. */
  browser?: KnownBrowser | undefined;
}

export type PasswordVerdict =
  /**
   * `passwordChangedAt` distinguishes the password from earlier and later ones; '' if a directory keeps it. `isComplete` is false if the
   * user needs further authentication.
   */
  | { outcome: 'ok'; account: Account; passwordChangedAt: string; isComplete: boolean }
  /** `retryAfterSeconds` depends on the client's address, not on the user, and may be disclosed. */
  | { outcome: 'refused'; reason: Refusal; retryAfterSeconds?: number };

interface Bucket {
  readonly limit: RateLimit;
  readonly key: string;
}

/** Name of the audit event for a wrong password, at a login or at a password change. */
type FailureName = 'LoginFailed' | 'PasswordCheckFailed';

interface CheckedPassword {
  readonly verdict: PasswordVerdict;
  /** User of the attempt, if the user exists. */
  readonly account?: Account | undefined;
  readonly isLocking?: boolean;
}

/**
 * Bound of concurrent checks. Hashing takes most of the time. Further checks would compete for the same record, and longer queues would
 * exceed the deadlines. The API server or a directory may be slow for one flow, which leaves places for the others.
 */
const turns = { atOnce: 16, ofFlow: 3, maxWaiting: 128, what: 'passwords are being checked' };

/** Bound per user. Right passwords are not counted as failures, so that a client with one right password could otherwise take all turns. */
const userConcurrency = { ...turns, atOnce: 2, ofFlow: 1 };

/** Refusals are delayed to multiples of this duration, so that the time does not reveal the reason. */
const refusalStepMs = 250;

/**
 * Checks the passwords of local users and of users of directories that verify them, and locks users after too many failures.
 *
 * An attempt is counted on the record by compare-and-swap before the password is verified, and uncounted if it was right. Concurrent
 * guesses on all replicas together get no more verifications than `users.lockout.failures`. Unknown, locked and disabled users get the same
 * answer as for a wrong password, after the same work and at the same time.
 */
export class PasswordCheck {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #passwords: Passwords;
  readonly #directories: DirectoryPasswords | undefined;
  readonly #furtherProof: FurtherProof | undefined;
  /** Counts attempts with passwords and with further authentication. */
  readonly attempts: LoginAttempts;
  readonly #secrets: PasswordSecrets;
  readonly #sources: RateLimit;
  readonly #browsers: RateLimit;
  readonly #provisioning: DirectoryProvisioning | undefined;
  readonly #userTurns = new KeyedSemaphore(userConcurrency);
  readonly #turns = new Semaphore(turns);
  /** Queue for directories, so that a hanging directory does not delay local users. */
  readonly #directoryTurns = new Semaphore(turns);

  /**
   * @param directories that verify the passwords of their users; undefined if there are none
   * @param furtherProof without it, a right password completes a login
   */
  constructor(
    services: Services,
    accounts: AccountLookup,
    passwords: Passwords,
    directories: DirectoryPasswords | undefined,
    furtherProof?: FurtherProof,
  ) {
    const { config, clock, metrics } = services;
    reportPlaces(metrics, 'passwords', this.#turns);
    reportRefusals(metrics, 'users', this.#userTurns);
    reportPlaces(metrics, 'directory', this.#directoryTurns);
    this.#services = services;
    this.#accounts = accounts;
    this.#passwords = passwords;
    this.#directories = directories;
    this.#furtherProof = furtherProof;
    this.attempts = new LoginAttempts(services, accounts, directories);
    this.#secrets = new PasswordSecrets(services);
    const { failures, duration } = config.users.lockout;
    this.#sources = failuresOfSources(services);
    this.#browsers = new RateLimit({ limit: failures, windowMs: duration, clock });
    const limit = new RateLimit({ limit: failures, windowMs: duration, clock });
    this.#provisioning = directories && new DirectoryProvisioning({ directories, limit });
  }

  /**
   * Checks a password. Audits failures and `UserLocked`. The caller audits a successful login.
   *
   * @throws StatusError 429 if too many checks are in progress, 503, 504
   */
  async check(attempt: PasswordAttempt, signal: AbortSignal, failure: FailureName = 'LoginFailed'): Promise<PasswordVerdict> {
    const started = this.#services.clock();
    // The user's turn comes before the limit of the address, which a waiting attempt does not use up.
    const judged = await this.#userTurns.run(nameOf(attempt.email), () => this.#counted(attempt, signal), signal);
    const verdict = this.#record(attempt, failure, judged);
    const isAtOnce = verdict.outcome === 'ok' || verdict.reason === 'TooManyFromSource';
    if (!isAtOnce) await sleep(refusalStepMs - ((this.#services.clock() - started) % refusalStepMs), undefined, { signal });
    return verdict;
  }

  /**
   * Reports whether that is the present password, for callers with the right to set it. Attempts are not counted.
   *
   * @throws StatusError 429, 503, 504
   */
  async isCurrent(user: { name: string; uid: string }, password: string, signal: AbortSignal): Promise<boolean> {
    const stored = await this.#secrets.read(user, signal);
    return stored !== undefined && (await this.#passwords.verify(password, stored.hash)) !== 'mismatch';
  }

  /** Takes a place in a rate limit, which is given back if the attempt turns out right. @returns the bucket, or the exceeded limit */
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
    const waiting = this.#mayBeOfDirectory(attempt.email) ? this.#directoryTurns : this.#turns;
    const verify = () => {
      signal.throwIfAborted();
      // A client that disconnects must not get an attempt that is neither counted nor audited. Each call has its own deadline.
      return this.#verify(attempt, neverAborts);
    };
    return bucket.limit.runCounted(
      bucket.key,
      () => waiting.run(verify, signal),
      ({ verdict }) => verdict.outcome === 'refused',
    );
  }

  async #verify({ email: typed, password }: PasswordAttempt, signal: AbortSignal): Promise<CheckedPassword> {
    const accounts = this.#accounts;
    const passwords = this.#passwords;
    const known = accounts.find(typed);
    const name = known?.name ?? nameOf(typed);
    // The address of a user who is gone from the directory may have been given to another entry.
    const mayBeNew = known === undefined || (known.connectorType === directoryType && !known.isValid);
    const found =
      mayBeNew && accounts.watch.isSynced ? await this.#provisioning?.provision(name, { email: typed, password }, signal) : undefined;
    if (found === 'SubjectDiffers') {
      await passwords.dummyVerify(password);
      return { verdict: { outcome: 'refused', reason: 'SubjectDiffers' }, account: known };
    }
    const email = found?.login ?? typed;
    const counted = await this.attempts.count({ name: nameOf(email), email }, signal);
    const { account } = counted;
    if (account?.connectorType === directoryType && counted.refusal === undefined)
      return this.#askDirectory({ ...counted, account }, password, signal);
    try {
      return await this.#compare(nameOf(email), counted, password, signal);
    } catch (error) {
      // The cause is the failure to report; a count that stays is taken for a wrong password.
      if (account !== undefined && counted.refusal === undefined)
        await this.attempts
          .takeBack(account, signal)
          .catch((err: unknown) => this.#services.log.warn({ user: account.name, err }, 'attempt stays counted'));
      throw error;
    }
  }

  /** Compares the password with the stored hash. @throws StatusError 503 */
  async #compare(name: string, counted: Counted, password: string, signal: AbortSignal): Promise<CheckedPassword> {
    const passwords = this.#passwords;
    const { account, refusal = 'WrongPassword', isLast = false, record } = counted;
    const stored = await this.#secrets.read({ name, uid: account?.uid ?? '' }, signal);
    if (account === undefined || stored === undefined || counted.refusal !== undefined) {
      await passwords.dummyVerify(password);
      return { verdict: { outcome: 'refused', reason: refusal }, account, isLocking: isLast };
    }
    const match = await passwords.verify(password, stored.hash);
    if (match === 'mismatch') return { verdict: { outcome: 'refused', reason: 'WrongPassword' }, account, isLocking: isLast };
    if (match === 'match-rehash') await this.#rehash(account.name, password, stored, signal);
    const isComplete = await this.#isComplete(account, signal);
    const proved = await this.attempts.succeed({ account, record }, { isComplete }, signal);
    return { verdict: verdictOf(proved, { passwordChangedAt: stored.changedAt, isComplete }), account };
  }

  /**
   * Reports whether the password completes the login. A client that knows only the password must not reset the count of wrong second
   * factors.
   */
  async #isComplete(account: Account, signal: AbortSignal): Promise<boolean> {
    return !(await this.#furtherProof?.isAskedOf(account, signal));
  }

  #mayBeOfDirectory(email: string): boolean {
    return this.#directories !== undefined && this.#accounts.find(email)?.connectorType !== 'local';
  }

  /** Checks the password at a directory. @throws StatusError 503 if the directory does not answer; the attempt is not counted then */
  async #askDirectory(
    { account, record, isLast = false }: Counted & { account: Account },
    password: string,
    signal: AbortSignal,
  ): Promise<CheckedPassword> {
    const directories = this.#directories;
    const passwords = this.#passwords;
    try {
      // Verifies a dummy hash, too. The same work as for local users hides which users are local.
      const [proof] = await Promise.all([directories?.check({ account, password }, signal), passwords.dummyVerify(password)]);
      if (proof === undefined) return { verdict: { outcome: 'refused', reason: 'WrongPassword' }, account, isLocking: isLast };
      if (proof === 'SubjectDiffers') {
        await this.attempts.takeBack(account, signal);
        return { verdict: { outcome: 'refused', reason: 'SubjectDiffers' }, account };
      }
      const status = { groups: proof.groups };
      const isComplete = await this.#isComplete(account, signal);
      const proved = await this.attempts.succeed({ account, record }, { isComplete, status }, signal);
      return { verdict: verdictOf(proved, { passwordChangedAt: '', isComplete }), account };
    } catch (error) {
      await this.attempts.takeBack(account, signal);
      throw error;
    }
  }

  /** Replaces a weak hash while the password is available. A failed write does not refuse the login. */
  async #rehash(user: string, password: string, stored: StoredHash, signal: AbortSignal): Promise<void> {
    try {
      await this.#secrets.replaceHash(user, { ...stored, hash: await this.#passwords.hash(password) }, signal);
    } catch (error) {
      this.#services.log.warn({ user, err: error }, 'password hash could not be upgraded');
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

const verdictOf = (proved: Proved, right: { passwordChangedAt: string; isComplete: boolean }): PasswordVerdict =>
  'account' in proved ? { outcome: 'ok', account: proved.account, ...right } : { outcome: 'refused', reason: proved.refusal };
