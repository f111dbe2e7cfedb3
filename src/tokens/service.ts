import { badParameter, conflict, forbidden, notFound, StatusError } from '../api/status.ts';
import type { Collection } from '../collection/collection.ts';
import type { Lister } from '../collection/lister.ts';
import type { Page } from '../collection/page.ts';
import { fieldRequirements } from '../collection/selection.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken, requireRecentLogin } from '../http/sensitive-writes.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import { type Account, isLinkedTo, type Subject } from '../users/record/account.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { phaseCause } from '../users/record/refused-credential.ts';
import { userResource } from '../users/record/resource.ts';
import { isNamedByLogin } from '../users/record/subject-name.ts';
import { type AccessTokenRow, accessTokenResource } from './row.ts';
import type { AccessTokenQuery, MadeAccessToken, NewAccessToken } from './schema.ts';
import { accessTokenKind, removeToken, storeToken } from './store.ts';
import { newToken } from './token-text.ts';

const daySeconds = 86_400;
/** Expired ones count until they are deleted: otherwise a user could make them faster than they go. */
const maxPerUser = 100;

interface Deletion {
  id: string;
  preconditions: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
}

/** Makes, lists and deletes access tokens: one's own, and with the right to it those of others. */
export class AccessTokenService {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #tokens: WatchCache<AccessTokenRow>;
  readonly #lister: Lister<AccessTokenRow>;
  /** Names of those that are being made, by the owner's UID. */
  readonly #making = new Map<string, Set<string>>();

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
    if (subject !== undefined) await this.#whenLinked(owner, subject, caller, signal);
    const expiration = this.#expirationOf(asked, time);
    await this.#lister.whenUsable(signal);
    const { id, text, tokenHash } = newToken();
    return this.#oneOfFew(owner, id, async () => {
      const expiresAt = new Date(expiration * 1000);
      const { description } = asked;
      const token = { id, owner, subject, description, tokenHash, issuedAt: time, expiresAt };
      const stored = await storeToken(this.#services.client, token, { isDryRun, signal });
      const timestamp = Math.floor(time.getTime() / 1000);
      if (isDryRun) return { made: { id, timestamp, expiration, description }, owner };
      await this.#tokens.waitFor(stored.metadata.resourceVersion, seenWithinMs, signal);
      return { made: { id, token: text, timestamp, expiration, description }, owner };
    });
  }

  /** All that the caller may see. @returns the JSON text of an AccessTokenList; @throws StatusError 400, 403, 410, 503, 504 */
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

  /** @returns what was deleted; @throws StatusError 403 whether or not there is such a token, 404, 409, 503, 504 */
  async delete({ id, preconditions, isDryRun }: Deletion, caller: Caller, signal: AbortSignal): Promise<AccessTokenRow> {
    const { apiServer, client, access } = this.#services;
    const tokens = this.#tokens;
    requireAccounts(this.#accounts);
    await this.#lister.whenUsable(signal);
    const isOwn = isOf(tokens.get(id), this.#accountOf(caller));
    if (!isOwn) await access.require(caller, { ...accessTokenResource, verb: 'delete', name: id }, signal);
    const row = tokens.get(id);
    if (row === undefined) throw notFound(accessTokenResource, id);
    if (preconditions.uid !== undefined && preconditions.uid !== row.uid)
      throw conflict(accessTokenResource, id, `the UID in the precondition (${preconditions.uid}) is not that of the token (${row.uid})`);
    // What users may do with their own is done with our rights.
    const resource = isOwn ? new ServiceResource(client, accessTokenKind) : new CallerResource(apiServer.asCaller(caller), accessTokenKind);
    await resource.delete(id, { preconditions: { ...preconditions, uid: row.uid }, isDryRun, signal });
    // So that the next list here does not show the token.
    if (!isDryRun) await tokens.until(() => tokens.get(id)?.uid !== row.uid, seenWithinMs, signal);
    return row;
  }

  /** Deletes all tokens of a User record, with our rights: what ends the user's access includes it. @throws StatusError 503, 504 */
  async deleteAll({ uid }: { uid: string }, signal: AbortSignal): Promise<void> {
    const tokens = this.#tokens;
    if (tokens.state === 'notInstalled') return;
    await this.#lister.whenUsable(signal);
    const owned = [...tokens.values()].filter(({ ownerUID }) => ownerUID === uid);
    for (const row of owned) await removeToken(this.#services.client, row, { signal });
    await tokens.until(() => owned.every((row) => tokens.get(row.name)?.uid !== row.uid), seenWithinMs, signal);
  }

  /** Whose tokens are the caller's own. */
  #accountOf(caller: Caller): Account | undefined {
    return ownAccount(this.#accounts, caller);
  }

  /** @throws StatusError 403 */
  #requireOwner(caller: Caller, time: Date): Account {
    const account = this.#accountOf(caller);
    if (account === undefined || account.subjectName.startsWith('system:'))
      throw refused(caller, { reason: 'NoUserRecord', message: 'there is no User record that an access token could act for' });
    // It acts by the first name of the user, which a login with a linked account has not proved.
    if (!isNamedByLogin(account, caller))
      throw refused(caller, { reason: 'LinkedAccount', message: 'log in with the account that names the user, not with a linked one' });
    const cause = phaseCause(account, time, this.#services.config.users.idleDays);
    if (cause !== undefined) throw refused(caller, { reason: 'Forbidden', message: 'the account is switched off', ...cause });
    return account;
  }

  /** The login that links the record may have been a moment ago, on another replica. @throws StatusError 403 */
  async #whenLinked({ name, uid }: Account, subject: Subject, caller: Caller, signal: AbortSignal): Promise<void> {
    const accounts = this.#accounts;
    const isLinked = () => {
      const account = accounts.get(name);
      return account?.uid === uid && isLinkedTo(account, subject);
    };
    if (!(await accounts.until(isLinked, seenWithinMs, signal)))
      throw refused(caller, { reason: 'SubjectDiffers', message: 'the User record belongs to no account of the issuer yet: log in once' });
  }

  /** Unix seconds. @throws StatusError 400 */
  #expirationOf({ expiration }: NewAccessToken, time: Date): number {
    const { defaultDays, maxDays } = this.#services.config.users.accessTokens;
    const seconds = Math.floor(time.getTime() / 1000);
    if (expiration === 0) return seconds + defaultDays * daySeconds;
    if (expiration <= seconds) throw badParameter('expiration', 'must lie ahead, in seconds since 1970');
    if (expiration > seconds + maxDays * daySeconds) throw badParameter('expiration', `must be within ${maxDays} days`);
    return expiration;
  }

  /** Two replicas do not count together: in the same moment each may let one more pass. @throws StatusError 409 */
  async #oneOfFew<T>(owner: Account, id: string, make: () => Promise<T>): Promise<T> {
    const making = this.#making.get(owner.uid) ?? new Set();
    const there = [...this.#tokens.values()].filter((row) => isOf(row, owner)).map(({ name }) => name);
    // The watch may show one before the API server has answered: it is one all the same.
    if (new Set([...there, ...making]).size >= maxPerUser)
      throw conflict(accessTokenResource, id, `a user has at most ${maxPerUser} access tokens; delete one that is no longer needed`);
    this.#making.set(owner.uid, making.add(id));
    try {
      return await make();
    } finally {
      making.delete(id);
      if (making.size === 0) this.#making.delete(owner.uid);
    }
  }
}

/** A record made again under the name of a deleted one has none of its tokens. */
const isOf = (row: AccessTokenRow | undefined, account: Account | undefined): boolean =>
  row !== undefined && account !== undefined && row.owner === account.name && row.ownerUID === account.uid;

const refused = ({ identity }: Caller, cause: { reason?: string; message: string }) =>
  new StatusError(403, 'Forbidden', `accesstokens.auth.platform.io is forbidden: User "${identity.name}": ${cause.message}`, {
    details: { group: userResource.group, kind: accessTokenResource.resource, causes: [cause] },
  });
