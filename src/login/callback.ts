import { hash } from 'node:crypto';
import type { Identity } from '@atrium/http/caller.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { badParameter, StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { announcesIss } from '@atrium/oidc-client/discovery.ts';
import { IssuerFault, issuerUnavailable } from '@atrium/oidc-client/errors.ts';
import { issuerTimeoutMs } from '@atrium/oidc-client/fetch.ts';
import type { TokenSet, VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { connectorOf } from '../issuer/claims.ts';
import type { Issuer } from '../issuer/issuer.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import type { SessionContext } from '../sessions/context.ts';
import type { LoginRecorder } from '../users/logins/recorder.ts';
import { type Account, isOf, recordName } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import {
  authorizationRefused,
  idTokenRefused,
  invalidSession,
  isRegisteredCode,
  noSuchUser,
  notAcceptedByCluster,
  otherAddress,
  otherSubject,
  phaseRefused,
  withoutFactor,
} from './callback-errors.ts';
import { checkStepUp, endOfFlow, type Flow, type FlowCookies, flowSeconds } from './flow.ts';
import { sessionOfLinkingUser } from './linked-accounts/begin.ts';
import type { CallbackQuery } from './schema.ts';
import { displayNameOf } from './user-info.ts';

/** Verified answer of the issuer. */
export interface Proof {
  flow: Flow;
  tokens: TokenSet;
  login: VerifiedLogin;
}

/** Proof of a user who may log in. */
export interface LoggedIn extends Proof {
  /** Identity of the user in Kubernetes. */
  identity: Identity;
  /** Name of the User record, whether or not it exists. */
  user: string;
  account: Account | undefined;
}

/** Used states that the watch may not have reported yet. */
const maxUsed = 10_000;

/** Number of groups in one line of the log. */
const maxTold = 10;
const maxToldLength = 64;

/** Completes a login (docs/contract/login.md): twelve checks in order, each of which may refuse it. */
export class Callback {
  readonly #context: SessionContext;
  readonly #flows: FlowCookies;
  readonly #recorder: LoginRecorder;
  readonly #used = new LRUCache<string, true>({ ...atMost(maxUsed), ttl: flowSeconds * 1000 });

  constructor(context: SessionContext, flows: FlowCookies, recorder: LoginRecorder) {
    this.#context = context;
    this.#flows = flows;
    this.#recorder = recorder;
  }

  /** Steps 2 to 9: verifies the login at the issuer. @throws StatusError 400, 401, 503 */
  async prove(ctx: Context, query: CallbackQuery, signal: AbortSignal): Promise<Proof> {
    const flow = await this.#takeFlow(ctx, query.state);
    this.#checkError(query);
    const issuer = this.#context.issuers.of(flow);
    ctx.state.issuerID = issuer.settings.id;
    const code = codeOf(query);
    const issued = await this.#inTime(signal, async (deadline) => {
      await this.#checkIssuer(query, issuer);
      const frontChannel = await this.#checkIdToken(query, code, flow, issuer);
      return this.#tokens(query, { code, flow, frontChannel, issuer }, deadline);
    });
    checkStepUp(flow, issued.claims, this.#context.now());
    const isHandedOut = flow.tokenStorage === 'local' && flow.link === undefined;
    const tokens = isHandedOut ? issuer.bearers.handOut(issued) : issued;
    return { flow, tokens, login: new VerifiedLogin(issuer, tokens.claims) };
  }

  /** Steps 10 to 12, and the update of the User record. @throws StatusError 400, 401, 409 like `#record`, 503, 504 */
  async logIn(proof: Proof, signal: AbortSignal): Promise<LoggedIn> {
    const known = this.#requireUser(proof.login);
    const identity = await this.identityOf(proof, signal);
    await this.useState(proof.flow, signal);
    return { ...proof, identity, ...(await this.#record(proof, { identity, known }, signal)) };
  }

  /** Steps 2 and 3: returns the flow that this browser began. Its cookie is deleted, whatever the outcome. */
  async #takeFlow(ctx: Context, state: string): Promise<Flow> {
    const flow = await this.#flows.find(ctx, state);
    if (flow === undefined) throw invalidSession();
    this.#flows.expire(ctx, state);
    if (this.#used.has(state) || this.#context.revokedTokens.isUsed(state)) throw invalidSession();
    // This check precedes all calls to the issuer, because another person may use the browser by now.
    if (flow.link !== undefined) await sessionOfLinkingUser(this.#context, ctx, flow.link);
    return flow;
  }

  /** Step 4. The description of an error is not passed on, because any page can send a browser to this address. */
  #checkError({ error, error_description: description }: CallbackQuery): void {
    if (error === undefined) return;
    const code = isRegisteredCode(error) ? error : 'another';
    this.#context.log.info({ error: code, description: description?.slice(0, 256) }, 'identity provider returned an error');
    throw authorizationRefused(error);
  }

  /** Runs steps 6 to 9 within one timeout for the issuer. @throws StatusError 503 after the timeout */
  async #inTime<T>(signal: AbortSignal, work: (deadline: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(issuerTimeoutMs)]);
    return abortable(work(deadline), deadline).catch((error: unknown) => {
      throw error === deadline.reason ? issuerUnavailable(new IssuerFault('did not answer in time')) : error;
    });
  }

  /**
   * Step 6 (RFC 9207). An ID token names its issuer itself, which step 7 verifies. A bare code is bound to the issuer by state, nonce and
   * PKCE, and is redeemed nowhere else. With several issuers, a malicious one could still send the browser on to another, and would be
   * given its code. An issuer that sends no `iss` is therefore recognized by its own redirect URL (RFC 9700 section 4.4.2).
   */
  async #checkIssuer({ iss, id_token: idToken, issuer: id }: CallbackQuery, { settings, discovery }: Issuer): Promise<void> {
    const { isOneOfSeveral } = settings;
    if (iss !== undefined && iss !== settings.issuer) throw badParameter('iss', 'must be the issuer of the login');
    if (isOneOfSeveral && id !== undefined && id !== settings.id) throw badParameter('issuer', 'must be the id of the issuer of the login');
    if (iss !== undefined || idToken !== undefined || !(settings.requireIss || isOneOfSeveral)) return;
    if (announcesIss(await discovery.metadata()))
      throw badParameter('iss', 'is required: pass on the `iss` parameter that the issuer sent', 'FieldValueRequired');
    if (isOneOfSeveral && id === undefined)
      throw badParameter('issuer', 'is required: pass on the `issuer` parameter of the redirect URL', 'FieldValueRequired');
  }

  /** Step 7: verifies an ID token that came through the browser. */
  async #checkIdToken({ id_token: idToken }: CallbackQuery, code: string | undefined, flow: Flow, issuer: Issuer) {
    if (idToken === undefined) return undefined;
    try {
      return await issuer.verifier.idToken(idToken, { nonce: flow.nonce, ...(code !== undefined && { code }) });
    } catch (error) {
      throw idTokenRefused(error);
    }
  }

  /** Steps 8 and 9: redeems the code, or accepts the ID token of the browser. */
  async #tokens(
    { id_token: idToken }: CallbackQuery,
    { code, flow, frontChannel, issuer: { tokens } }: CheckedAnswer,
    deadline: AbortSignal,
  ): Promise<TokenSet> {
    const { verifier, redirectURL, nonce } = flow;
    try {
      if (code !== undefined) return await tokens.redeem({ code, verifier, redirectURL, nonce, frontChannel }, deadline);
    } catch (error) {
      throw idTokenRefused(error);
    }
    // `codeOf` refuses a callback without both.
    if (idToken === undefined || frontChannel === undefined) throw badParameter('code', 'is required', 'FieldValueRequired');
    return tokens.fromIdToken(idToken, frontChannel);
  }

  /**
   * Step 10: refuses a user who may not log in according to this replica; `#record` asks the cluster.
   *
   * @returns the account, if this replica knows one
   * @throws StatusError 401
   */
  #requireUser(login: VerifiedLogin): Account | undefined {
    const { accounts, accountState, config, now, issuers } = this.#context;
    const { name } = namesOf(login);
    const subject = login.adoptingSubject;
    const account = accounts.ofLogin(subject, name);
    if (account && subject && !isOf(account, subject, issuers.inUse)) throw otherSubject();
    if (account && accountState.lacksFactor(account, login)) throw withoutFactor();
    const phase = account && phaseOf(account, now(), config.users.idleDays);
    if (phase !== undefined && phase.phase !== 'Normal') throw phaseRefused(phase, now());
    return account;
  }

  /** Step 11: returns the identity of the user in Kubernetes. @throws StatusError 401, 503 also after a timeout of the API server */
  async identityOf({ tokens: { bearer }, login }: Proof, signal: AbortSignal): Promise<Identity> {
    const { identify } = this.#context;
    // The API server never receives these tokens, but trusts the impersonation headers of the service.
    if (!login.issuer.settings.isForwarded) return login.identity;
    try {
      const { identity } = await identify({ token: bearer, hash: hash('sha256', bearer) }, signal);
      // Users never have names of Kubernetes' own accounts, whatever the claim says.
      if (isReservedName(identity.name)) throw noSuchUser();
      return identity;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (error.status.code === 401 && error.status.details === undefined) throw notAcceptedByCluster();
      throw error.status.code >= 500 ? serviceUnavailable('kubernetes', { cause: error }) : error;
    }
  }

  /** Step 12: records the use of the state. Only one of concurrent callbacks succeeds, on any replica. @throws StatusError 400, 503, 504 */
  async useState(flow: Flow, signal: AbortSignal): Promise<void> {
    this.#used.set(flow.state, true);
    if (!(await this.#context.revokedTokens.useState(flow.state, endOfFlow(flow), signal))) throw invalidSession();
  }

  /**
   * Creates or updates the User record.
   *
   * @throws StatusError 401 if the record shows that the user may not log in, 409 if it is deleted while access under its old name ends,
   * 503, 504
   */
  async #record(
    { login, tokens }: Proof,
    { identity, known }: { identity: Identity; known: Account | undefined },
    signal: AbortSignal,
  ): Promise<Pick<LoggedIn, 'user' | 'account'>> {
    const { config, now, log } = this.#context;
    const { claims, isEmbedded, name, groups, adoptingSubject: subject } = login;
    const { groupsUnknown } = tokens;
    const recorded = await this.#recorder.record(
      {
        login: name,
        displayName: displayNameOf(claims),
        ...connectorOf(claims, { isEmbedded, directories: config.users.ldap }),
        groups: groupsUnknown === undefined ? groups.plain : undefined,
        subjectName: identity.name,
        subject,
      },
      signal,
      known,
    );
    if (recorded.outcome === 'refused' && recorded.reason === 'SubjectDiffers') throw otherSubject();
    if (recorded.outcome === 'refused' && recorded.reason === 'AddressChanged') {
      if (recorded.account !== undefined) await this.#endOldName(recorded.account, name, signal);
      throw otherAddress();
    }
    if (recorded.outcome === 'refused') throw recorded.reason === 'Phase' ? phaseRefused(recorded.phase, now()) : noSuchUser();
    const account = recorded.outcome === 'recorded' ? recorded.account : undefined;
    const user = account?.name ?? recordName(name) ?? '';
    this.#tellOfUnusableGroups(user, groups.unusable);
    if (groupsUnknown === 'kept back') log.warn({ user }, 'groups overage: the identity provider omitted the groups of a user');
    return { user, account };
  }

  /**
   * Ends all access under the old name of an account to which the issuer has given another name.
   *
   * @throws StatusError 409, 503, 504
   */
  async #endOldName(account: Account, login: string, signal: AbortSignal): Promise<void> {
    const { endAccess, log } = this.#context;
    log.warn({ user: account.name, from: account.email, to: login }, 'issuer reports another e-mail address for a user');
    await endAccess({ user: account, withAccessTokens: true }, 'AddressChanged', signal);
  }

  #tellOfUnusableGroups(user: string, unusable: readonly string[]): void {
    if (unusable.length === 0) return;
    const groups = unusable.slice(0, maxTold).map((group) => group.slice(0, maxToldLength).toWellFormed());
    this.#context.log.warn(
      { user, count: unusable.length, groups },
      'groups ignored, because their names are reserved or cannot be sent to the API server: rename them at the issuer',
    );
  }
}

/** Answer of the issuer after steps 5 to 7. */
interface CheckedAnswer {
  issuer: Issuer;
  flow: Flow;
  code: string | undefined;
  /** Claims of the ID token that came through the browser. */
  frontChannel: VerifiedClaims | undefined;
}

/** Step 5: returns the code; undefined in the pure ID token flow. */
function codeOf({ code, id_token: idToken }: CallbackQuery): string | undefined {
  // An issuer that sends the ID token alone sends no code (OpenID Connect Core 3.2.2.5).
  if (code === undefined && idToken === undefined) throw badParameter('code', 'is required', 'FieldValueRequired');
  if (code === '' && idToken === undefined) throw badParameter('code', 'may be empty only beside id_token', 'FieldValueRequired');
  return code === '' ? undefined : code;
}

/** Step 10: returns the names of the user in Kubernetes and of the record. @throws StatusError 401 */
function namesOf(login: VerifiedLogin): { subjectName: string; name: string } {
  try {
    return { subjectName: login.identity.name, name: login.name };
  } catch (error) {
    throw idTokenRefused(error);
  }
}
