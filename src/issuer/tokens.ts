import { StatusError, unauthorized } from '../api/status.ts';
import type { Services } from '../services.ts';
import { completed, isIncomplete, unfit, usedClaims } from './claims.ts';
import type { IssuedTokens, IssuerClient } from './client.ts';
import { type RefusalLog, TokenRefusal } from './refusal-log.ts';
import type { TokenVerifier } from './token-verifier.ts';
import { FatalRefresh, type IssuerSettings, type RenewedTokens, type TokenSet, type VerifiedClaims } from './types.ts';

/** A code that came back, and what it must agree with. */
export interface CodeRedemption {
  code: string;
  verifier: string;
  redirectURL: string;
  nonce: string;
  /** The claims of an ID token that came through the browser beside the code. */
  frontChannel: VerifiedClaims | undefined;
}

/** Whose tokens are renewed. */
export type TokenOwner = Pick<VerifiedClaims, 'iss' | 'sub'>;

interface IssuerParts {
  client: IssuerClient;
  verifier: TokenVerifier;
  refusals: RefusalLog;
}

/** From what the issuer gives to tokens that hold, with the one among them that is the credential. */
export class IssuerTokens {
  readonly #settings: IssuerSettings;
  readonly #client: IssuerClient;
  readonly #verifier: TokenVerifier;
  readonly #refusals: RefusalLog;
  readonly #now: () => Date;

  constructor({ now }: Pick<Services, 'now'>, settings: IssuerSettings, { client, verifier, refusals }: IssuerParts) {
    this.#settings = settings;
    this.#client = client;
    this.#verifier = verifier;
    this.#refusals = refusals;
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
    const tokens = await this.#tokenSet(issued, { idToken, claims: await this.#completed(claims, accessToken, signal) });
    if (isTooLarge(tokens)) throw unfit('is too large to be kept');
    return tokens;
  }

  /** Of a login that brought an ID token and no code. */
  fromIdToken(idToken: string, claims: VerifiedClaims): TokenSet {
    const used = usedClaims(claims, this.#settings);
    return { idToken, issuedAt: this.#seconds(), bearer: idToken, bearerExpiresAt: claims.exp, claims: used };
  }

  /**
   * Renews the tokens of a session. What the issuer does not renew stays.
   *
   * @throws FatalRefresh if the issuer says no, another `sub` or `iss` comes back, or nothing that counts; StatusError 503 for whatever passes
   */
  async refresh(previous: TokenSet, signal: AbortSignal): Promise<TokenSet> {
    const tokens = await this.#refreshed(previous, signal);
    const { refreshToken } = tokens;
    if (isTooLarge(tokens)) throw new FatalRefresh('the new tokens are too large to be kept', { refreshToken });
    if (tokens.bearerExpiresAt <= this.#seconds()) throw new FatalRefresh('the issuer gave nothing that counts', { refreshToken });
    return tokens;
  }

  async #refreshed(previous: TokenSet, signal: AbortSignal): Promise<TokenSet> {
    const { refreshToken } = previous;
    if (refreshToken === undefined) throw new FatalRefresh('there is no refresh token');
    const issued = await this.#exchange(refreshToken, previous.claims, signal);
    const renewed = await this.#renewedClaims(issued, previous.claims, signal);
    const claims = renewed && completed(renewed.claims, renewed.isWhole ? {} : previous.claims, this.#settings);
    const kept = { ...issued, refreshToken: issued.refreshToken ?? refreshToken };
    if (claims !== undefined && issued.idToken !== undefined) return this.#tokenSet(kept, { idToken: issued.idToken, claims });
    const tokens = await this.#tokenSet(kept, { idToken: previous.idToken, claims: previous.claims });
    if (tokens.bearer !== previous.idToken || this.#settings.isForwarded) return tokens;
    return { ...tokens, bearerExpiresAt: Math.max(tokens.bearerExpiresAt, tokens.issuedAt + (issued.expiresIn ?? 0)) };
  }

  /** Renews for a caller who keeps the tokens. @throws as `refresh`, but that nothing that counts need come */
  async renew(refreshToken: string, owner: TokenOwner, signal: AbortSignal): Promise<RenewedTokens> {
    const issued = await this.#exchange(refreshToken, owner, signal);
    const kept = { ...issued, refreshToken: issued.refreshToken ?? refreshToken };
    const renewed = await this.#renewedClaims(issued, owner, signal);
    if (renewed !== undefined && issued.idToken !== undefined) {
      const { claims, isWhole } = renewed;
      const tokens = await this.#tokenSet(kept, { idToken: issued.idToken, claims });
      return { ...tokens, accessToken: issued.accessToken, refreshToken: kept.refreshToken, claims: isWhole ? claims : undefined };
    }
    const { accessToken } = issued;
    const access = await this.#acceptedAccessToken(accessToken);
    if (access !== undefined && access.sub !== owner.sub) throw otherPerson(kept);
    const issuedAt = this.#seconds();
    return {
      accessToken,
      refreshToken: kept.refreshToken,
      issuedAt,
      ...(access && { bearer: accessToken, bearerExpiresAt: access.exp, claims: access }),
    };
  }

  /** A login at another issuer, before the setting was changed, is none of the present one's business. @throws FatalRefresh, StatusError 503 */
  async #exchange(refreshToken: string, { iss }: TokenOwner, signal: AbortSignal): Promise<IssuedTokens> {
    if (iss !== this.#settings.issuer) throw new FatalRefresh('the login was at another issuer');
    return this.#client.refresh(refreshToken, signal);
  }

  #seconds(): number {
    return Math.floor(this.#now().getTime() / 1000);
  }

  /**
   * Undefined without a new ID token. The subject is compared before the userinfo endpoint is asked. While the userinfo endpoint is out
   * of reach, the claims are not whole: the old refresh token may be worth nothing by now, so the new one must not be lost.
   *
   * @throws FatalRefresh, StatusError 503
   */
  async #renewedClaims(issued: IssuedTokens, owner: TokenOwner, signal: AbortSignal) {
    const { idToken, accessToken } = issued;
    if (idToken === undefined) return undefined;
    try {
      const claims = await this.#verifier.idToken(idToken, { accessToken });
      if (claims.sub !== owner.sub || claims.iss !== owner.iss) throw otherPerson(issued);
      return await this.#completed(claims, accessToken, signal).then(
        (whole) => ({ claims: whole, isWhole: true }),
        (error: unknown) => {
          if (error instanceof StatusError && error.status.code === 503)
            return { claims: usedClaims(claims, this.#settings), isWhole: false };
          throw error;
        },
      );
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) throw otherPerson(issued, error);
      throw error;
    }
  }

  /** @throws StatusError 401 if the userinfo endpoint tells of another subject, 503 if it fails where the user name is missing */
  async #completed(claims: VerifiedClaims, accessToken: string, signal: AbortSignal): Promise<VerifiedClaims> {
    if (!isIncomplete(claims, this.#settings)) return usedClaims(claims, this.#settings);
    return completed(claims, (await this.#client.userInfo(accessToken, claims.sub, signal)) ?? {}, this.#settings);
  }

  async #tokenSet(issued: IssuedTokens, { idToken, claims }: { idToken: string; claims: VerifiedClaims }): Promise<TokenSet> {
    const { accessToken, refreshToken } = issued;
    const issuedAt = this.#seconds();
    const shared = { accessToken, idToken, ...(refreshToken !== undefined && { refreshToken }), issuedAt, claims };
    const access = await this.#acceptedAccessToken(accessToken, claims);
    if (access !== undefined) return { ...shared, bearer: accessToken, bearerExpiresAt: access.exp };
    if (this.#settings.bearer !== 'access_token') return { ...shared, bearer: idToken, bearerExpiresAt: claims.exp };
    return { ...shared, bearer: accessToken, bearerExpiresAt: issuedAt + (issued.expiresIn ?? Math.max(0, claims.exp - issuedAt)) };
  }

  /** The claims of an access token that may be the credential: one that we accept, and that tells what the ID token tells of the user. */
  async #acceptedAccessToken(accessToken: string, idClaims?: VerifiedClaims): Promise<VerifiedClaims | undefined> {
    const { bearer: credential } = this.#settings;
    if (credential === 'id_token') return undefined;
    const verified = await this.#verifier.bearer(accessToken, { isSent: false }).catch((error: unknown) => {
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

/** Sealed, and as base64, they have to fit into a Session (docs/contract/resources.md) beside what else it holds. */
const maxTokensLength = 90_000;

const isTooLarge = (tokens: TokenSet): boolean => JSON.stringify(tokens).length > maxTokensLength;

const otherPerson = ({ refreshToken }: IssuedTokens, cause?: unknown) =>
  new FatalRefresh('the new tokens are not those of the same person', { cause, refreshToken });
