import { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { OAuthError } from '@atrium/http/oauth-errors.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import type { ExchangedTokens } from '../tokens/exchanged.ts';
import type { Account } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import { isTrusted, type TrustedToken } from '../users/record/federation.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { requestedScope } from './requested-scope.ts';
import type { WorkloadIssuer, WorkloadIssuers } from './workload-issuers.ts';

/** Exchanges on this replica in a minute, of all networks together. A signature costs less than a millisecond. */
const perMinuteInAll = 6_000;
/** Refusals in a minute that the audit has, of one network and of all: every user of a public issuer gets its tokens. */
const auditedRefusals = { ofNetwork: 10, inAll: 600 };

/** Parameters of a request (RFC 8693 section 2.1). */
export interface ExchangeRequest {
  readonly subjectToken: string;
  /** Machine user, by login name or name of the record. */
  readonly clientID: string | undefined;
  readonly scope: string | undefined;
}

export interface Exchanged {
  readonly token: string;
  readonly expiresInSeconds: number;
}

interface ExchangeNeeds {
  issuers: Pick<WorkloadIssuers, 'of'>;
  accounts: AccountLookup;
  tokens: ExchangedTokens;
  /** Records the first use of a text. @returns false if it was used before, on any replica; @throws StatusError 503, 504 */
  useOnce(text: string, expiresAt: Date, signal: AbortSignal): Promise<boolean>;
  /** Reports whether the service has an operation of that id. */
  isOperation: (id: string) => boolean;
}

/** A machine user, and the entry of its record that trusts the token. */
interface Trusting {
  account: Account;
  entry: TrustedToken;
}

/** Exchanges tokens of workloads for access tokens of machine users that trust them. */
export class TokenExchange {
  readonly #services: Services;
  readonly #needs: ExchangeNeeds;
  readonly #perNetwork: RateLimit;
  readonly #inAll: RateLimit;
  readonly #audited: RateLimit;
  readonly #auditedInAll: RateLimit;

  constructor(services: Services, needs: ExchangeNeeds) {
    const { clock, config } = services;
    this.#services = services;
    this.#needs = needs;
    this.#perNetwork = new RateLimit({ limit: config.login.perMinute, clock, what: 'token exchanges' });
    this.#inAll = new RateLimit({ limit: perMinuteInAll, clock, what: 'token exchanges' });
    this.#audited = new RateLimit({ limit: auditedRefusals.ofNetwork, clock });
    this.#auditedInAll = new RateLimit({ limit: auditedRefusals.inAll, clock });
  }

  /** @throws OAuthError; StatusError 429, 503, 504 */
  async exchange({ subjectToken, clientID, scope }: ExchangeRequest, ctx: Context, signal: AbortSignal): Promise<Exchanged> {
    const { accounts, issuers, tokens, isOperation } = this.#needs;
    this.#perNetwork.require(ctx.state.source);
    this.#inAll.require('all');
    const given = requestedScope(scope, isOperation);
    requireAccounts(accounts);
    const issuer = issuers.of(subjectToken);
    if (issuer === undefined) throw this.#refuse(ctx, 'IssuerUnknown');
    const claims = await issuer.verify(subjectToken).catch((error: unknown) => {
      throw error instanceof StatusError && error.status.code === 401
        ? this.#refuse(ctx, 'TokenInvalid', { issuer, cause: error.cause })
        : error;
    });
    const { account, entry } = this.#trusting(claims, clientID, { ctx, issuer });
    const now = this.#services.now();
    const expiresAt = new Date(Math.min(claims.exp * 1000, now.getTime() + this.#services.config.tokenExchange.tokenTTL));
    const expiresInSeconds = Math.floor((expiresAt.getTime() - now.getTime()) / 1000);
    if (expiresInSeconds < 1) throw this.#refuse(ctx, 'TokenExpired', { issuer });
    if (entry.once) await this.#requireUnused(claims, { ctx, issuer }, signal);
    const exchange = { issuer: issuer.issuer, subject: claims.sub };
    const { id, text } = await tokens.create({ owner: account, exchange, scope: given, expiresAt }, signal);
    const { name, uid, subjectName } = account;
    this.#services.audit.record({
      ...auditOrigin(ctx),
      audit: 'TokenExchanged',
      actor: { name: subjectName, uid },
      target: { name, uid },
      accessToken: id,
      outcome: 'success',
      code: 200,
      issuer: issuer.id,
      workload: claims.sub,
    });
    return { token: text, expiresInSeconds };
  }

  /** Returns the one machine user that trusts the token. @throws OAuthError */
  #trusting(claims: VerifiedClaims, clientID: string | undefined, about: Refused): Trusting {
    const { accounts } = this.#needs;
    const { now, config } = this.#services;
    const named = clientID === undefined ? accounts.machineUsers() : [accounts.find(clientID) ?? accounts.get(clientID)];
    const trusting = named.flatMap((account) => {
      const entry = account?.federation?.find((one) => isTrusted(one, claims));
      return account && entry ? [{ account, entry }] : [];
    });
    const [found, another] = trusting;
    if (found === undefined) throw this.#refuse(about.ctx, 'NotTrusted', { issuer: about.issuer, claims });
    if (another !== undefined) {
      this.#record(about.ctx, 'NotNamed', { issuer: about.issuer, claims });
      throw new OAuthError('invalid_request', 'several machine users trust this token: name one of them in client_id');
    }
    const { phase } = phaseOf(found.account, now(), config.users.idleDays);
    if (phase !== 'Normal') throw this.#refuse(about.ctx, `Account${phase}`, { issuer: about.issuer, claims });
    return found;
  }

  /** @throws OAuthError for a token without a name, or one that was used before */
  async #requireUnused({ iss, jti, exp }: VerifiedClaims, { ctx, issuer }: Refused, signal: AbortSignal): Promise<void> {
    if (typeof jti !== 'string' || jti === '') throw this.#refuse(ctx, 'NoTokenID', { issuer });
    const isFirst = await this.#needs.useOnce(`exchange ${iss}\0${jti}`, new Date((exp + leewaySeconds) * 1000), signal);
    if (!isFirst) throw this.#refuse(ctx, 'TokenUsed', { issuer });
  }

  /** Records why a token is refused. The caller may be a stranger, and does not learn which users exist and what they trust. */
  #refuse(ctx: Context, reason: string, known: KnownOfToken = {}): OAuthError {
    this.#record(ctx, reason, known);
    return notAccepted(known.cause ?? new Error(reason));
  }

  /** Records a refusal. Strangers cannot fill the audit: a network has some events in a minute, and all networks together have a bound, too. */
  #record(ctx: Context, reason: string, { issuer, claims }: KnownOfToken): void {
    const origin = auditOrigin(ctx);
    if (this.#audited.take(origin.source) !== undefined || this.#auditedInAll.take('all') !== undefined) return;
    this.#services.audit.record({
      ...origin,
      audit: 'TokenExchangeRefused',
      outcome: 'failure',
      code: 400,
      reason,
      ...(issuer && { issuer: issuer.id }),
      ...(claims && { workload: claims.sub }),
    });
  }
}

/** Parts of a refused token that are known for sure. */
interface KnownOfToken {
  issuer?: WorkloadIssuer;
  /** Verified claims. */
  claims?: VerifiedClaims;
  cause?: unknown;
}

interface Refused {
  ctx: Context;
  issuer: WorkloadIssuer;
}

/** Clock skew for which an expired token is accepted. */
const leewaySeconds = 60;

/** RFC 8693 section 2.2.2 names this code for each subject token that is invalid or unacceptable. */
const notAccepted = (cause: unknown): OAuthError =>
  new OAuthError('invalid_request', 'subject_token: is not a token that this machine user trusts', { cause });
