import { hash } from 'node:crypto';
import type { Bearer, Identity } from '@atrium/http/caller.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { outsideScope } from '@atrium/http/scope.ts';
import { listedWithinMs, madeWithinMs } from '@atrium/kubernetes/deadline.ts';
import { fitsHeader, isReservedGroup, isReservedName } from '@atrium/kubernetes/impersonation.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type StatusCause, unauthorized } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import { groupsPrefixOf } from '../config/issuers.ts';
import type { Services } from '../services.ts';
import { type Account, hasSubject } from '../users/record/account.ts';
import { noLongerValid, phaseCause, revoked, subjectDiffers } from '../users/record/conditions.ts';
import { isLocalGroupName, type LocalGroupLookup, requireLocalGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { TokenReview, TokenReviewRequest } from './schema.ts';
import { AccessTokenScope, type GivenScope } from './scope.ts';
import { type AccessTokenRow, type LastUse, unusedEndOf } from './store.ts';
import { isHashOf, readToken, signedText } from './token-text.ts';

/** Names the token in the audit log of the API server. */
const idKey = 'auth.platform.io/access-token';

const onlyHere = 'the token has a scope, which the API server does not know: send the request to Atrium, below /api/kubernetes';
const passwordDue = 'the password of the account must be changed first';

/**
 * Reviews a token for the API server's token webhook (docs/contract/teams.md). An unknown token is not an error: the API server asks
 * about every token that it does not know itself. The answer names no audience, which means the audience of the API server: a client
 * that asks for another audience must not accept the token.
 *
 * @throws StatusError 503
 */
export async function reviewToken(
  { apiVersion, kind, spec: { token } }: TokenReviewRequest,
  { verifier, lastUse }: { verifier: AccessTokenVerifier; lastUse: LastUse },
  signal: AbortSignal,
): Promise<TokenReview> {
  const review = (status: TokenReview['status']): TokenReview => ({ apiVersion, kind, metadata: {}, spec: {}, status });
  const verdict = await verifier.verify(token, signal);
  if (verdict === undefined) return review({ authenticated: false });
  if ('cause' in verdict) return review({ authenticated: false, error: verdict.cause.message ?? 'the token is not valid' });
  const { row, account, identity } = verdict;
  if (row.scope) return review({ authenticated: false, error: onlyHere });
  if (account.mustChangePassword) return review({ authenticated: false, error: passwordDue });
  lastUse.note(row);
  const { name: username, uid, groups } = identity;
  return review({ authenticated: true, user: { username, uid, groups: [...groups], extra: { [idKey]: [row.name] } } });
}

/** Limits the age of the caches. An interrupted watch resumes sooner; a watch that lost its permissions would hide revocations. */
const maxAgeSeconds = 60;
const youngMs = 30_000;
/** Limits the requests that wait for an unknown id, because callers can invent ids. */
const maxWaiting = 100;
const maxGone = 10_000;

/** Valid token and the user that it acts as. */
export interface VerifiedAccessToken {
  readonly row: AccessTokenRow;
  readonly account: Account;
  readonly identity: Identity;
  /** Changes with the name, UID and groups, by which the API server authorizes. */
  readonly fingerprint: string;
}

/** Verifies access tokens against the watch caches of this replica: a change in the cluster takes effect with the next request. */
export class AccessTokenVerifier {
  readonly #services: Pick<Services, 'config' | 'now'>;
  readonly #tokens: WatchCache<AccessTokenRow>;
  readonly #accounts: AccountLookup;
  readonly #localGroups: LocalGroupLookup;
  /** Identities by account: every change of the record makes a new account object. */
  readonly #identities = new WeakMap<Account, { local: string; identity: Identity; fingerprint: string }>();
  /** Scopes by row: an AccessToken never changes, apart from its status. */
  readonly #scopes = new WeakMap<AccessTokenRow, AccessTokenScope>();

  /** Ids of deleted tokens, for which no request waits. */
  readonly #gone = new LRUCache<string, true>(atMost(maxGone));
  #waiting = 0;

  /** Must be called before the cache starts, to see every deletion. */
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

  /**
   * Returns the bearer for a token with the prefix of access tokens: its calls impersonate the owner.
   *
   * @param source address of the client
   * @throws StatusError 401, 403 OutsideScope, 503
   */
  async bearer(bearer: Bearer, source: string, signal: AbortSignal): Promise<{ bearer: Bearer; row: AccessTokenRow }> {
    const verdict = await this.verify(bearer.token, signal);
    if (verdict === undefined) throw unauthorized({ tokenGiven: true });
    if ('cause' in verdict) throw noLongerValid(verdict.cause);
    const { row, account, identity, fingerprint } = verdict;
    const scope = row.scope && this.#scopeOf(row, row.scope);
    if (scope && !scope.isFrom(source)) throw outsideScope(`requests from ${source}`);
    const { name: user, mustChangePassword } = account;
    // Decisions are cached by the hash, so decisions from before a change of groups are no longer found.
    const hashed = hash('sha256', `${bearer.hash} ${fingerprint}`);
    return {
      bearer: {
        ...{ token: bearer.token, hash: hashed, actAs: identity, user, accessToken: row.name, isVerified: true, mustChangePassword },
        ...(scope && { scope }),
      },
      row,
    };
  }

  /**
   * @returns undefined for a token that this service did not issue; a cause for one that is no longer valid
   * @throws StatusError 503 while the tokens or their owners are not known
   */
  async verify(token: string, signal: AbortSignal): Promise<VerifiedAccessToken | { cause: StatusCause } | undefined> {
    // Malformed tokens cost no lookup.
    const read = readToken(token);
    if (read === undefined) return undefined;
    await this.#whenReady(signal);
    const row = await this.#find(read.id, signal);
    if (row === undefined || !isHashOf(row.tokenHash, signedText(read.secret, row.scope))) return undefined;
    const now = this.#services.now();
    if (row.expiresAt !== undefined && row.expiresAt <= now.getTime()) return { cause: tokenExpired };
    const { accessTokens, idleDays } = this.#services.config.users;
    if (unusedEndOf(row, accessTokens.unusedDays) <= now.getTime()) return { cause: tokenUnused(accessTokens.unusedDays) };
    const account = await this.#ownerOf(row, now, signal);
    // A record that reuses the name of a deleted one does not inherit its tokens.
    if (account === undefined || account.uid !== row.ownerUID) return { cause: revoked };
    const cause = subjectCause(row, account) ?? exchangeCause(row, account) ?? phaseCause(account, now, idleDays) ?? nameCause(account);
    return cause ? { cause } : { row, account, ...this.#identityOf(account) };
  }

  /** Returns the owner's record. The two watches are independent: a new token may arrive before the login that adopted the record. */
  async #ownerOf({ owner, subject, createdAt }: AccessTokenRow, now: Date, signal: AbortSignal): Promise<Account | undefined> {
    const accounts = this.#accounts;
    const isSeen = () => {
      const account = accounts.get(owner);
      return account !== undefined && (subject === undefined || hasSubject(account, subject));
    };
    if (now.getTime() - createdAt < youngMs) await accounts.watch.until(isSeen, madeWithinMs, signal);
    signal.throwIfAborted();
    return accounts.get(owner);
  }

  /** Returns the token. Waits for an unknown one, which may have been created a moment ago on another replica. */
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

  #scopeOf(row: AccessTokenRow, given: GivenScope): AccessTokenScope {
    const known = this.#scopes.get(row) ?? new AccessTokenScope(given);
    this.#scopes.set(row, known);
    return known;
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

  async #whenReady(signal: AbortSignal): Promise<void> {
    const tokens = this.#tokens;
    const accounts = this.#accounts.watch;
    for (const followed of [tokens, accounts]) await followed.until(() => followed.state !== 'pending', listedWithinMs, signal);
    signal.throwIfAborted();
    const isOutdated = [tokens, accounts].some((followed) => followed.isSynced && followed.ageSeconds() > maxAgeSeconds);
    if (tokens.state === 'pending' || accounts.state === 'pending' || isOutdated)
      throw (tokens.state === 'pending' || tokens.ageSeconds() > maxAgeSeconds ? tokens : accounts).unavailable();
    requireLocalGroups(this.#localGroups);
  }
}

/** Reports whether a group can be sent. Other clients may write records, and a group that fits no header would fail every call. */
const isUsable = (group: string) => !isReservedGroup(group) && !isLocalGroupName(group) && fitsHeader(group);

/** Refuses a token whose record no longer has the subject that created it (docs/contract/login.md). */
const subjectCause = ({ subject }: AccessTokenRow, account: Account): StatusCause | undefined =>
  subject === undefined || hasSubject(account, subject) ? undefined : subjectDiffers;

/** Refuses an exchanged token whose user no longer trusts the issuer of the workload. */
const exchangeCause = ({ exchange }: AccessTokenRow, { federation = [] }: Account): StatusCause | undefined =>
  exchange === undefined || federation.some(({ issuer }) => issuer === exchange.issuer) ? undefined : revoked;

const tokenExpired: StatusCause = { reason: 'TokenExpired', message: 'the token has expired' };

const tokenUnused = (days: number): StatusCause => ({
  reason: 'TokenUnused',
  message: `the token was not used for ${days} days: make a new one`,
});

/** Refuses names of Kubernetes itself, whatever the record says, and empty names. */
const nameCause = ({ subjectName }: Account): StatusCause | undefined =>
  subjectName === '' || isReservedName(subjectName)
    ? { reason: 'AccountInvalid', message: 'the account has no name that a token can use' }
    : undefined;
