import { StatusError, unauthorized } from '../api/status.ts';
import type { Services } from '../services.ts';
import { completed, isIncomplete, keepsGroupsBack, unfit, untoldBy, usedClaims } from './claims.ts';
import type { IssuedTokens, IssuerClient, UserInfo } from './client.ts';
import { IssuerFault, issuerUnavailable } from './errors.ts';
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

/** Claims of a login that the userinfo endpoint told. */
export type LearntClaims = Readonly<Record<string, unknown>>;

interface IssuerParts {
  client: IssuerClient;
  verifier: TokenVerifier;
  refusals: RefusalLog;
}

/** Why the userinfo endpoint told nothing. */
type Missing = Exclude<UserInfo, { claims: unknown }>;

/** An ID token with the claims that it has itself, and with those that are known beside it. */
interface IdentifiedTokens {
  idToken: string;
  own: VerifiedClaims;
  claims: VerifiedClaims;
}

/** From what the issuer gives to tokens that hold, with the one among them that is the credential. */
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
    if (this.#settings.isForwarded) this.#requireTold(tokens);
    return { ...tokens, ...this.#unknownGroups(claims, { known, missing }) };
  }

  /** Of a login that brought an ID token and no code. */
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
    if (keepsGroupsBack(own, this.#settings)) return { groupsUnknown: 'kept back' };
    return missing === undefined ? {} : { groupsUnknown: 'not told' };
  }

  /**
   * Renews the tokens of a session. What the issuer does not renew stays.
   *
   * @throws FatalRefresh if the issuer says no, another `sub` or `iss` comes back, or nothing that counts; StatusError 503 for whatever passes
   */
  async refresh(previous: TokenSet, signal: AbortSignal): Promise<TokenSet> {
    const tokens = await this.#refreshed(previous, signal);
    const { refreshToken } = tokens;
    if (lengthOf(tokens) > maxTokensLength) throw new FatalRefresh('the new tokens are too large to be kept', { refreshToken });
    if (tokens.bearerExpiresAt <= this.#seconds()) throw new FatalRefresh('the issuer gave nothing that counts', { refreshToken });
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
    return { ...tokens, bearerExpiresAt: Math.max(tokens.bearerExpiresAt, tokens.issuedAt + (issued.expiresIn ?? 0)) };
  }

  /**
   * Renews for a caller who keeps the tokens.
   *
   * @param learnt holds for as long as the userinfo endpoint tells no others
   * @throws as `refresh`, but that nothing that counts need come
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
        untold: untoldBy(access, claims, this.#settings),
      }),
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
   * Undefined without a new ID token. The subject is compared before the userinfo endpoint is asked. Claims that it does not tell this time
   * stay as they were: no answer is no change.
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
   * With claims of the userinfo endpoint, an optional source whose failure costs no more than its claims.
   *
   * @throws StatusError 401 if it tells of another subject
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
    this.#log.warn(
      { issuer: this.#settings.issuer, fault: info.fault },
      'the userinfo endpoint of the identity provider told nothing: its claims are missing from a login',
    );
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

  /** Where the API server reads the token itself, claims of the userinfo endpoint do not count there. @throws StatusError 401 */
  #requireTold({ untold = [] }: TokenSet): void {
    const { username, groups } = this.#settings.claims;
    if (untold.includes(username)) {
      const message = `has no ${username} claim, and the cluster reads the token alone: have the issuer put the claim into the ID token`;
      throw unauthorized({ tokenGiven: false, causes: [{ reason: 'ClaimMissing', message, field: 'id_token' }] });
    }
    if (untold.includes(groups))
      this.#log.warn(
        { issuer: this.#settings.issuer, claim: groups },
        'the cluster reads the token alone, which has no groups: those of the userinfo endpoint do not count there',
      );
  }

  async #tokenSet(issued: IssuedTokens, { idToken, own, claims }: IdentifiedTokens): Promise<TokenSet> {
    const { accessToken, refreshToken } = issued;
    const { bearer: credential } = this.#settings;
    const issuedAt = this.#seconds();
    const access = await this.#acceptedAccessToken(accessToken, claims);
    const isOpaque = access === undefined && credential === 'access_token';
    const untold = isOpaque && this.#settings.isForwarded ? [] : untoldBy(access ?? (isOpaque ? undefined : own), claims, this.#settings);
    const shared = {
      accessToken,
      idToken,
      ...(refreshToken !== undefined && { refreshToken }),
      issuedAt,
      claims,
      ...(untold.length > 0 && { untold }),
    };
    if (access !== undefined) return { ...shared, bearer: accessToken, bearerExpiresAt: access.exp };
    if (!isOpaque) return { ...shared, bearer: idToken, bearerExpiresAt: claims.exp };
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
const maxTokensLength = 95_000;

/** Kept once, whichever of the tokens is the bearer. */
const lengthOf = ({ bearer: _bearer, ...tokens }: TokenSet): number => Buffer.byteLength(JSON.stringify(tokens));

const otherPerson = ({ refreshToken }: IssuedTokens, cause?: unknown) =>
  new FatalRefresh('the new tokens are not those of the same person', { cause, refreshToken });
