import { type StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';
import { hasAcr, twoFactors } from '../http/step-up.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import { listedWithinMs, seenWithinMs } from '../kubernetes/until.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import type { Services } from '../services.ts';
import { ruleOf } from '../users/factor-rule.ts';
import { type Account, belongsToAnother, isLinked, isLinkedTo, isRenamed } from '../users/record/account.ts';
import { type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { UserRecords } from '../users/record/records.ts';
import { addressChanged, factorRequired, noLongerCounts, phaseCause, revoked, subjectDiffers } from '../users/record/refused-credential.ts';
import { recordOf, subjectOf } from '../users/record/subject-name.ts';
import type { Session } from './browser-sessions.ts';
import type { LoginFacts } from './login-facts.ts';
import type { SessionRow } from './record.ts';
import type { RevokedTokens } from './revoked-tokens.ts';

/** What a replica has heard of no longer hides what was ended since (docs/contract/conventions.md). */
const maxSilenceSeconds = 60;
/** A session so young may be known before the record of its user, which was made a moment earlier: the two watches run apart. */
const youngMs = 30_000;

/** What a watch follows. */
type Followed = Pick<WatchCache<unknown>, 'state' | 'ageSeconds'>;

/** A token that verified: whose it is, and since when. */
interface TokenOwner {
  /** User name as Kubernetes sees it. */
  subjectName: string;
  /** Unix seconds. */
  issuedAt: number;
  /** The login string that names the record. */
  login: string | undefined;
  claims: VerifiedClaims;
}

type YoungSession = Pick<SessionRow, 'user' | 'createdAt'> & { userUID?: string | undefined };

/** Of a login, what ends it. */
interface Begun extends Pick<LoginFacts, 'user' | 'subjectName' | 'at'> {
  userUID?: string | undefined;
  issuerLogin: LoginFacts['issuerLogin'] | undefined;
}

interface AccountStateNeeds {
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  revokedTokens: RevokedTokens;
  sessions: Followed;
}

/** Whether users may go on with the tokens and sessions that they have (docs/contract/conventions.md), by what this replica has seen of the cluster. */
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

  /** Whether `whenKnown` has nothing to wait for, and nothing to refuse. */
  get isKnown(): boolean {
    const [tokens, accounts] = [this.#revokedTokens, this.#accounts];
    if (tokens.state === 'pending' || accounts.state === 'pending') return false;
    return !isSilent(tokens) && !isSilent(accounts) && !isSilent(this.#sessions);
  }

  /** To be awaited before anything is verified. @throws StatusError 503 while it is not known who there is and what has ended */
  async whenKnown(signal: AbortSignal): Promise<void> {
    const accounts = this.#accounts;
    if ([this.#revokedTokens, accounts, this.#sessions].some(isSilent))
      throw serviceUnavailable('kubernetes', { cause: new Error('nothing was heard of users, sessions or revocations for a minute') });
    await this.#revokedTokens.whenKnown(signal);
    // Where the resource is not installed, login works without records.
    const isKnown = () => accounts.state !== 'pending';
    if (await accounts.until(isKnown, listedWithinMs, signal)) return;
    signal.throwIfAborted();
    throw accounts.unavailable();
  }

  /**
   * Waits for the record of the user of a session or login that began a moment ago.
   *
   * @throws StatusError 503 if it is there and this replica has not heard of it in time; the signal's reason when it aborts
   */
  async whenCaughtUp({ user, userUID, createdAt }: YoungSession, signal: AbortSignal): Promise<void> {
    if (userUID !== undefined && this.#now().getTime() - createdAt < youngMs) await this.#whenHeardOf({ name: user, uid: userUID }, signal);
  }

  /** The user's record, as far as there is one. */
  accountOf(user: string): Account | undefined {
    return this.#accounts.get(user);
  }

  /** The record that a token is of. */
  find(login: string | undefined, { iss, sub }: Pick<VerifiedClaims, 'iss' | 'sub'>): Account | undefined {
    return this.#accounts.ofLogin({ issuer: iss, sub }, login);
  }

  /** Why the user of a session may not go on with it, as the 401 to throw; undefined if they may. */
  refusalOfSession({ row, secrets }: Session): StatusError | undefined {
    return this.refusalOfLogin(secrets.login) ?? this.refusalOfRow(row);
  }

  /** The same as far as can be told without opening it. */
  refusalOfRow({ user, userUID, subjectName, createdAt, login }: SessionRow): StatusError | undefined {
    return this.#refusalOf({ user, userUID, subjectName, at: createdAt / 1000, issuerLogin: login });
  }

  /** The same of a login whose tokens are to be renewed. */
  refusalOfLogin(login: LoginFacts): StatusError | undefined {
    // A login goes with the issuer that it was made at.
    if (this.#revokedTokens.hasLogin(login.id) || !this.#issuers.has(login.iss)) return noLongerCounts(revoked);
    const account = this.accountOf(login.user);
    if (account && this.#belongsToAnother(account, login)) return noLongerCounts(subjectDiffers);
    return this.#refusalOf(login);
  }

  /** Whether a login is over for good: neither time nor an administrator brings it back. */
  isOver(login: LoginFacts): boolean {
    if (this.#revokedTokens.hasLogin(login.id) || this.#now().getTime() / 1000 >= login.expiresAt) return true;
    return this.#isEnded(login) || login.at < (this.accountOf(login.user)?.sessionsNotBefore ?? 0);
  }

  /** The same of a token in the hands of the user. */
  refusalOfToken({ subjectName, issuedAt, login, claims }: TokenOwner): StatusError | undefined {
    if (this.#revokedTokens.hasEndedBearers(claims, issuedAt * 1000)) return noLongerCounts(revoked);
    if (this.#revokedTokens.hasSubject(subjectName, issuedAt * 1000)) return noLongerCounts(revoked);
    const account = this.find(login, claims);
    const holder = this.#accounts.ofLinkedName(subjectName);
    if (holder !== undefined && holder !== account) return noLongerCounts(subjectDiffers);
    // As a session's: a token of the embedded issuer is of one record, and of no other that gets the name.
    if (this.#isEmbedded(claims) && !isSubjectOf(account, claims)) return noLongerCounts(revoked);
    if (account && this.#belongsToAnother(account, claims)) return noLongerCounts(subjectDiffers);
    const subject = { issuer: claims.iss, sub: claims.sub };
    const isNaming = account !== undefined && isLinkedTo(account, subject) && !isLinked(account, subject);
    if (isNaming && isRenamed(account, { login: login ?? '', subjectName })) return noLongerCounts(addressChanged);
    if (account && this.lacksFactor(account, claims)) return noLongerCounts(factorRequired);
    return account && this.#refusal(account, issuedAt);
  }

  /**
   * Returns whether a rule requires a second factor that a login with a linked account does not show: beside it the password alone
   * would be worth more than it is at the embedded issuer.
   *
   * @throws StatusError 503 while it is not known which groups the user is in
   */
  lacksFactor(account: Account, { iss, sub, acr }: VerifiedClaims): boolean {
    const config = this.#config;
    if (!config.features.factors || !account.isLocal || !isLinked(account, { issuer: iss, sub })) return false;
    if (typeof acr === 'string' && hasAcr(acr, [twoFactors])) return false;
    requireCurrentGroups(this.#localGroups);
    return ruleOf(account, this.#localGroups, config) === 'required';
  }

  /** The same of a token that the embedded issuer gave out a moment ago. @throws StatusError 503; the signal's reason when it aborts */
  async whenTokenCaughtUp({ issuedAt, login, claims }: TokenOwner, signal: AbortSignal): Promise<void> {
    const isYoung = this.#now().getTime() - issuedAt * 1000 < youngMs;
    if (this.#isEmbedded(claims) && isYoung && this.#accounts.isSynced)
      await this.#whenHeardOf(recordOf(claims.sub), signal, () => isSubjectOf(this.find(login, claims), claims));
  }

  /** What the embedded issuer gives is of one record, by its `sub`. */
  #belongsToAnother(account: Account, { iss, sub }: Pick<LoginFacts, 'iss' | 'sub'>): boolean {
    const issuers = this.#issuers;
    return issuers.of({ iss }).settings.isEmbedded !== true && belongsToAnother(account, { issuer: iss, sub }, issuers.inUse);
  }

  #isEmbedded(claims: VerifiedClaims): boolean {
    return this.#issuers.of(claims).settings.isEmbedded === true;
  }

  #refusalOf(login: Begun): StatusError | undefined {
    if (this.#isEnded(login)) return noLongerCounts(revoked);
    const account = this.accountOf(login.user);
    return account && this.#refusal(account, login.at);
  }

  #isEnded({ user, userUID, subjectName, at, issuerLogin }: Begun): boolean {
    const revokedTokens = this.#revokedTokens;
    if (issuerLogin !== undefined && revokedTokens.hasEndedLogin(issuerLogin, at * 1000)) return true;
    if (subjectName !== '' && revokedTokens.hasSubject(subjectName, at * 1000)) return true;
    // A new record under the name of a deleted one does not inherit its logins.
    return userUID !== undefined && this.accountOf(user)?.uid !== userUID;
  }

  /** A record that is not there after the time that the watch may be behind is gone, or the watch is further behind: the API server knows. */
  async #whenHeardOf({ name, uid }: Pick<Account, 'name' | 'uid'>, signal: AbortSignal, isThere = () => this.#hasHeardOf(name, uid)) {
    if (await this.#accounts.until(isThere, seenWithinMs, signal)) return;
    signal.throwIfAborted();
    if (this.#hasHeardOf(name, uid)) return;
    const record = await this.#records.read(name, signal);
    if (record === undefined || record === 'notInstalled' || record.metadata.uid !== uid || this.#hasHeardOf(name, uid)) return;
    // A 401 would cost a browser its session.
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

/** Where a resource is not installed there is nothing to hear. */
const isSilent = (watch: Followed): boolean => watch.ageSeconds() > maxSilenceSeconds && watch.state !== 'notInstalled';

const isSubjectOf = (account: Account | undefined, { sub }: VerifiedClaims) => account !== undefined && subjectOf(account) === sub;

/** 401 for a session that is over, or never was. */
export function sessionEnded(cause?: unknown): StatusError {
  const error = unauthorized({ tokenGiven: true, message: 'the session has ended' });
  error.cause = cause;
  return error;
}

/** For the audit trail: who acts, and the User record that it is about. */
export const whoseLogin = ({ subjectName, sub, user, userUID = '' }: LoginFacts) => ({
  actor: { name: subjectName, uid: sub },
  target: { name: user, uid: userUID },
});
