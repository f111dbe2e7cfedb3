import type { Seal } from '@atrium/http/seal.ts';
import { unauthorized } from '@atrium/objects/status.ts';
import type { RenewedTokens, TokenSet, VerifiedToken } from '@atrium/oidc-client/types.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import { loginOf } from './claims.ts';
import type { IssuerSettings } from './settings.ts';

/** Prefix of the bearer tokens of this service. */
export const sealedBearerPrefix = 'atb.';
/** Form of these tokens, with the id of the issuer. */
const form = /^atb\.(?<id>[a-z0-9-]{1,63})\.(?<sealed>.+)$/;
/** Clock skew after the expiry, equal to that of bearer tokens of the issuer. */
const leewaySeconds = 60;
/** Maximum length that fits the header limit beside 8 KiB of other headers. */
const maxBearerLength = 56 * 1024;

const claimsSchema = z.looseObject({ iss: z.string(), sub: z.string(), exp: z.number(), iat: z.number() });

/** Returns the id of the issuer and the seal in a bearer token of this service; undefined for any other token. */
export function readSealedBearer(token: string): { id: string; sealed: string } | undefined {
  const { id, sealed } = form.exec(token)?.groups ?? {};
  return id === undefined || sealed === undefined ? undefined : { id, sealed };
}

/**
 * Bearer tokens of this service for logins whose issuer puts claims into the userinfo response only (OpenID Connect Core 5.4): the sealed
 * claims. Every replica can open them. The API server receives none of them, because calls impersonate the user.
 */
export class SealedBearers {
  readonly #settings: IssuerSettings;
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ keyRing, now }: Pick<Services, 'keyRing' | 'now'>, settings: IssuerSettings) {
    this.#settings = settings;
    this.#seal = keyRing.sealFor(JSON.stringify(['bearer token', settings.issuer, settings.clientID]));
    this.#now = now;
  }

  /** Returns the tokens for a caller who stores them. @throws StatusError 401 if they are too long for a request; 503 without a key */
  handOut<T extends TokenSet | RenewedTokens>(tokens: T): T {
    const handedOut = this.#sealed(tokens);
    const length = handedOut.bearer?.length ?? 0;
    if (length <= maxBearerLength) return handedOut;
    const room = `has ${length} characters, and a request has room for ${maxBearerLength}`;
    const message = `${room}: log in with token_storage=cookie, or have the issuer tell fewer groups`;
    throw unauthorized({ tokenGiven: false, causes: [{ reason: 'TokenTooLarge', message, field: 'id_token' }] });
  }

  #sealed<T extends TokenSet | RenewedTokens>(tokens: T): T {
    const { missingClaims = [], claims, bearerExpiresAt } = tokens;
    const { id, isForwarded } = this.#settings;
    if (isForwarded || missingClaims.length === 0 || claims === undefined) return tokens;
    const sealed = this.#seal.seal(JSON.stringify({ ...claims, exp: bearerExpiresAt ?? claims.exp }));
    return { ...tokens, bearer: `atb.${id}.${sealed}` };
  }

  /** @throws StatusError 401; 503 without a key */
  async open(sealed: string): Promise<VerifiedToken> {
    const text = this.#settings.isForwarded ? undefined : await this.#seal.open(sealed);
    const claims = text === undefined ? undefined : claimsSchema.safeParse(JSON.parse(text)).data;
    if (claims === undefined) throw unauthorized({ tokenGiven: true });
    if (this.#now().getTime() / 1000 >= claims.exp + leewaySeconds)
      throw unauthorized({ tokenGiven: true, causes: [{ reason: 'TokenExpired', message: 'the token has expired' }] });
    return { claims, login: loginOf(claims, this.#settings), isAccessToken: false };
  }
}
