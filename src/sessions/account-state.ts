import { listedWithinMs, seenWithinMs } from '@atrium/kubernetes/deadline.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type StatusError, serviceUnavailable, unauthorized } from '@atrium/objects/status.ts';
import { ruleOf } from '../config/factors.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { VerifiedLogin } from '../issuer/verified-login.ts';
import type { RevokedTokens } from '../revocation/revoked-tokens.ts';
import type { Services } from '../services.ts';
import { hasAcr, twoFactors } from '../step-up/step-up.ts';
import { type Account, belongsToAnother, hasSubject, isLinkedAccount, isRenamed } from '../users/record/account.ts';
import { addressChanged, factorRequired, noLongerValid, phaseCause, revoked, subjectDiffers } from '../users/record/conditions.ts';
import { type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { UserRecords } from '../users/record/records.ts';
import { recordOf, subjectOf } from '../users/record/subject-name.ts';
import type { Session } from './browser-sessions.ts';
import type { LoginFacts } from './login-facts.ts';
import type { SessionRow } from './record.ts';

/** Maximum silence of a watch: after it, this replica may have missed the end of a login (docs/contract/conventions.md). */
const maxSilenceSeconds = 60;
/** Age up to which a session may be known before the record of its user, because the two watches are independent. */
const youngMs = 30_000;

/** Request whose signal is created by its first reader: most checks wait for nothing. */
export interface WaitingRequest {
  readonly signal: AbortSignal;
}

type YoungSession = Pick<SessionRow, 'user' | 'createdAt'> & { userUID?: string | undefined };

/** Login of a Session object or of a seal, whose tokens are to be renewed. */
export interface RenewableLogin {
  readonly login: LoginFacts;
  readonly issuer: Issuer;
  /** The Session object. */
  readonly row?: SessionRow;
}

/** A login that may be renewed, by the caches of this replica at a moment. */
export interface CheckedLogin {
  /** The 401 to throw if the login is no longer valid. */
  readonly refusal: StatusError | undefined;
  readonly account: Account | undefined;
  /** Number of changes to users and revocations by then. */
  readonly changes: number;
}

interface AccountStateNeeds {
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  revokedTokens: RevokedTokens;
  /** Watch of the sessions. */
  sessions: Pick<WatchCache<unknown>, 'isSilent'>;
}

/** Decides whether tokens and sessions are still valid (docs/contract/conventions.md), from the caches of this replica. */
export class AccountState {
  readonly #now: () => Date;
  readonly #config: Services['config'];
  readonly #localGroups: LocalGroupLookup;
  readonly #issuers: Issuers;
  readonly #accounts: AccountLookup;
  readonly #revokedTokens: RevokedTokens;
  readonly #sessions: AccountStateNeeds['sessions'];
  readonly #records: UserRecords;
  /** Number of changes to users and revocations that this replica has seen. */
  #changes = 0;

  constructor(
    { now, config, client }: Pick<Services, 'now' | 'config' | 'client'>,
    issuers: Issuers,
    { accounts, localGroups, revokedTokens, sessions }: AccountStateNeeds,
  ) {
    this.#now = now;
    this.#config = config;
    this.#localGroups = localGroups;
    this.#issuers = issuers;
    this.#accounts = accounts;
    this.#revokedTokens = revokedTokens;
    this.#sessions = sessions;
    this.#records = new UserRecords(client);
    const count = () => {
      this.#changes += 1;
    };
    accounts.watch.onChange(count);
    revokedTokens.watch.onChange(count);
  }

  /** Reports whether `whenReady` would neither wait nor throw. */
  get isKnown(): boolean {
    const [revocations, users] = [this.#revokedTokens.watch, this.#accounts.watch];
    if (revocations.state === 'pending' || users.state === 'pending') return false;
    return ![revocations, users, this.#sessions].some((watch) => watch.isSilent(maxSilenceSeconds));
  }

  /** Waits until users and revocations are known, before credentials are verified. @throws StatusError 503 while they are unknown */
  async whenReady(request: WaitingRequest): Promise<void> {
    if (this.isKnown) return;
    const watches = [this.#revokedTokens.watch, this.#accounts.watch];
    if ([...watches, this.#sessions].some((watch) => watch.isSilent(maxSilenceSeconds)))
      throw serviceUnavailable('kubernetes', {
        cause: new Error('the watches of users, sessions or revocations were silent for a minute'),
      });
    // Without a resource in the cluster, nothing can have been revoked, and login works without records.
    for (const watch of watches) {
      if (await watch.until(() => watch.state !== 'pending', listedWithinMs, request.signal)) continue;
      request.signal.throwIfAborted();
      throw watch.unavailable();
    }
  }

  /**
   * Waits for the record of the user of a session or login that began a moment ago.
   *
   * @throws StatusError 503 if the record exists and the watch does not deliver it in time; the signal's reason when it aborts
   */
  async requireRecord({ user, userUID, createdAt }: YoungSession, signal: AbortSignal): Promise<void> {
    if (userUID !== undefined && this.#now().getTime() - createdAt < youngMs)
      await this.#requireWatched({ name: user, uid: userUID }, signal);
  }

  /** Returns the record of a user, if it exists. */
  accountOf(user: string): Account | undefined {
    return this.#accounts.watch.get(user)?.account;
  }

  /** Returns the record of a login. */
  find({ claims: { iss, sub }, name }: VerifiedLogin): Account | undefined {
    return this.#accounts.ofLogin({ issuer: iss, sub }, name);
  }

  /**
   * Returns the record of the user of a bearer token, if it exists. Waits for the record of a token that the embedded issuer issued a
   * moment ago.
   *
   * @throws StatusError 401 if the token is no longer valid, 503; the signal's reason when it aborts
   */
  async ownerOf(token: string, login: VerifiedLogin, request: WaitingRequest): Promise<Account | undefined> {
    const { identity, claims, isEmbedded, name } = login;
    const isYoung = this.#now().getTime() - claims.iat * 1000 < youngMs;
    if (isEmbedded && isYoung && this.#accounts.watch.isSynced)
      await this.#requireWatched(recordOf(claims.sub), request.signal, () => isSubjectOf(this.find(login), claims.sub));
    const account = this.find(login);
    const holder = this.#accounts.ofLinkedName(identity.name);
    if (this.#revokedTokens.hasRevoked(token, claims, identity.name)) throw noLongerValid(revoked);
    if (holder !== undefined && holder !== account) throw noLongerValid(subjectDiffers);
    // A token of the embedded issuer belongs to one record, like a session, and not to a later record of the same name.
    if (isEmbedded && !isSubjectOf(account, claims.sub)) throw noLongerValid(revoked);
    const refusal = account && this.#refusalOfToken(account, login, { login: name, subjectName: identity.name });
    if (refusal) throw refusal;
    return account;
  }

  /**
   * Returns the record of the user of a session, if it exists. Waits for the record of a session that began a moment ago.
   *
   * @throws StatusError 401 if the session is no longer valid, 503; the signal's reason when it aborts
   */
  async ownerOfSession(session: Session, signal: AbortSignal): Promise<Account | undefined> {
    await this.requireRecord(session.row, signal);
    const account = this.accountOf(session.row.user);
    const refusal = this.refusalOfSession(session, account);
    if (refusal !== undefined) throw refusal;
    return account;
  }

  /** Returns the 401 to throw if a session is no longer valid. @param account the record that the Session names */
  refusalOfSession({ row, secrets, verified }: Session, account = this.accountOf(row.user)): StatusError | undefined {
    const { login } = secrets;
    // Others can write the Session object, but not the sealed login: the two may name different records.
    const sealedAccount = login.user === row.user ? account : this.accountOf(login.user);
    const refusal = this.refusalOfLogin(login, verified?.issuer, sealedAccount);
    return refusal ?? (isUnchanged(row, login) ? undefined : this.refusalOfRow(row, account));
  }

  /** Checks a login before its tokens are renewed. */
  check({ login, issuer, row }: RenewableLogin): CheckedLogin {
    const account = this.accountOf(login.user);
    const isExpired = this.#now().getTime() / 1000 >= login.expiresAt;
    const refusal = isExpired ? noLongerValid(revoked) : this.refusalOfLogin(login, issuer, account);
    const ofRow = row === undefined || isUnchanged(row, login) ? undefined : this.refusalOfRow(row);
    return { refusal: refusal ?? ofRow, account, changes: this.#changes };
  }

  /** Returns the 401 to throw if a login has ended since it was checked: by a change to the cluster, or by time alone. */
  refusalSince({ account, changes }: CheckedLogin, renewable: RenewableLogin): StatusError | undefined {
    if (changes !== this.#changes) return this.check(renewable).refusal;
    return account && this.#refusal(account, renewable.login.at);
  }

  /** Returns the 401 to throw if the Session object alone shows that the session is no longer valid. */
  refusalOfRow(row: SessionRow, account = this.accountOf(row.user)): StatusError | undefined {
    const { userUID, subjectName, createdAt, login } = row;
    const at = createdAt / 1000;
    if (this.#revokedTokens.hasEnded({ subjectName, at, issuerLogin: login })) return noLongerValid(revoked);
    return this.#refusalOf({ userUID, at }, account);
  }

  /** Returns the 401 to throw if tokens of a login are not to be renewed. @param issuer undefined if it is no longer configured */
  refusalOfLogin(login: LoginFacts, issuer: Issuer | undefined, account = this.accountOf(login.user)): StatusError | undefined {
    // A login ends when its issuer is no longer configured.
    if (this.#revokedTokens.hasEnded(login) || issuer?.settings.issuer !== login.iss) return noLongerValid(revoked);
    const { iss, sub } = login;
    const isAnother = account && !issuer.settings.isEmbedded && belongsToAnother(account, { issuer: iss, sub }, this.#issuers.inUse);
    if (isAnother) return noLongerValid(subjectDiffers);
    return this.#refusalOf(login, account);
  }

  /** Reports whether a login has ended permanently: neither time nor an administrator restores it. */
  isOver(login: LoginFacts): boolean {
    if (this.#revokedTokens.hasEnded(login) || this.#now().getTime() / 1000 >= login.expiresAt) return true;
    const account = this.accountOf(login.user);
    return isOfAnotherRecord(login, account) || login.at < (account?.sessionsNotBefore ?? 0);
  }

  /** Returns the 401 to throw if the record of its user does not accept a bearer token. */
  #refusalOfToken(account: Account, login: VerifiedLogin, names: { login: string; subjectName: string }): StatusError | undefined {
    const { claims, isEmbedded } = login;
    const subject = { issuer: claims.iss, sub: claims.sub };
    // A `sub` of the embedded issuer names one record, and need not be recorded.
    if (!isEmbedded && belongsToAnother(account, subject, this.#issuers.inUse)) return noLongerValid(subjectDiffers);
    const isNaming = hasSubject(account, subject) && !isLinkedAccount(account, subject);
    if (isNaming && isRenamed(account, names)) return noLongerValid(addressChanged);
    if (this.lacksFactor(account, login)) return noLongerValid(factorRequired);
    return this.#refusal(account, claims.iat);
  }

  /**
   * Reports whether a rule requires a second factor that a login with a linked account lacks. Otherwise such a login would be a way around
   * the factor that the embedded issuer requires.
   *
   * @throws StatusError 503 while the groups of the user are unknown
   */
  lacksFactor(account: Account, { claims: { iss, sub, acr } }: VerifiedLogin): boolean {
    const config = this.#config;
    if (!config.features.factors || !account.isLocal || !isLinkedAccount(account, { issuer: iss, sub })) return false;
    if (typeof acr === 'string' && hasAcr(acr, [twoFactors])) return false;
    requireCurrentGroups(this.#localGroups);
    return ruleOf(account, this.#localGroups, config) === 'required';
  }

  #refusalOf(login: OwnedLogin & Pick<LoginFacts, 'at'>, account: Account | undefined): StatusError | undefined {
    if (isOfAnotherRecord(login, account)) return noLongerValid(revoked);
    return account && this.#refusal(account, login.at);
  }

  /** Waits for a record. If the watch does not deliver it in time, asks the API server whether it is deleted or the watch is behind. */
  async #requireWatched({ name, uid }: Pick<Account, 'name' | 'uid'>, signal: AbortSignal, isThere = () => this.#hasHeardOf(name, uid)) {
    if (isThere() || (await this.#accounts.watch.until(isThere, seenWithinMs, signal))) return;
    signal.throwIfAborted();
    if (this.#hasHeardOf(name, uid)) return;
    const record = await this.#records.read(name, signal);
    if (record === undefined || record === 'notInstalled' || record.metadata.uid !== uid || this.#hasHeardOf(name, uid)) return;
    // A 401 would end the session of a browser.
    throw serviceUnavailable('kubernetes', { cause: new Error('the watch of users is behind') });
  }

  #hasHeardOf(name: string, uid: string): boolean {
    return this.#accounts.watch.get(name)?.account.uid === uid;
  }

  #refusal(account: Account, since: number): StatusError | undefined {
    if (account.sessionsNotBefore !== undefined && since < account.sessionsNotBefore) return noLongerValid(revoked);
    const cause = phaseCause(account, this.#now(), this.#config.users.idleDays);
    return cause && noLongerValid(cause);
  }
}

/** Reports whether all facts of a Session object that can end it are those of its sealed login. */
const isUnchanged = ({ user, userUID, subjectName, createdAt, login }: SessionRow, sealed: LoginFacts): boolean =>
  user === sealed.user &&
  userUID === sealed.userUID &&
  subjectName === sealed.subjectName &&
  createdAt === sealed.at * 1000 &&
  login?.sid === sealed.issuerLogin.sid &&
  login?.sub === sealed.issuerLogin.sub;

/** Login with the record that it began with. */
interface OwnedLogin {
  readonly userUID?: string | undefined;
}

/** Reports whether the record is a new one under the name of a deleted one, which does not inherit its logins. */
const isOfAnotherRecord = ({ userUID }: OwnedLogin, account: Account | undefined): boolean =>
  userUID !== undefined && account?.uid !== userUID;

const isSubjectOf = (account: Account | undefined, sub: string) => account !== undefined && subjectOf(account) === sub;

/** Builds the 401 for a session that has ended or does not exist. */
export function sessionEnded(cause?: unknown): StatusError {
  const error = unauthorized({ tokenGiven: true, message: 'the session has ended' });
  error.cause = cause;
  return error;
}
