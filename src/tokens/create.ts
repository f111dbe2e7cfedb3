import type { Caller } from '@atrium/http/caller.ts';
import { seenWithinMs } from '@atrium/kubernetes/deadline.ts';
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { CallerResource, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { badParameter, conflict, forbidden, notFound, StatusError } from '@atrium/objects/status.ts';
import type { Collection } from '../collection/collection.ts';
import type { Lister } from '../collection/lister.ts';
import type { Page } from '../collection/page.ts';
import { PendingCreations } from '../collection/pending-creations.ts';
import { fieldRequirements } from '../collection/query.ts';
import type { Services } from '../services.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import { type Account, hasSubject, type Subject } from '../users/record/account.ts';
import { phaseCause } from '../users/record/conditions.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { isNamedByLogin } from '../users/record/subject-name.ts';
import type { AccessTokenQuery, MadeAccessToken, NewAccessToken } from './schema.ts';
import { type AccessTokenRow, accessTokenKind, accessTokenResource, removeToken, storeToken } from './store.ts';
import { newToken } from './token-text.ts';

const daySeconds = 86_400;
/** Includes expired tokens until they are deleted: otherwise a user could create tokens faster than they are deleted. */
const maxPerUser = 100;

interface Deletion {
  id: string;
  preconditions: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
}

/** Creates, lists and deletes access tokens. Users manage their own; other users' tokens need RBAC on `accesstokens`. */
export class AccessTokenService {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #tokens: WatchCache<AccessTokenRow>;
  readonly #lister: Lister<AccessTokenRow>;
  readonly #creations = new PendingCreations();

  constructor(services: Services, accounts: AccountLookup, { cache, lister }: Collection<AccessTokenRow>) {
    this.#services = services;
    this.#accounts = accounts;
    this.#tokens = cache;
    this.#lister = lister;
  }

  /** @throws StatusError 400, 403, 409, 503, 504 */
  async make(
    asked: NewAccessToken,
    { isDryRun }: { isDryRun: boolean },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<{ made: MadeAccessToken; owner: Account }> {
    requireNoAccessToken('accessTokens', caller);
    requireAccounts(this.#accounts);
    const time = this.#services.now();
    const owner = this.#requireOwner(caller, time);
    requireRecentLogin('accessTokens', caller, this.#services.config.login.stepUp, time);
    const { subject } = caller;
    if (subject !== undefined) await this.#requireAdopted(owner, subject, caller, signal);
    const expiration = this.#expirationOf(asked, time);
    await this.#lister.whenReady(signal);
    const { id, text, tokenHash } = newToken();
    const existing = [...this.#tokens.values()].filter((row) => isOf(row, owner)).map(({ name }) => name);
    return this.#creations.create({ owner: owner.uid, key: id, existing }, checkNumber(id), async () => {
      const expiresAt = new Date(expiration * 1000);
      const { description } = asked;
      const token = { id, owner, subject, description, tokenHash, issuedAt: time, expiresAt };
      const stored = await storeToken(this.#services.client, token, { isDryRun, signal });
      const timestamp = Math.floor(time.getTime() / 1000);
      if (isDryRun) return { made: { id, timestamp, expiration, description }, owner };
      await this.#tokens.waitForWrite(stored.metadata.resourceVersion, signal);
      return { made: { id, token: text, timestamp, expiration, description }, owner };
    });
  }

  /**
   * Lists the access tokens that the caller may see.
   *
   * @returns the JSON text of an AccessTokenList
   * @throws StatusError 400, 403, 410, 503, 504
   */
  async list({ user, ...parameters }: AccessTokenQuery, caller: Caller, signal: AbortSignal): Promise<Page> {
    const { access } = this.#services;
    requireAccounts(this.#accounts);
    const own = this.#accountOf(caller);
    const listOf = (account: Account | undefined) =>
      this.#lister.list(parameters, signal, { key: `of ${account?.uid}`, fits: (row) => isOf(row, account) });
    if (user !== undefined && user === own?.name) return listOf(own);
    const asked = { ...accessTokenResource, verb: 'list' };
    if (await access.can(caller, asked, signal))
      return user === undefined ? this.#lister.list(parameters, signal) : listOf(this.#accounts.get(user));
    const isForeign = fieldRequirements(parameters.fieldSelector).some(
      ({ field, operator, value }) => field === 'spec.owner' && operator === '=' && value !== own?.name,
    );
    if (user !== undefined || isForeign) throw forbidden({ ...asked, user: caller.identity.name });
    return listOf(own);
  }

  /** @returns the deleted token; @throws StatusError 403 whether or not the token exists, 404, 409, 503, 504 */
  async delete({ id, preconditions, isDryRun }: Deletion, caller: Caller, signal: AbortSignal): Promise<AccessTokenRow> {
    const { apiServer, client, access } = this.#services;
    const tokens = this.#tokens;
    requireAccounts(this.#accounts);
    await this.#lister.whenReady(signal);
    const isOwn = isOf(tokens.get(id), this.#accountOf(caller));
    if (!isOwn) await access.require(caller, { ...accessTokenResource, verb: 'delete', name: id }, signal);
    const row = tokens.get(id);
    if (row === undefined) throw notFound(accessTokenResource, id);
    if (preconditions.uid !== undefined && preconditions.uid !== row.uid)
      throw conflict(accessTokenResource, id, `the UID in the precondition (${preconditions.uid}) is not that of the token (${row.uid})`);
    // Users need no permission to delete their own tokens: the service account deletes them.
    const resource = isOwn ? new ServiceResource(client, accessTokenKind) : new CallerResource(apiServer.asCaller(caller), accessTokenKind);
    await resource.delete(id, { preconditions: { ...preconditions, uid: row.uid }, isDryRun, signal });
    // The next list of this replica must not show the token.
    if (!isDryRun) await tokens.waitForWrite(() => tokens.get(id)?.uid !== row.uid, signal);
    return row;
  }

  /** Deletes all tokens of a User record with the service account, because the user's access ends. @throws StatusError 503, 504 */
  async deleteAll({ uid }: { uid: string }, signal: AbortSignal): Promise<void> {
    const tokens = this.#tokens;
    if (tokens.state === 'notInstalled') return;
    await this.#lister.whenReady(signal);
    const owned = [...tokens.values()].filter(({ ownerUID }) => ownerUID === uid);
    for (const row of owned) await removeToken(this.#services.client, row, { signal });
    await tokens.waitForWrite(() => owned.every((row) => tokens.get(row.name)?.uid !== row.uid), signal);
  }

  /** Returns the caller's User record, which owns the caller's tokens. */
  #accountOf(caller: Caller): Account | undefined {
    return ownAccount(this.#accounts, caller);
  }

  /** @throws StatusError 403 */
  #requireOwner(caller: Caller, time: Date): Account {
    const account = this.#accountOf(caller);
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
      throw refused(caller, { reason: 'SubjectDiffers', message: 'the User record belongs to no account of the issuer yet: log in once' });
  }

  /** Returns the expiry in Unix seconds. @throws StatusError 400 */
  #expirationOf({ expiration }: NewAccessToken, time: Date): number {
    const { defaultDays, maxDays } = this.#services.config.users.accessTokens;
    const seconds = Math.floor(time.getTime() / 1000);
    if (expiration === 0) return seconds + defaultDays * daySeconds;
    if (expiration <= seconds) throw badParameter('expiration', 'must be in the future, in seconds since 1970');
    if (expiration > seconds + maxDays * daySeconds) throw badParameter('expiration', `must be within ${maxDays} days`);
    return expiration;
  }
}

/** Enforces the limit of tokens. */
const checkNumber = (id: string) => (tokens: ReadonlySet<string>) => {
  if (tokens.size >= maxPerUser)
    throw conflict(accessTokenResource, id, `a user has at most ${maxPerUser} access tokens; delete one that is no longer needed`);
};

/** Reports whether the account owns the token. A record that reuses the name of a deleted one does not own its tokens. */
const isOf = (row: AccessTokenRow | undefined, account: Account | undefined): boolean =>
  row !== undefined && account !== undefined && row.owner === account.name && row.ownerUID === account.uid;

const refused = ({ identity }: Caller, cause: { reason?: string; message: string }) =>
  new StatusError(403, 'Forbidden', `accesstokens.auth.platform.io is forbidden: User "${identity.name}": ${cause.message}`, {
    details: { group: userResource.group, kind: accessTokenResource.resource, causes: [cause] },
  });
