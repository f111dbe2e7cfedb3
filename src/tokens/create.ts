import type { Caller } from '@atrium/http/caller.ts';
import { seenWithinMs } from '@atrium/kubernetes/deadline.ts';
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import type { Lister } from '@atrium/lists/lister.ts';
import { badParameter, conflict, StatusError } from '@atrium/objects/status.ts';
import { PendingCreations } from '../collection/pending-creations.ts';
import type { Services } from '../services.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import { type Account, hasSubject, type Subject } from '../users/record/account.ts';
import { phaseCause } from '../users/record/conditions.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { isNamedByLogin } from '../users/record/subject-name.ts';
import type { CreatedAccessToken, NewAccessToken } from './schema.ts';
import { type AccessTokenRow, accessTokenResource, storeToken } from './store.ts';
import { isOf } from './strategy.ts';
import { newToken } from './token-text.ts';

const daySeconds = 86_400;
const minSeconds = 300;
/** Includes expired tokens until they are deleted: otherwise a user could create tokens faster than they are deleted. */
const maxPerUser = 100;

interface CreatorNeeds {
  accounts: AccountLookup;
  tokens: Collection<AccessTokenRow>;
  /** Reports whether the service has an operation of that id. */
  isOperation: (id: string) => boolean;
}

/** Creates access tokens, which act as their owners. Users create them for themselves. */
export class AccessTokenCreator {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #tokens: WatchCache<AccessTokenRow>;
  readonly #lister: Lister<AccessTokenRow>;
  readonly #isOperation: (id: string) => boolean;
  readonly #creations = new PendingCreations();

  constructor(services: Services, { accounts, tokens: { cache, lister }, isOperation }: CreatorNeeds) {
    this.#services = services;
    this.#accounts = accounts;
    this.#tokens = cache;
    this.#lister = lister;
    this.#isOperation = isOperation;
  }

  /** @throws StatusError 400, 403, 409, 503, 504 */
  async create(
    asked: NewAccessToken,
    { isDryRun }: { isDryRun: boolean },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<{ created: CreatedAccessToken; owner: Account }> {
    requireNoAccessToken('accessTokens', caller);
    requireAccounts(this.#accounts);
    const time = this.#services.now();
    const owner = this.#requireOwner(caller, time);
    requireRecentLogin('accessTokens', caller, this.#services.config.login.stepUp, time);
    const { subject } = caller;
    if (subject !== undefined) await this.#requireAdopted(owner, subject, caller, signal);
    const expiration = this.#expirationOf(asked, time);
    const { description, scope } = asked;
    this.#requireOperations(scope?.operations ?? []);
    await this.#lister.whenReady(signal);
    const { id, text, tokenHash } = newToken(scope);
    const shown = { description, ...(scope && { scope }) };
    const existing = [...this.#tokens.values()].filter((row) => isOf(row, owner)).map(({ name }) => name);
    return this.#creations.create({ owner: owner.uid, key: id, existing }, checkNumber(id), async () => {
      const expiresAt = new Date(expiration * 1000);
      const token = { id, owner, subject, description, scope, tokenHash, issuedAt: time, expiresAt };
      const stored = await storeToken(this.#services.client, token, { isDryRun, signal });
      const timestamp = Math.floor(time.getTime() / 1000);
      if (isDryRun) return { created: { id, timestamp, expiration, ...shown }, owner };
      await this.#tokens.waitForWrite(stored.metadata.resourceVersion, signal);
      return { created: { id, token: text, timestamp, expiration, ...shown }, owner };
    });
  }

  /** @throws StatusError 403 */
  #requireOwner(caller: Caller, time: Date): Account {
    const account = ownAccount(this.#accounts, caller);
    if (account === undefined || isReservedName(account.subjectName))
      throw refused(caller, { reason: 'NoUserRecord', message: 'an access token needs a User record, and the caller has none' });
    // The token acts under the name of the user's first account, which a login with a linked account does not prove.
    if (!isNamedByLogin(account, caller))
      throw refused(caller, { reason: 'LinkedAccount', message: 'log in with the account that names the user, not with a linked one' });
    const cause = phaseCause(account, time, this.#services.config.users.idleDays);
    if (cause !== undefined) throw refused(caller, { reason: 'Forbidden', message: 'the account is switched off', ...cause });
    return account;
  }

  /** Waits for the login that adopts the record: it may have happened a moment ago on another replica. @throws StatusError 403 */
  async #requireAdopted({ name, uid }: Account, subject: Subject, caller: Caller, signal: AbortSignal): Promise<void> {
    const accounts = this.#accounts;
    const isAdopted = () => {
      const account = accounts.get(name);
      return account?.uid === uid && hasSubject(account, subject);
    };
    if (!(await accounts.watch.until(isAdopted, seenWithinMs, signal)))
      throw refused(caller, { reason: 'SubjectDiffers', message: 'the User record has no account of the issuer yet: log in once' });
  }

  /** Refuses an unknown id, with which a token would open less than its owner means. @throws StatusError 400 */
  #requireOperations(operations: readonly string[]): void {
    const index = operations.findIndex((id) => !this.#isOperation(id));
    if (index >= 0) throw badParameter(`scope.operations[${index}]`, 'must be the id of an operation of the service');
  }

  /** Returns the expiry in Unix seconds. @throws StatusError 400 */
  #expirationOf({ expiration }: NewAccessToken, time: Date): number {
    const { defaultDays, maxDays } = this.#services.config.users.accessTokens;
    const seconds = Math.floor(time.getTime() / 1000);
    if (expiration === 0) return seconds + defaultDays * daySeconds;
    if (expiration < seconds + minSeconds) throw badParameter('expiration', 'must be at least 5 minutes ahead, in seconds since 1970');
    if (expiration > seconds + maxDays * daySeconds) throw badParameter('expiration', `must be within ${maxDays} days`);
    return expiration;
  }
}

/** Enforces the limit of tokens. */
const checkNumber = (id: string) => (tokens: ReadonlySet<string>) => {
  if (tokens.size >= maxPerUser)
    throw conflict(accessTokenResource, id, `a user has at most ${maxPerUser} access tokens; delete one that is no longer needed`);
};

const refused = ({ identity }: Caller, cause: { reason?: string; message: string }) =>
  new StatusError(403, 'Forbidden', `accesstokens.auth.platform.io is forbidden: User "${identity.name}": ${cause.message}`, {
    details: { group: userResource.group, kind: accessTokenResource.resource, causes: [cause] },
  });
