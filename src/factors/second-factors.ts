import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { z } from 'zod';
import type { AuditOrigin } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import type { LoginAttempts, Refusal } from '../users/logins/lockout.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { Account } from '../users/record/account.ts';
import { noMisses } from '../users/status.ts';
import type { PasskeyProof, Passkeys } from './passkeys.ts';
import { indexOfCode, isRecoveryCode, keptCodes, newRecoveryCodes } from './recovery-codes.ts';
import type { Factor, FactorOwner, FactorStore } from './store.ts';
import { newTOTPSecret, stepOf } from './totp.ts';

/** Consecutive failures that suspend app codes: the lockout alone (five in twenty minutes) would let an attacker guess one in time. */
const missesBeforeSuspension = 20;

/** Authentication methods of a login (RFC 8176) and their assurance level. */
export interface Means {
  readonly amr: readonly string[];
  readonly acr: string;
}

export const acrValues = ['urn:atrium:acr:1', 'urn:atrium:acr:2', 'phr'] as const;
const [acr1, acr2] = acrValues;

export const byPassword: Means = { amr: ['pwd'], acr: acr1 };
const byCodeOfApp: Means = { amr: ['pwd', 'otp', 'mfa'], acr: acr2 };
const byPasswordAndPasskey: Means = { amr: ['pwd', 'pop', 'user', 'mfa'], acr: acr2 };
/** Allows a login and a new factor, but has the level of a password, because the code may have been read over a shoulder. */
const byRecoveryCode: Means = { amr: ['pwd', 'mfa'], acr: acr1 };

const totpContent = z.object({ secret: z.string() });

export type FactorVerdict = { outcome: 'ok'; account: Account; means: Means } | { outcome: 'refused' };

interface SecondFactorsNeeds {
  attempts: LoginAttempts;
  store: FactorStore;
  passkeys: Passkeys;
  notices: Pick<Notices, 'add'>;
}

/** Never aborts: each call has its own timeout, and a client that disconnects must not leave an attempt uncounted or unaudited. */
const signal = neverAborts;

/** Sets up and verifies second factors. */
export class SecondFactors {
  readonly #services: Services;
  readonly #attempts: LoginAttempts;
  readonly #store: FactorStore;
  readonly #passkeys: Passkeys;
  readonly #notices: Pick<Notices, 'add'>;

  constructor(services: Services, { attempts, store, passkeys, notices }: SecondFactorsNeeds) {
    this.#services = services;
    this.#attempts = attempts;
    this.#store = store;
    this.#passkeys = passkeys;
    this.#notices = notices;
  }

  /** @throws StatusError 503, 504 */
  list(owner: FactorOwner): Promise<Factor[]> {
    return this.#store.list(owner, signal);
  }

  /**
   * Verifies a code of an app, a recovery code or a passkey. Every attempt is counted like a wrong password before it is verified, and
   * reset by success.
   *
   * @param known user whose password was correct, with `sessionsNotBefore` of that moment
   * @throws StatusError 503, 504
   */
  async verify(
    known: Pick<Account, 'name' | 'uid' | 'email'> & { sessionsNotBefore: number | undefined },
    given: string | PasskeyProof,
    origin: AuditOrigin,
  ): Promise<FactorVerdict> {
    let isNowSuspended = false;
    const {
      account,
      refusal,
      isLast = false,
      record,
    } = await this.#attempts.count(known, signal, (status) => {
      const counted = failedAttempt(status);
      isNowSuspended = counted.isTOTPSuspended === true && status.isTOTPSuspended !== true;
      return counted;
    });
    if (account === undefined || refusal !== undefined) return this.#refuse(known, refusal ?? 'UnknownUser', origin);
    if (account.uid !== known.uid || account.sessionsNotBefore !== known.sessionsNotBefore)
      return this.#refuse(known, 'WrongPassword', origin);
    const means = await this.#verifyFactor(account, given, origin);
    if (means === undefined && isNowSuspended) await this.#notices.add(known, 'TOTPSuspended');
    if (means === undefined) return this.#refuse(known, 'WrongFactor', origin, isLast);
    const proved = await this.#attempts.succeed({ account, record }, { isComplete: true, status: noMisses }, signal);
    return 'account' in proved ? { outcome: 'ok', account: proved.account, means } : this.#refuse(known, proved.refusal, origin);
  }

  /** Returns a new secret for an app, which becomes a factor once the user has entered a code of it. */
  newSecret(): string {
    return newTOTPSecret();
  }

  /**
   * Sets up an app.
   *
   * @param mayAdd called once the code is verified
   * @returns `refused` for a code that does not match the secret, `overtaken` if `mayAdd` returned false
   * @throws StatusError 503, 504
   */
  async addTOTP(
    owner: FactorOwner,
    { secret, code }: { secret: string; code: string },
    origin: AuditOrigin,
    mayAdd?: () => Promise<boolean>,
  ): Promise<'added' | 'refused' | 'overtaken'> {
    const step = stepOf(secret, code, this.#services.now());
    if (step === undefined) return 'refused';
    if (mayAdd !== undefined && !(await mayAdd())) return 'overtaken';
    const factor = await this.#store.put(owner, 'TOTP', { secret }, signal);
    // The code that confirmed the secret is not valid for a login.
    await this.#store.use(factor, { lastStep: step }, signal);
    this.#record('FactorAdded', owner, origin, { reason: 'TOTP' });
    await this.#notices.add(owner, 'TOTPAdded');
    return 'added';
  }

  /** Creates ten recovery codes; previous codes are no longer valid. @throws StatusError 503, 504 */
  async addRecoveryCodes(owner: FactorOwner, origin: AuditOrigin): Promise<string[]> {
    const { codes, kept } = newRecoveryCodes();
    await this.#store.put(owner, 'RecoveryCodes', kept, signal);
    this.#record('FactorAdded', owner, origin, { reason: 'RecoveryCodes' });
    await this.#notices.add(owner, 'RecoveryCodesAdded');
    return codes;
  }

  /** Removes the listed factors, by UID, from a user who has just set up another one. @throws StatusError 503, 504 */
  async remove(owner: FactorOwner, factors: readonly Factor[], origin: AuditOrigin): Promise<void> {
    const left = await this.#store.list(owner, signal);
    for (const factor of left.filter(({ uid }) => factors.some((one) => one.uid === uid))) {
      await this.#store.remove(factor, signal);
      this.#record('FactorRemoved', owner, origin, { reason: factor.type });
      if (factor.type !== 'RecoveryCodes') await this.#notices.add(owner, 'FactorRemoved');
    }
  }

  async #verifyFactor(account: Account, given: string | PasskeyProof, origin: AuditOrigin): Promise<Means | undefined> {
    if (typeof given === 'string') return this.#verifyCode(account, given, origin);
    const used = await this.#passkeys.find(given);
    const isRight = used !== undefined && (await this.#passkeys.verify(account, used, { isAlone: false }, origin));
    return isRight ? byPasswordAndPasskey : undefined;
  }

  async #verifyCode(account: Account, code: string, origin: AuditOrigin): Promise<Means | undefined> {
    const wanted = isRecoveryCode(code) ? 'RecoveryCodes' : 'TOTP';
    // Concurrent requests read the same version of the object: only one of them can write it.
    const factor = (await this.#store.list(account, signal)).find(({ type }) => type === wanted);
    if (factor === undefined) return undefined;
    const content = await this.#store.contentOf(factor);
    if (wanted === 'TOTP') return (await this.#useTOTP(account, factor, content, code)) ? byCodeOfApp : undefined;
    if (!(await this.#useRecoveryCode(factor, content, code))) return undefined;
    this.#record('RecoveryCodeUsed', account, origin);
    await this.#notices.add(account, 'RecoveryCodeUsed');
    return byRecoveryCode;
  }

  async #useTOTP(account: Account, factor: Factor, content: unknown, code: string): Promise<boolean> {
    const { success, data } = totpContent.safeParse(content);
    if (!success || account.isTOTPSuspended) return false;
    const step = stepOf(data.secret, code, this.#services.now());
    if (step === undefined || step <= (factor.status.lastStep ?? 0)) return false;
    return this.#store.use(factor, { lastStep: step }, signal);
  }

  async #useRecoveryCode(factor: Factor, content: unknown, code: string): Promise<boolean> {
    const { success, data } = keptCodes.safeParse(content);
    const index = success ? indexOfCode(data, code) : undefined;
    const { used = [] } = factor.status;
    if (index === undefined || used.includes(index)) return false;
    return this.#store.use(factor, { used: [...used, index] }, signal);
  }

  #refuse(owner: FactorOwner, reason: Refusal | 'WrongFactor', origin: AuditOrigin, isLast = false): FactorVerdict {
    this.#record('FactorFailed', owner, origin, { outcome: 'failure', reason });
    if (isLast) this.#record('UserLocked', owner, origin, { reason: 'TooManyFailedLogins' });
    return { outcome: 'refused' };
  }

  #record(
    audit: 'FactorAdded' | 'FactorRemoved' | 'FactorFailed' | 'RecoveryCodeUsed' | 'UserLocked',
    { name, uid }: FactorOwner,
    origin: AuditOrigin,
    { outcome = 'success', reason }: { outcome?: 'success' | 'failure'; reason?: string } = {},
  ): void {
    this.#services.audit.record({ audit, ...origin, target: { name, uid }, outcome, ...(reason !== undefined && { reason }) });
  }
}

/** Returns the status to write with the count of an attempt, which is a failure until it succeeds. */
function failedAttempt({ secondFactorFailures }: Readonly<Record<string, unknown>>): {
  secondFactorFailures: number;
  isTOTPSuspended?: true;
} {
  const misses = (typeof secondFactorFailures === 'number' ? secondFactorFailures : 0) + 1;
  return { secondFactorFailures: misses, ...(misses >= missesBeforeSuspension && { isTOTPSuspended: true }) };
}
