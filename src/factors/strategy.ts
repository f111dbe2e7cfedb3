import type { Caller } from '@atrium/http/caller.ts';
import { conflict, forbidden, notFound } from '@atrium/objects/status.ts';
import { kindsOf, ruleOf } from '../config/factors.ts';
import type { Services } from '../services.ts';
import { requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { EndUserAccess } from '../users/ended-access.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { Account } from '../users/record/account.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { isNamedByLogin, isSelf } from '../users/record/subject-name.ts';
import { noFactors } from '../users/status.ts';
import type { SubjectRights } from '../users/subject-rights.ts';
import { recoveryCodeCount } from './recovery-codes.ts';
import type { ShownFactor, ShownFactors } from './schema.ts';
import { type Factor, type FactorStore, factorKind } from './store.ts';

export interface FactorNeeds {
  store: FactorStore;
  notices: Pick<Notices, 'add'>;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  rights: SubjectRights;
  endAccess: EndUserAccess;
}

/** Rights and rules of the operations on factors. Only the page of the issuer sets factors up. */
export class FactorStrategy {
  readonly #services: Services;
  readonly #needs: FactorNeeds;

  constructor(services: Services, needs: FactorNeeds) {
    this.#services = services;
    this.#needs = needs;
  }

  /** Lists the caller's factors, or another user's with RBAC. @throws StatusError 403 whether or not the user exists, 404, 503, 504 */
  async list(name: string, caller: Caller, signal: AbortSignal): Promise<ShownFactors> {
    const account = this.#find(name);
    if (!isSelf(account, caller)) await this.#require(caller, 'get', name, signal);
    if (account === undefined) throw notFound(userResource, name);
    const items = (await this.#needs.store.list(account, signal)).map(shown);
    const rule = ruleOf(account, this.#needs.localGroups, this.#services.config);
    const kinds = rule === 'off' ? [] : [...kindsOf(this.#services.config)];
    return { rule, kinds, isChangeable: isChangeable(account, caller), isTOTPSuspended: account.isTOTPSuspended, items };
  }

  /** Renames a factor of the caller. @throws StatusError 401, 403, 404, 409, 503, 504 */
  async rename(of: { user: string; id: string }, name: string, caller: Caller, signal: AbortSignal): Promise<ShownFactor> {
    const { factor } = await this.#own(of, caller, signal);
    const renamed = await this.#needs.store.rename(factor, name, signal);
    if (renamed === undefined) throw conflict(factorKind.type, of.id, 'another request changes it at the same time');
    return shown(renamed);
  }

  /** Removes a factor of the caller, and with the last one the recovery codes. @throws StatusError 401, 403, 404, 409, 503, 504 */
  async remove(of: { user: string; id: string }, caller: Caller, signal: AbortSignal): Promise<{ account: Account; factor: Factor }> {
    const { account, factor, others } = await this.#own(of, caller, signal);
    const isLast = factor.type !== 'RecoveryCodes' && others.every(({ type }) => type === 'RecoveryCodes');
    if (isLast && ruleOf(account, this.#needs.localGroups, this.#services.config) === 'required')
      throw conflict(factorKind.type, of.id, 'the factor is the last one of a user who needs one: set up another factor first');
    await this.#needs.store.remove(factor, signal);
    if (isLast) for (const codes of others) await this.#needs.store.remove(codes, signal);
    await this.#needs.notices.add(account, 'FactorRemoved');
    return { account, factor };
  }

  /**
   * Removes all factors of another user, restarts the grace period and ends the sessions.
   *
   * @throws StatusError 401, 403, 404, 409, 503, 504
   */
  async reset(name: string, caller: Caller, signal: AbortSignal): Promise<Account> {
    const { accounts, store, rights, endAccess, notices } = this.#needs;
    const account = this.#find(name);
    await this.#require(caller, 'delete', name, signal);
    if (account === undefined) throw notFound(userResource, name);
    if (isSelf(account, caller))
      throw forbidden({ ...userResource, subresource: 'factors', verb: 'delete', name, user: caller.identity.name }, [ownFactors]);
    await rights.requireForPassword(caller, account, signal);
    this.#requireRecentLogin(caller);
    for (const factor of await store.list(account, signal)) await store.remove(factor, signal);
    const { metadata } = await endAccess({ user: account, change: noFactors }, 'FactorsReset');
    await accounts.watch.waitForWrite(metadata.resourceVersion, signal);
    await notices.add(account, 'FactorsReset');
    return account;
  }

  async #own({ user, id }: { user: string; id: string }, caller: Caller, signal: AbortSignal) {
    const account = this.#find(user);
    // Factors belong to the login that names the user, so a login with a linked account must not change them.
    if (account === undefined || !isSelf(account, caller) || !isNamedByLogin(account, caller))
      throw forbidden({ ...userResource, subresource: 'factors', verb: 'update', name: user, user: caller.identity.name });
    this.#requireRecentLogin(caller);
    const factors = await this.#needs.store.list(account, signal);
    const factor = factors.find((one) => one.id === id);
    if (factor === undefined) throw notFound(factorKind.type, id);
    return { account, factor, others: factors.filter((one) => one !== factor) };
  }

  #find(name: string): Account | undefined {
    requireAccounts(this.#needs.accounts);
    return this.#needs.accounts.get(name);
  }

  async #require(caller: Caller, verb: 'get' | 'delete', name: string, signal: AbortSignal): Promise<void> {
    await this.#services.access.require(caller, { ...userResource, subresource: 'factors', verb, name }, signal);
  }

  #requireRecentLogin(caller: Caller): void {
    requireRecentLogin('factors', caller, this.#services.config.login.stepUp, this.#services.now());
  }
}

const ownFactors = { reason: 'OwnFactors', message: 'your own factors are removed one by one, under /auth/v1/users/NAME/factors/ID' };

/** Returns whether the embedded issuer logged the caller in: only its page sets factors up. */
const isChangeable = (account: Account, caller: Caller): boolean =>
  isSelf(account, caller) && isNamedByLogin(account, caller) && caller.subject === undefined && caller.accessToken === undefined;

/** Returns the factor without its sealed content. */
const shown = ({ id, type, name, created, status }: Factor): ShownFactor => ({
  id,
  type,
  name,
  created,
  ...(status.lastUsedTime !== undefined && { lastUsed: status.lastUsedTime }),
  ...(status.suspectedTime !== undefined && { suspected: status.suspectedTime }),
  ...(type === 'RecoveryCodes' && { left: recoveryCodeCount - (status.used?.length ?? 0) }),
});
