import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { Audit, AuditOrigin } from '../http/audit.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import { type Account, accountOf } from './account.ts';
import { LockEnds } from './lock-ends.ts';
import { countAttempt, noFailures } from './lockout.ts';
import type { AccountLookup } from './lookup.ts';
import { PasswordSecrets, type StoredHash } from './password-secret.ts';
import type { Passwords } from './passwords.ts';
import { phaseOf, phaseStatus } from './phase.ts';
import { recordName, shortHash } from './record-name.ts';
import { SourceLimit } from './source-limit.ts';
import { Turns } from './turns.ts';
import { UserRecords, untilUncontested } from './user-records.ts';

/** What somebody claims to know; the rest of the origin is for the audit trail. */
export interface PasswordAttempt extends Partial<AuditOrigin> {
  email: string;
  password: string;
  /** Client address. */
  source: string;
}

/** Why a password was not accepted. Whoever sent it must not learn which it was. */
type Refusal = 'UnknownUser' | 'NotLocal' | 'Invalid' | 'Disabled' | 'Locked' | 'Contested' | 'WrongPassword' | 'TooManyFromSource';

export type PasswordVerdict =
  /** `passwordChangedAt` tells this password of the user from earlier and later ones. */
  | { outcome: 'ok'; account: Account; passwordChangedAt: string }
  /** `retryAfterSeconds` is about the client's address, not about the user, and may be told. */
  | { outcome: 'refused'; reason: Refusal; retryAfterSeconds?: number };

export interface PasswordCheckOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  accounts: AccountLookup;
  passwords: Passwords;
  config: Config['users'];
  audit: Audit;
  log: Logger;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** What came of counting an attempt: it may be judged, or `refusal` says why not. */
interface Counted {
  readonly account?: Account;
  readonly refusal?: Refusal;
  /** No other is to be had: if this one fails, the user stays locked. */
  readonly isLast?: boolean;
}

interface Judged {
  readonly verdict: PasswordVerdict;
  /** Whose password it was, if there is such a user. */
  readonly account?: Account | undefined;
  readonly isLocking?: boolean;
}

/** Hashing is what takes time; more at once would only contend for the same record, and more waiting would reach their deadline. */
const turns = { atOnce: 16, maxWaiting: 128 };

/** An address may try as many accounts as this times `lockout.failures`: an office has one address too. */
const failuresPerSource = 10;

/** Refusals are answered at multiples of this after their beginning, so that the time says nothing about why. */
const refusalStepMs = 250;

/**
 * Checks the passwords of local users, and locks who failed too often.
 *
 * An attempt is counted on the record by compare-and-swap before the password is looked at, and taken back if it was right: however
 * many guesses come at once on however many replicas, no more are judged than `users.lockout.failures`. Somebody unknown, locked or
 * disabled gets the same answer as for a wrong password, after the same work and at the same time.
 */
export class PasswordCheck {
  readonly #options: PasswordCheckOptions;
  readonly #records: UserRecords;
  readonly #secrets: PasswordSecrets;
  readonly #sources: SourceLimit;
  readonly #turns = new Turns(turns);
  readonly #locks: LockEnds;
  readonly #now: () => Date;
  readonly #clock: () => number;

  constructor(options: PasswordCheckOptions) {
    const { client, config, now = () => new Date(), clock = () => performance.now() } = options;
    this.#options = options;
    this.#records = new UserRecords(client);
    this.#secrets = new PasswordSecrets(options);
    const { failures, duration } = config.lockout;
    this.#sources = new SourceLimit({ failures: failures * failuresPerSource, windowMs: duration, clock });
    this.#now = now;
    this.#clock = clock;
    this.#locks = new LockEnds({ now, clock });
    options.accounts.onChange((name) => {
      const account = options.accounts.get(name);
      if (account !== undefined) this.#locks.see(account);
    });
  }

  /**
   * Writes `LoginFailed` and `UserLocked` to the audit trail; that somebody is logged in, whoever asked says.
   *
   * @throws StatusError 429 when too many are being checked, 503, 504
   */
  async check(attempt: PasswordAttempt, signal: AbortSignal): Promise<PasswordVerdict> {
    const started = this.#clock();
    const exhausted = this.#sources.take(attempt.source);
    if (exhausted !== undefined)
      return this.#record(attempt, { verdict: { outcome: 'refused', reason: 'TooManyFromSource', ...exhausted } });
    const verdict = this.#record(attempt, await this.#inTurn(attempt, signal));
    if (verdict.outcome === 'refused') await sleep(refusalStepMs - ((this.#clock() - started) % refusalStepMs), undefined, { signal });
    return verdict;
  }

  async #inTurn(attempt: PasswordAttempt, signal: AbortSignal): Promise<Judged> {
    let isFailure = false;
    try {
      const judged = await this.#turns.run(() => {
        signal.throwIfAborted();
        // Whoever hangs up must not get an attempt that is neither counted nor told of. Each call has a deadline of its own.
        return this.#judge(attempt, new AbortController().signal);
      });
      isFailure = judged.verdict.outcome === 'refused';
      return judged;
    } finally {
      if (!isFailure) this.#sources.giveBack(attempt.source);
    }
  }

  async #judge({ email, password }: PasswordAttempt, signal: AbortSignal): Promise<Judged> {
    const { accounts, passwords } = this.#options;
    const name = accounts.find(email)?.name ?? recordName(email) ?? shortHash(email);
    const counted = (await untilUncontested(() => this.#count(name, email, signal), signal)) ?? { refusal: 'Contested' };
    const { account, refusal = 'WrongPassword', isLast = false } = counted;
    const stored = await this.#secrets.read({ name, uid: account?.uid ?? '' }, signal);
    if (account === undefined || stored === undefined || counted.refusal !== undefined) {
      await passwords.dummyVerify(password);
      return { verdict: { outcome: 'refused', reason: refusal }, account, isLocking: isLast };
    }
    const match = await passwords.verify(password, stored.hash);
    if (match === 'mismatch') return { verdict: { outcome: 'refused', reason: 'WrongPassword' }, account, isLocking: isLast };
    if (match === 'match-rehash') await this.#rehash(name, password, stored, signal);
    const verdict = await untilUncontested(() => this.#succeed(account, stored, signal), signal);
    return { verdict: verdict ?? { outcome: 'refused', reason: 'Contested' }, account };
  }

  /** Undefined if somebody else has written in between. */
  async #count(name: string, email: string, signal: AbortSignal): Promise<Counted | undefined> {
    const found = await this.#records.read(name, signal);
    if (found === undefined || found === 'not-installed') return { refusal: 'UnknownUser' };
    const isOver = this.#locks.hasEnded(accountOf(found));
    const object = isOver ? { ...found, status: { ...statusOf(found), ...noFailures } } : found;
    const account = accountOf(object);
    if (account.email.toLowerCase() !== email.toLowerCase()) return { refusal: 'UnknownUser' };
    if (account.connectorType !== 'local') return { account, refusal: 'NotLocal' };
    const { lockout, idleDays } = this.#options.config;
    const { phase } = phaseOf(account, this.#now(), idleDays);
    if (phase !== 'Normal') return { account, refusal: phase };
    const count = countAttempt(statusOf(object), this.#now(), lockout);
    if (count === undefined) return { account, refusal: 'Locked' };
    const written = await this.#writeStatus(object, { ...count }, signal);
    return written && { account, isLast: count.lockedUntil !== null };
  }

  /** Takes the count back, and the lock with it. Undefined if somebody else has written in between. */
  async #succeed(
    { name, uid, sessionsNotBefore }: Account,
    { changedAt }: StoredHash,
    signal: AbortSignal,
  ): Promise<PasswordVerdict | undefined> {
    const object = await this.#records.read(name, signal);
    if (object === undefined || object === 'not-installed' || object.metadata.uid !== uid)
      return { outcome: 'refused', reason: 'UnknownUser' };
    const account = accountOf({ ...object, status: { ...statusOf(object), ...noFailures } });
    const { phase } = phaseOf(account, this.#now(), this.#options.config.idleDays);
    if (phase !== 'Normal') return { outcome: 'refused', reason: phase };
    // Meanwhile the password was changed: the right one was the old one.
    if (account.sessionsNotBefore !== sessionsNotBefore) return { outcome: 'refused', reason: 'WrongPassword' };
    const written = await this.#writeStatus(object, noFailures, signal);
    return written && { outcome: 'ok', account: accountOf(written), passwordChangedAt: changedAt };
  }

  #writeStatus(object: KubernetesObject, changes: Record<string, unknown>, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const changed = { ...object, status: { ...statusOf(object), ...changes } };
    const phase = phaseStatus(changed, this.#now(), this.#options.config.idleDays);
    return this.#records.patch(object, { status: { ...changes, ...phase } }, signal);
  }

  /** A hash of today's strength, now that the password is at hand. That it cannot be written keeps nobody out. */
  async #rehash(user: string, password: string, stored: StoredHash, signal: AbortSignal): Promise<void> {
    try {
      await this.#secrets.replaceHash(user, { ...stored, hash: await this.#options.passwords.hash(password) }, signal);
    } catch (error) {
      this.#options.log.warn({ user, err: error }, 'a password hash stays as weak as it is');
    }
  }

  #record({ requestId, source, userAgent }: PasswordAttempt, { verdict, account, isLocking = false }: Judged): PasswordVerdict {
    if (verdict.outcome === 'ok') return verdict;
    const { audit } = this.#options;
    const event = {
      source,
      ...(requestId !== undefined && { requestId }),
      ...(userAgent !== undefined && { userAgent }),
      ...(account && { target: { name: account.name, uid: account.uid } }),
    };
    audit.record({ audit: 'LoginFailed', ...event, outcome: 'failure', reason: verdict.reason });
    if (isLocking) audit.record({ audit: 'UserLocked', ...event, outcome: 'success', reason: 'TooManyFailedLogins' });
    return verdict;
  }
}

const statusOf = ({ status }: KubernetesObject): Record<string, unknown> => (isRecord(status) ? status : {});
