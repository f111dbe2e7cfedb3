import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { AuditOrigin } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import { failuresOfSources, type LoginAttempts, type Refusal } from '../users/logins/lockout.ts';
import { PasswordSecrets } from '../users/passwords/secret.ts';
import type { Account } from '../users/record/account.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { noMisses } from '../users/status.ts';
import type { PasskeyProof, Passkeys } from './passkeys.ts';
import type { Means } from './second-factors.ts';

/** Omits `hwk`, because nothing proves that the key is in hardware. */
export const byPasskey: Means = { amr: ['pop', 'user', 'mfa'], acr: 'phr' };

export type PasskeyVerdict =
  | { outcome: 'ok'; account: Account; passwordChangedAt: string }
  /** The passkey is valid, but the directory of the user decides about logins, and needs the password. */
  | { outcome: 'passwordFirst' }
  | PasskeyRefusal;

interface PasskeyRefusal {
  outcome: 'refused';
  retryAfterSeconds?: number;
}

interface PasskeyLoginNeeds {
  passkeys: Passkeys;
  attempts: LoginAttempts;
  accounts: AccountLookup;
}

/** Never aborts: each call has its own timeout, and a client that disconnects must not leave a login uncounted or unaudited. */
const signal = neverAborts;

/** Logs in users by a passkey, without name and password. */
export class PasskeyLogin {
  readonly #services: Services;
  readonly #needs: PasskeyLoginNeeds;
  readonly #secrets: PasswordSecrets;
  readonly #sources: RateLimit;

  constructor(services: Services, needs: PasskeyLoginNeeds) {
    this.#services = services;
    this.#needs = needs;
    this.#secrets = new PasswordSecrets(services);
    this.#sources = failuresOfSources(services);
  }

  /** Verifies a passkey. A failure locks no account, because passkeys cannot be guessed. @throws StatusError 503, 504 */
  async logIn(proof: PasskeyProof, origin: AuditOrigin): Promise<PasskeyVerdict> {
    const exceeded = this.#sources.take(origin.source);
    if (exceeded !== undefined) return { ...this.#refuse('TooManyFromSource', undefined, origin), ...exceeded };
    const { account, isRight } = await this.#sources.runCounted(
      origin.source,
      () => this.#verifyAssertion(proof, origin),
      (verified) => !verified.isRight,
    );
    if (account === undefined || !isRight) return this.#refuse('WrongFactor', account, origin);
    if (account.connectorType !== 'local') return { outcome: 'passwordFirst' };
    const counted = await this.#needs.attempts.count(account, signal);
    if (counted.account === undefined || counted.refusal !== undefined)
      return this.#refuse(counted.refusal ?? 'UnknownUser', account, origin);
    const proved = await this.#needs.attempts.succeed(
      { ...counted, account: counted.account },
      { isComplete: true, status: noMisses },
      signal,
    );
    if ('refusal' in proved) return this.#refuse(proved.refusal, account, origin);
    const stored = await this.#secrets.read(proved.account, signal);
    return { outcome: 'ok', account: proved.account, passwordChangedAt: stored?.changedAt ?? '' };
  }

  async #verifyAssertion(proof: PasskeyProof, origin: AuditOrigin): Promise<{ account: Account | undefined; isRight: boolean }> {
    const { passkeys, accounts } = this.#needs;
    requireAccounts(accounts);
    const used = await passkeys.find(proof);
    const account = used && accounts.get(used.factor.user);
    if (used === undefined || account === undefined || account.uid !== used.factor.userUID) return { account: undefined, isRight: false };
    return { account, isRight: await passkeys.verify(account, used, { isAlone: true }, origin) };
  }

  #refuse(reason: Refusal | 'WrongFactor', account: Account | undefined, origin: AuditOrigin): PasskeyRefusal {
    const target = account && { name: account.name, uid: account.uid };
    this.#services.audit.record({ audit: 'LoginFailed', ...origin, ...(target && { target }), outcome: 'failure', reason });
    return { outcome: 'refused' };
  }
}
