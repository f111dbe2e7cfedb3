import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type StatusCause, unauthorized } from '../api/status.ts';
import { groupsPrefixOf } from '../config/issuers.ts';
import { atMost } from '../http/bound.ts';
import type { Bearer, Identity } from '../http/operation.ts';
import { fitsHeader, isReservedGroup } from '../kubernetes/impersonation.ts';
import { listedWithinMs, madeWithinMs } from '../kubernetes/until.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import { type Account, isLinkedTo } from '../users/record/account.ts';
import { isLocalGroupName, type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { noLongerCounts, phaseCause, revoked, subjectDiffers } from '../users/record/refused-credential.ts';
import type { AccessTokenRow } from './row.ts';
import { isHashOf, readToken } from './token-text.ts';

/** A watch that is cut is back sooner; one that is not (its rights were taken away) would hide what was revoked. */
const maxAgeSeconds = 60;
const youngMs = 30_000;
/** Ids can be made up. */
const maxWaiting = 100;
const maxGone = 10_000;

/** A token that counts, and whom it acts as. */
export interface VerifiedAccessToken {
  readonly row: AccessTokenRow;
  readonly account: Account;
  readonly identity: Identity;
  /** Changes with whatever the cluster decides by. */
  readonly fingerprint: string;
}

/** Says whose access tokens are, by what this replica has seen of the cluster: a change there counts with the next request. */
export class AccessTokenVerifier {
  readonly #services: Pick<Services, 'config' | 'now'>;
  readonly #tokens: WatchCache<AccessTokenRow>;
  readonly #accounts: AccountLookup;
  readonly #localGroups: LocalGroupLookup;
  /** By the account, which is another object after every change of the record. */
  readonly #identities = new WeakMap<Account, { local: string; identity: Identity; fingerprint: string }>();

  /** Ids of tokens that were deleted: no request waits for them. */
  readonly #gone = new LRUCache<string, true>(atMost(maxGone));
  #waiting = 0;

  /** To be made before the cache is started. */
  constructor(
    services: Pick<Services, 'config' | 'now'>,
    tokens: WatchCache<AccessTokenRow>,
    { accounts, localGroups }: { accounts: AccountLookup; localGroups: LocalGroupLookup },
  ) {
    this.#services = services;
    this.#tokens = tokens;
    this.#accounts = accounts;
    this.#localGroups = localGroups;
    tokens.onChange(({ key, new: current }) => {
      if (current === undefined) this.#gone.set(key, true);
    });
  }

  /** What a bearer token that begins as one of ours stands for: calls in the name of its owner. @throws StatusError 401, 503 */
  async bearer(bearer: Bearer, signal: AbortSignal): Promise<{ bearer: Bearer; row: AccessTokenRow }> {
    const verdict = await this.verify(bearer.token, signal);
    if (verdict === undefined) throw unauthorized({ tokenGiven: true });
    if ('cause' in verdict) throw noLongerCounts(verdict.cause);
    const { row, account, identity, fingerprint } = verdict;
    const { name: user, mustChangePassword } = account;
    // Decisions are kept by the hash: those of before a change of groups are not found any more.
    const hashed = hash('sha256', `${bearer.hash} ${fingerprint}`);
    return {
      bearer: { token: bearer.token, hash: hashed, actAs: identity, user, accessToken: row.name, isVerified: true, mustChangePassword },
      row,
    };
  }

  /**
   * @returns undefined for what is no token of ours; a cause for one that was, and does not count
   * @throws StatusError 503 while it is not known which there are, and whose
   */
  async verify(token: string, signal: AbortSignal): Promise<VerifiedAccessToken | { cause: StatusCause } | undefined> {
    // What cannot have been handed out costs no look-up.
    const read = readToken(token);
    if (read === undefined) return undefined;
    await this.#whenKnown(signal);
    const row = await this.#find(read.id, signal);
    if (row === undefined || !isHashOf(row.tokenHash, read.secret)) return undefined;
    const now = this.#services.now();
    if (row.expiresAt !== undefined && row.expiresAt <= now.getTime()) return { cause: tokenExpired };
    const account = await this.#ownerOf(row, now, signal);
    // A record made again under the name of a deleted one does not inherit its tokens.
    if (account === undefined || account.uid !== row.ownerUID) return { cause: revoked };
    const cause = subjectCause(row, account) ?? phaseCause(account, now, this.#services.config.users.idleDays) ?? nameCause(account);
    return cause ? { cause } : { row, account, ...this.#identityOf(account) };
  }

  /** The record of the owner. A token so young may be known before the login that linked it: the two watches run apart. */
  async #ownerOf({ owner, subject, createdAt }: AccessTokenRow, now: Date, signal: AbortSignal): Promise<Account | undefined> {
    const accounts = this.#accounts;
    const isSeen = () => {
      const account = accounts.get(owner);
      return account !== undefined && (subject === undefined || isLinkedTo(account, subject));
    };
    if (now.getTime() - createdAt < youngMs) await accounts.until(isSeen, madeWithinMs, signal);
    signal.throwIfAborted();
    return accounts.get(owner);
  }

  /** One that is not known may have been made a moment ago, on another replica. */
  async #find(id: string, signal: AbortSignal): Promise<AccessTokenRow | undefined> {
    const tokens = this.#tokens;
    const known = tokens.get(id);
    if (known !== undefined || this.#gone.has(id) || this.#waiting >= maxWaiting) return known;
    this.#waiting += 1;
    await tokens.until(() => tokens.get(id) !== undefined || this.#gone.has(id), madeWithinMs, signal);
    this.#waiting -= 1;
    signal.throwIfAborted();
    return tokens.get(id);
  }

  #identityOf(account: Account): { identity: Identity; fingerprint: string } {
    const groupsPrefix = groupsPrefixOf(this.#services.config, account);
    const local = this.#localGroups.of(account.name);
    const key = local.join();
    const known = this.#identities.get(account);
    if (known?.local === key) return known;
    const told = account.groups.map((group) => groupsPrefix + group).filter(isUsable);
    const groups = [...new Set([...told, ...local])];
    const identity: Identity = { name: account.subjectName, uid: account.uid, groups, extra: {} };
    const made = { local: key, identity, fingerprint: JSON.stringify([identity.name, identity.uid, groups]) };
    this.#identities.set(account, made);
    return made;
  }

  async #whenKnown(signal: AbortSignal): Promise<void> {
    const tokens = this.#tokens;
    const accounts = this.#accounts;
    for (const followed of [tokens, accounts]) await followed.until(() => followed.state !== 'pending', listedWithinMs, signal);
    signal.throwIfAborted();
    const isOutdated = [tokens, accounts].some((followed) => followed.isSynced && followed.ageSeconds() > maxAgeSeconds);
    if (tokens.state === 'pending' || accounts.state === 'pending' || isOutdated)
      throw (tokens.state === 'pending' || tokens.ageSeconds() > maxAgeSeconds ? tokens : accounts).unavailable();
    requireLocalGroups(this.#localGroups);
  }
}

/** A record may have been written by others: a group that no header can carry would have each call refused. */
const isUsable = (group: string) => !isReservedGroup(group) && !isLocalGroupName(group) && fitsHeader(group);

/** A token keeps the subject that made it, and ends when the record belongs to it no longer (docs/contract/login.md). */
const subjectCause = ({ subject }: AccessTokenRow, account: Account): StatusCause | undefined =>
  subject === undefined || isLinkedTo(account, subject) ? undefined : subjectDiffers;

const tokenExpired: StatusCause = { reason: 'TokenExpired', message: 'the token has expired' };

const isReserved = (name: string) => name.startsWith('system:');

/** No token acts as Kubernetes itself, whatever stands in a record. */
const nameCause = ({ subjectName }: Account): StatusCause | undefined =>
  subjectName === '' || isReserved(subjectName)
    ? { reason: 'AccountInvalid', message: 'the account has no name that a token could act by' }
    : undefined;
