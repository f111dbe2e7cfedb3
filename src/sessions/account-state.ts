import { type StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';
import { hasAcr, twoFactors } from '../http/step-up.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { VerifiedLogin } from '../issuer/verified-login.ts';
import { listedWithinMs, seenWithinMs } from '../kubernetes/deadline.ts';
import type { RevokedTokens } from '../revocation/revoked-tokens.ts';
import type { Services } from '../services.ts';
import { ruleOf } from '../users/factor-rule.ts';
import { type Account, belongsToAnother, hasSubject, isLinkedAccount, isRenamed } from '../users/record/account.ts';
import { type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { UserRecords } from '../users/record/records.ts';
import { addressChanged, factorRequired, noLongerCounts, phaseCause, revoked, subjectDiffers } from '../users/record/refused-credential.ts';
import { recordOf, subjectOf } from '../users/record/subject-name.ts';
import type { WatchCache } from '../watch/watch-cache.ts';
import type { Session } from './browser-sessions.ts';
import type { LoginFacts } from './login-facts.ts';
import type { SessionRow } from './record.ts';

/** Maximum silence of a watch: after it, this replica may have missed the end of a login (docs/contract/conventions.md). */
const maxSilenceSeconds = 60;
/** Age up to which a session may be known before the record of its user, because the two watches are independent. */
const youngMs = 30_000;

/** State of a watch. */
type Followed = Pick<WatchCache<unknown>, 'state' | 'ageSeconds'>;

type YoungSession = Pick<SessionRow, 'user' | 'createdAt'> & { userUID?: string | undefined };

/** The facts that can end a login. */
interface EndableLogin extends Pick<LoginFacts, 'subjectName' | 'at'> {
  userUID?: string | undefined;
  issuerLogin: LoginFacts['issuerLogin'] | undefined;
}

interface AccountStateNeeds {
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  revokedTokens: RevokedTokens;
  sessions: Followed;
}

/** Decides whether tokens and sessions are still valid (docs/contract/conventions.md), from the caches of this replica. */
export class AccountState {
  readonly #now: () => Date;
  readonly #config: Services['config'];
  readonly #localGroups: LocalGroupLookup;
  readonly #issuers: Issuers;
  readonly #accounts: AccountLookup;
  readonly #revokedTokens: RevokedTokens;
  readonly #sessions: Followed;
  readonly #records: UserRecords;

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
  }

  /** Reports whether `whenKnown` would neither wait nor throw. */
  get isKnown(): boolean {
    const [tokens, accounts] = [this.#revokedTokens, this.#accounts];
    if (tokens.state === 'pending' || accounts.state === 'pending') return false;
    return !isSilent(tokens) && !isSilent(accounts) && !isSilent(this.#sessions);
  }

  /** Waits until users and revocations are known, before credentials are verified. @throws StatusError 503 while they are unknown */
  async whenKnown(signal: AbortSignal): Promise<void> {
    const accounts = this.#accounts;
    if ([this.#revokedTokens, accounts, this.#sessions].some(isSilent))
      throw serviceUnavailable('kubernetes', { cause: new Error('nothing was heard of users, sessions or revocations for a minute') });
    await this.#revokedTokens.whenKnown(signal);
    // Login works without records if the resource is not installed.
    const isKnown = () => accounts.state !== 'pending';
    if (await accounts.until(isKnown, listedWithinMs, signal)) return;
    signal.throwIfAborted();
    throw accounts.unavailable();
  }

  /**
   * Waits for the record of the user of a session or login that began a moment ago.
   *
   * @throws StatusError 503 if the record exists and the watch does not deliver it in time; the signal's reason when it aborts
   */
  async whenCaughtUp({ user, userUID, createdAt }: YoungSession, signal: AbortSignal): Promise<void> {
    if (userUID !== undefined && this.#now().getTime() - createdAt < youngMs) await this.#whenHeardOf({ name: user, uid: userUID }, signal);
  }

  /** Returns the record of a user, if it exists. */
  accountOf(user: string): Account | undefined {
    return this.#accounts.get(user);
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
  async ownerOf(login: VerifiedLogin, signal: AbortSignal): Promise<Account | undefined> {
    const { identity, claims } = login;
    const isYoung = this.#now().getTime() - claims.iat * 1000 < youngMs;
    if (login.isEmbedded && isYoung && this.#accounts.isSynced)
      await this.#whenHeardOf(recordOf(claims.sub), signal, () => isSubjectOf(this.find(login), claims.sub));
    const account = this.find(login);
    const refusal = this.#refusalOfToken(login, identity.name, account);
    if (refusal !== undefined) throw refusal;
    return account;
  }

  /**
   * Returns the record of the user of a session, if it exists. Waits for the record of a session that began a moment ago.
   *
   * @throws StatusError 401 if the session is no longer valid, 503; the signal's reason when it aborts
   */
  async ownerOfSession(session: Session, signal: AbortSignal): Promise<Account | undefined> {
    await this.whenCaughtUp(session.row, signal);
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
    return this.refusalOfLogin(login, verified?.issuer, sealedAccount) ?? this.refusalOfRow(row, account);
  }

  /** Returns the 401 to throw if the Session object alone shows that the session is no longer valid. */
  refusalOfRow(row: SessionRow, account = this.accountOf(row.user)): StatusError | undefined {
    const { userUID, subjectName, createdAt, login } = row;
    return this.#refusalOf({ userUID, subjectName, at: createdAt / 1000, issuerLogin: login }, account);
  }

  /** Returns the 401 to throw if tokens of a login are not to be renewed. @param issuer undefined if it is no longer configured */
  refusalOfLogin(login: LoginFacts, issuer: Issuer | undefined, account = this.accountOf(login.user)): StatusError | undefined {
    // A login ends when its issuer is no longer configured.
    if (this.#revokedTokens.hasLogin(login.id) || issuer?.settings.issuer !== login.iss) return noLongerCounts(revoked);
    if (account && this.#belongsToAnother(account, login, issuer)) return noLongerCounts(subjectDiffers);
    return this.#refusalOf(login, account);
  }

  /** Reports whether a login has ended permanently: neither time nor an administrator restores it. */
  isOver(login: LoginFacts): boolean {
    if (this.#revokedTokens.hasLogin(login.id) || this.#now().getTime() / 1000 >= login.expiresAt) return true;
    const account = this.accountOf(login.user);
    return this.#isEnded(login, account) || login.at < (account?.sessionsNotBefore ?? 0);
  }

  /** Returns the 401 to throw if a bearer token is no longer valid. @param subjectName user name in Kubernetes */
  #refusalOfToken(login: VerifiedLogin, subjectName: string, account: Account | undefined): StatusError | undefined {
    const { claims } = login;
    if (this.#revokedTokens.hasEndedBearers(claims, claims.iat * 1000)) return noLongerCounts(revoked);
    if (this.#revokedTokens.hasSubject(subjectName, claims.iat * 1000)) return noLongerCounts(revoked);
    const holder = this.#accounts.ofLinkedName(subjectName);
    if (holder !== undefined && holder !== account) return noLongerCounts(subjectDiffers);
    // A token of the embedded issuer belongs to one record, like a session, and not to a later record of the same name.
    if (login.isEmbedded && !isSubjectOf(account, claims.sub)) return noLongerCounts(revoked);
    if (account && this.#belongsToAnother(account, claims, login.issuer)) return noLongerCounts(subjectDiffers);
    const subject = { issuer: claims.iss, sub: claims.sub };
    const isNaming = account !== undefined && hasSubject(account, subject) && !isLinkedAccount(account, subject);
    if (isNaming && isRenamed(account, { login: login.name, subjectName })) return noLongerCounts(addressChanged);
    if (account && this.lacksFactor(account, login)) return noLongerCounts(factorRequired);
    return account && this.#refusal(account, claims.iat);
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

  /** Reports whether the record has another subject. A `sub` of the embedded issuer names one record, and need not be recorded. */
  #belongsToAnother(account: Account, { iss, sub }: Pick<LoginFacts, 'iss' | 'sub'>, { settings }: Issuer): boolean {
    return settings.isEmbedded !== true && belongsToAnother(account, { issuer: iss, sub }, this.#issuers.inUse);
  }

  #refusalOf(login: EndableLogin, account: Account | undefined): StatusError | undefined {
    if (this.#isEnded(login, account)) return noLongerCounts(revoked);
    return account && this.#refusal(account, login.at);
  }

  #isEnded({ userUID, subjectName, at, issuerLogin }: EndableLogin, account: Account | undefined): boolean {
    const revokedTokens = this.#revokedTokens;
    if (issuerLogin !== undefined && revokedTokens.hasEndedLogin(issuerLogin, at * 1000)) return true;
    if (subjectName !== '' && revokedTokens.hasSubject(subjectName, at * 1000)) return true;
    // A new record under the name of a deleted one does not inherit its logins.
    return userUID !== undefined && account?.uid !== userUID;
  }

  /** Waits for a record. If the watch does not deliver it in time, asks the API server whether it is deleted or the watch is behind. */
  async #whenHeardOf({ name, uid }: Pick<Account, 'name' | 'uid'>, signal: AbortSignal, isThere = () => this.#hasHeardOf(name, uid)) {
    if (await this.#accounts.until(isThere, seenWithinMs, signal)) return;
    signal.throwIfAborted();
    if (this.#hasHeardOf(name, uid)) return;
    const record = await this.#records.read(name, signal);
    if (record === undefined || record === 'notInstalled' || record.metadata.uid !== uid || this.#hasHeardOf(name, uid)) return;
    // A 401 would end the session of a browser.
    throw serviceUnavailable('kubernetes', { cause: new Error('the watch of users is behind') });
  }

  #hasHeardOf(name: string, uid: string): boolean {
    return this.#accounts.get(name)?.uid === uid;
  }

  #refusal(account: Account, since: number): StatusError | undefined {
    if (account.sessionsNotBefore !== undefined && since < account.sessionsNotBefore) return noLongerCounts(revoked);
    const cause = phaseCause(account, this.#now(), this.#config.users.idleDays);
    return cause && noLongerCounts(cause);
  }
}

/** Reports whether a watch is silent. A resource that is not installed has no events. */
const isSilent = (watch: Followed): boolean => watch.ageSeconds() > maxSilenceSeconds && watch.state !== 'notInstalled';

const isSubjectOf = (account: Account | undefined, sub: string) => account !== undefined && subjectOf(account) === sub;

/** Builds the 401 for a session that has ended or does not exist. */
export function sessionEnded(cause?: unknown): StatusError {
  const error = unauthorized({ tokenGiven: true, message: 'the session has ended' });
  error.cause = cause;
  return error;
}

/** Returns actor and target for the audit trail. */
export const whoseLogin = ({ subjectName, sub, user, userUID = '' }: LoginFacts) => ({
  actor: { name: subjectName, uid: sub },
  target: { name: user, uid: userUID },
});
