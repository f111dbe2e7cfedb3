import { hash } from 'node:crypto';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { IssuedTokens, IssuerClient, UserInfo } from '@atrium/oidc-client/client.ts';
import { IssuerFault, issuerUnavailable, type RefusalLog, TokenRefusal } from '@atrium/oidc-client/errors.ts';
import { boundedTime } from '@atrium/oidc-client/times.ts';
import type { TokenVerifier } from '@atrium/oidc-client/token-verifier.ts';
import { FatalRefresh, type RenewedTokens, type TokenSet, type VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Services } from '../services.ts';
import { completed, isIncomplete, missingIdentifyingClaims, omitsGroups, unfit, usedClaims } from './claims.ts';
import type { IssuerSettings } from './settings.ts';

/** Code of a callback, and the values that its tokens must match. */
export interface CodeRedemption {
  code: string;
  verifier: string;
  redirectURL: string;
  nonce: string;
  /** Claims of an ID token that came with the code through the browser. */
  frontChannel: VerifiedClaims | undefined;
}

/** Owner of the renewed tokens. */
export type TokenOwner = Pick<VerifiedClaims, 'iss' | 'sub'>;

/** Claims of a login from the userinfo endpoint. */
export type LearntClaims = Readonly<Record<string, unknown>>;

interface IssuerParts {
  client: IssuerClient;
  verifier: TokenVerifier;
  refusals: RefusalLog;
}

/** Failure of the userinfo endpoint. */
type Missing = Exclude<UserInfo, { claims: unknown }>;

/** An ID token with its own claims, and with all known claims. */
interface IdentifiedTokens {
  idToken: string;
  own: VerifiedClaims;
  claims: VerifiedClaims;
}

/** Turns the issuer's answers into verified tokens, and selects the credential among them. */
export class IssuerTokens {
  readonly #settings: IssuerSettings;
  readonly #client: IssuerClient;
  readonly #verifier: TokenVerifier;
  readonly #refusals: RefusalLog;
  readonly #log: Services['log'];
  readonly #now: () => Date;

  constructor({ log, now }: Pick<Services, 'log' | 'now'>, settings: IssuerSettings, { client, verifier, refusals }: IssuerParts) {
    this.#settings = settings;
    this.#client = client;
    this.#verifier = verifier;
    this.#refusals = refusals;
    this.#log = log;
    this.#now = now;
  }

  /** @throws StatusError 401 with a cause `code` or `id_token`, 503 */
  async redeem({ code, verifier, redirectURL, nonce, frontChannel }: CodeRedemption, signal: AbortSignal): Promise<TokenSet> {
    const issued = await this.#client.redeem({ code, verifier, redirectURL }, signal);
    const { idToken, accessToken } = issued;
    if (idToken === undefined) {
      const difference = { name: 'id_token', expected: 'given by the token endpoint' };
      this.#refusals.tell('ID token', new TokenRefusal('NotGiven', 'the token endpoint gave no id_token', difference));
      throw unauthorized({ tokenGiven: false });
    }
    const claims = await this.#verifier.idToken(idToken, { nonce, accessToken });
    if (frontChannel !== undefined && frontChannel.sub !== claims.sub) throw unauthorized({ tokenGiven: false });
    const { claims: known, missing } = await this.#completed(claims, accessToken, signal);
    if (missing !== undefined) this.#requireNamed(known, missing);
    const tokens = await this.#tokenSet(issued, { idToken, own: claims, claims: known });
    const length = lengthOf(tokens);
    if (length > maxTokensLength) {
      const message = `has ${length} characters with its claims, and a login keeps ${maxTokensLength}: have the issuer tell fewer groups`;
      throw unfit(message);
    }
    if (this.#settings.isForwarded) this.#requireIdentifyingClaims(tokens);
    return { ...tokens, ...this.#unknownGroups(claims, { known, missing }) };
  }

  /** Returns the tokens of a login with an ID token and no code. */
  fromIdToken(idToken: string, claims: VerifiedClaims): TokenSet {
    const used = usedClaims(claims, this.#settings);
    const tokens = { idToken, issuedAt: this.#seconds(), bearer: idToken, bearerExpiresAt: claims.exp, claims: used };
    return { ...tokens, ...this.#unknownGroups(claims, { known: used }) };
  }

  #unknownGroups(
    own: VerifiedClaims,
    { known, missing }: { known: VerifiedClaims; missing?: Missing | undefined },
  ): Pick<TokenSet, 'groupsUnknown'> {
    if (known[this.#settings.claims.groups] !== undefined) return {};
    if (omitsGroups(own, this.#settings)) return { groupsUnknown: 'kept back' };
    return missing === undefined ? {} : { groupsUnknown: 'not told' };
  }

  /**
   * Renews the tokens of a session. Tokens that the issuer does not renew are kept.
   *
   * @throws FatalRefresh if the issuer refuses, or returns another `sub` or `iss` or no valid token; StatusError 503 for temporary failures
   */
  async refresh(previous: TokenSet, signal: AbortSignal): Promise<TokenSet> {
    const tokens = await this.#refreshed(previous, signal);
    const { refreshToken } = tokens;
    if (lengthOf(tokens) > maxTokensLength) throw new FatalRefresh('the new tokens are too large to be kept', { refreshToken });
    if (tokens.bearerExpiresAt <= this.#seconds()) throw new FatalRefresh('the new tokens have expired already', { refreshToken });
    return tokens;
  }

  async #refreshed(previous: TokenSet, signal: AbortSignal): Promise<TokenSet> {
    const { refreshToken } = previous;
    if (refreshToken === undefined) throw new FatalRefresh('there is no refresh token');
    const issued = await this.#exchange(refreshToken, previous.claims, signal);
    const renewed = await this.#renewedClaims(issued, previous.claims, signal);
    const kept = { ...issued, refreshToken: issued.refreshToken ?? refreshToken };
    if (renewed !== undefined) return this.#tokenSet(kept, renewed);
    const { idToken, claims } = previous;
    const tokens = await this.#tokenSet(kept, { idToken, own: claims, claims });
    if (tokens.bearer !== previous.idToken || this.#settings.isForwarded) return tokens;
    return { ...tokens, bearerExpiresAt: Math.max(tokens.bearerExpiresAt, boundedTime(tokens.issuedAt + (issued.expiresIn ?? 0))) };
  }

  /**
   * Renews tokens for a caller who stores them.
   *
   * @param learnt is kept until the userinfo endpoint returns other claims
   * @throws as `refresh`, but accepts an answer without a valid token
   */
  async renew(
    refreshToken: string,
    { learnt, ...owner }: TokenOwner & { learnt: LearntClaims },
    signal: AbortSignal,
  ): Promise<RenewedTokens> {
    const issued = await this.#exchange(refreshToken, owner, signal);
    const kept = { ...issued, refreshToken: issued.refreshToken ?? refreshToken };
    const renewed = await this.#renewedClaims(issued, { ...learnt, ...owner }, signal);
    if (renewed !== undefined)
      return { ...(await this.#tokenSet(kept, renewed)), accessToken: issued.accessToken, refreshToken: kept.refreshToken };
    const { accessToken } = issued;
    const access = await this.#acceptedAccessToken(accessToken);
    if (access !== undefined && access.sub !== owner.sub) throw otherPerson(kept);
    const issuedAt = this.#seconds();
    const claims = access && completed(access, learnt, this.#settings);
    return {
      accessToken,
      refreshToken: kept.refreshToken,
      issuedAt,
      ...(claims && {
        bearer: accessToken,
        bearerExpiresAt: claims.exp,
        claims,
        missingClaims: missingIdentifyingClaims(access, claims, this.#settings),
      }),
    };
  }

  /** Refuses a login at another issuer, from before the setting was changed. @throws FatalRefresh, StatusError 503 */
  async #exchange(refreshToken: string, { iss }: TokenOwner, signal: AbortSignal): Promise<IssuedTokens> {
    if (iss !== this.#settings.issuer) throw new FatalRefresh('the login was at another issuer');
    return this.#client.refresh(refreshToken, signal);
  }

  #seconds(): number {
    return Math.floor(this.#now().getTime() / 1000);
  }

  /**
   * Returns undefined without a new ID token. Compares the subject before the userinfo endpoint is asked. Earlier claims are kept if that
   * endpoint fails.
   *
   * @throws FatalRefresh, StatusError 503
   */
  async #renewedClaims(issued: IssuedTokens, known: TokenOwner & LearntClaims, signal: AbortSignal): Promise<IdentifiedTokens | undefined> {
    const { idToken, accessToken } = issued;
    if (idToken === undefined) return undefined;
    try {
      const own = await this.#verifier.idToken(idToken, { accessToken });
      if (own.sub !== known.sub || own.iss !== known.iss) throw otherPerson(issued);
      const { claims, missing } = await this.#completed(own, accessToken, signal);
      return { idToken, own, claims: missing === undefined ? claims : completed(claims, known, this.#settings) };
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) throw otherPerson(issued, error);
      throw error;
    }
  }

  /**
   * Adds claims of the userinfo endpoint, an optional source whose failure costs only its claims.
   *
   * @throws StatusError 401 if the answer is about another subject
   */
  async #completed(
    claims: VerifiedClaims,
    accessToken: string,
    signal: AbortSignal,
  ): Promise<{ claims: VerifiedClaims; missing?: Missing }> {
    const used = usedClaims(claims, this.#settings);
    if (!isIncomplete(claims, this.#settings)) return { claims: used };
    const info = await this.#client.userInfo(accessToken, claims.sub, signal);
    if ('claims' in info) return { claims: completed(claims, info.claims, this.#settings) };
    this.#log.warn({ issuer: this.#settings.issuer, fault: info.fault }, 'userinfo endpoint failed: the login lacks its claims');
    return { claims: used, missing: info };
  }

  /** @throws StatusError 401, 503 for a login whose user name only the userinfo endpoint knows */
  #requireNamed(claims: VerifiedClaims, { fault, isRefused }: Missing): void {
    const { username } = this.#settings.claims;
    if (claims[username] !== undefined) return;
    const message = `has no ${username} claim, and the userinfo endpoint of the identity provider ${fault}`;
    if (!isRefused) throw issuerUnavailable(new IssuerFault(`userinfo endpoint: ${fault}`));
    throw unauthorized({ tokenGiven: false, causes: [{ reason: 'UserInfoRefused', message, field: 'id_token' }] });
  }

  /** Requires the user name in the token, because the API server ignores claims of the userinfo endpoint. @throws StatusError 401 */
  #requireIdentifyingClaims({ missingClaims = [] }: TokenSet): void {
    const { username, groups } = this.#settings.claims;
    if (missingClaims.includes(username)) {
      const message = `has no ${username} claim, and the cluster reads the token alone: have the issuer put the claim into the ID token`;
      throw unauthorized({ tokenGiven: false, causes: [{ reason: 'ClaimMissing', message, field: 'id_token' }] });
    }
    if (missingClaims.includes(groups))
      this.#log.warn(
        { issuer: this.#settings.issuer, claim: groups },
        'token without groups: the API server does not read the groups of the userinfo endpoint',
      );
  }

  async #tokenSet(issued: IssuedTokens, { idToken, own, claims }: IdentifiedTokens): Promise<TokenSet> {
    const { accessToken, refreshToken } = issued;
    const { bearer: credential } = this.#settings;
    const issuedAt = this.#seconds();
    const access = await this.#acceptedAccessToken(accessToken, claims);
    const isOpaque = access === undefined && credential === 'access_token';
    const missingClaims =
      isOpaque && this.#settings.isForwarded
        ? []
        : missingIdentifyingClaims(access ?? (isOpaque ? undefined : own), claims, this.#settings);
    const shared = {
      accessToken,
      idToken,
      ...(refreshToken !== undefined && { refreshToken }),
      issuedAt,
      claims,
      ...(missingClaims.length > 0 && { missingClaims }),
    };
    if (access !== undefined) return { ...shared, bearer: accessToken, bearerExpiresAt: access.exp };
    if (!isOpaque) return { ...shared, bearer: idToken, bearerExpiresAt: claims.exp };
    return {
      ...shared,
      bearer: accessToken,
      bearerExpiresAt: boundedTime(issuedAt + (issued.expiresIn ?? Math.max(0, claims.exp - issuedAt))),
    };
  }

  /** Returns the claims of an access token that may be the credential: it is valid, and identifies the user as the ID token does. */
  async #acceptedAccessToken(accessToken: string, idClaims?: VerifiedClaims): Promise<VerifiedClaims | undefined> {
    const { bearer: credential } = this.#settings;
    if (credential === 'id_token') return undefined;
    const verified = await this.#verifier
      .bearer({ token: accessToken, hash: hash('sha256', accessToken) }, { isSent: false })
      .catch((error: unknown) => {
        if (error instanceof StatusError && error.status.code === 401) return 'not ours' as const;
        throw error;
      });
    if (verified === 'not ours') return undefined;
    const { claims } = verified;
    if (idClaims !== undefined && claims.sub !== idClaims.sub) return undefined;
    const { username, groups } = this.#settings.claims;
    const isPoorer = [username, groups].some((name) => claims[name] === undefined && idClaims?.[name] !== undefined);
    return isPoorer && credential === 'auto' ? undefined : claims;
  }
}

/** Maximum length of the tokens. Sealed and as base64, they must fit into a Session (docs/contract/resources.md) beside its other data. */
const maxTokensLength = 95_000;

/** Returns the stored length. A Session stores the bearer only once. */
const lengthOf = ({ bearer: _bearer, ...tokens }: TokenSet): number => Buffer.byteLength(JSON.stringify(tokens));

const otherPerson = ({ refreshToken }: IssuedTokens, cause?: unknown) =>
  new FatalRefresh('the new tokens are not those of the same person', { cause, refreshToken });
