import type { Seal } from '@atrium/http/seal.ts';
import { timesIn } from '@atrium/oidc-client/times.ts';
import type { RenewedTokens, TokenSet } from '@atrium/oidc-client/types.ts';
import { z } from 'zod';
import type { Issuer } from '../issuer/issuer.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { IssuerSettings } from '../issuer/settings.ts';
import type { LearntClaims } from '../issuer/tokens.ts';
import { bearerRevocation, type IssuedBearer } from '../revocation/revoked-tokens.ts';
import type { Services } from '../services.ts';
import { type LoginFacts, loginFactsSchema } from './login-facts.ts';

/** Maximum length of `refresh_token` in the API. */
const maxSealLength = 8192;
/** Form of a seal (`keys/seal.ts`). Any other text is refused at no cost. */
const form = /^[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{40,}$/;
/** Form of a seal among several issuers, with the id of its issuer. */
const marked = /^atr\.(?<id>[a-z0-9-]{1,63})\.(?<sealed>.*)$/;
/** Maximum of bearer tokens that a seal remembers until they expire. The newest ones are remembered. */
const maxRemembered = 4;

/** Content of the seal of a caller who stores tokens (docs/contract/login.md), which the caller cannot read. */
interface SealContent {
  readonly login: LoginFacts;
  /** Refresh token of the issuer; missing if it returned none. */
  readonly refreshToken?: string;
  /** Bearer tokens that may still be valid. */
  readonly bearers: readonly IssuedBearer[];
  /** Claims that only the userinfo endpoint returns. A renewal keeps them if the endpoint fails. */
  readonly learnt?: LearntClaims;
}

/** Content of a seal, with its issuer. */
export interface SealedLogin extends SealContent {
  readonly issuer: Issuer;
}

const sealContent = z.object({
  login: loginFactsSchema,
  refreshToken: z.string().exactOptional(),
  bearers: z.array(z.object({ name: z.string(), iat: z.number(), exp: z.number() })),
  learnt: z.record(z.string(), z.unknown()).exactOptional(),
});

/** Seals refresh tokens for callers who store them. Only this service can open the seals. */
export class SealedRefreshTokens {
  readonly #services: Pick<Services, 'log' | 'now'>;
  readonly #issuers: Issuers;
  readonly #seals: ReadonlyMap<Issuer, Seal>;

  constructor(services: Pick<Services, 'keyRing' | 'log' | 'now'>, issuers: Issuers) {
    this.#services = services;
    this.#issuers = issuers;
    // Each issuer and client has its own seal, because the issuer of the login would otherwise be unknown.
    const sealOf = ({ issuer, clientID }: IssuerSettings) => services.keyRing.sealFor(JSON.stringify(['refresh token', issuer, clientID]));
    this.#seals = new Map(Array.from(issuers.all(), (issuer) => [issuer, sealOf(issuer.settings)]));
  }

  /** Opens a seal; undefined for any other text. @throws StatusError 503 while there are no keys */
  async open(text: string): Promise<SealedLogin | undefined> {
    const { id, sealed = text } = marked.exec(text)?.groups ?? {};
    if (!form.test(sealed)) return undefined;
    for (const [issuer, seal] of this.#seals) {
      if (id !== undefined && issuer !== this.#issuers.named(id)) continue;
      const opened = await seal.open(sealed);
      if (opened === undefined) continue;
      const content = sealContent.safeParse(JSON.parse(opened)).data;
      return content && { ...content, issuer };
    }
    return undefined;
  }

  /**
   * Seals a login, with the tokens that the caller receives beside the seal.
   *
   * @param before earlier bearer tokens of the same login
   * @throws StatusError 503 while there is no key
   */
  async write(
    { login, issuer }: Pick<SealedLogin, 'login' | 'issuer'>,
    tokens: TokenSet | RenewedTokens,
    before: readonly IssuedBearer[] = [],
  ): Promise<string> {
    const bearers = this.#remembered(tokens, before);
    const { refreshToken } = tokens;
    if (refreshToken === undefined) return this.#write(issuer, { login, bearers });
    const learnt = learntClaims(tokens);
    const { [issuer.settings.claims.groups]: _groups, ...withoutGroups } = learnt;
    for (const kept of [learnt, withoutGroups]) {
      const whole = this.#write(issuer, { login, bearers, refreshToken, ...(Object.keys(kept).length > 0 && { learnt: kept }) });
      if (whole.length <= maxSealLength) return whole;
    }
    // Logout works without the refresh token, but renewal does not: the token has no further use.
    this.#services.log.warn(
      { length: refreshToken.length },
      'refresh token of the identity provider is too long for clients that store tokens: use token_storage=cookie',
    );
    await issuer.discard(refreshToken);
    return this.#write(issuer, { login, bearers });
  }

  #write(issuer: Issuer, content: SealContent): string {
    const seal = this.#seals.get(issuer);
    if (seal === undefined) throw new Error('the issuer of the login is not configured');
    const { id, isOneOfSeveral } = issuer.settings;
    return `${isOneOfSeveral ? `atr.${id}.` : ''}${seal.seal(JSON.stringify(content))}`;
  }

  #remembered({ bearer, idToken, issuedAt, bearerExpiresAt }: TokenSet | RenewedTokens, before: readonly IssuedBearer[]): IssuedBearer[] {
    const times = { issuedAt, expiresAt: bearerExpiresAt ?? issuedAt };
    const given = [...new Set([bearer, idToken])].flatMap((token) => (token === undefined ? [] : issuedBearer(token, times)));
    const now = this.#services.now().getTime() / 1000;
    const known = new Set(given.map(({ name }) => name));
    return [...given, ...before.filter(({ name, exp }) => exp > now && !known.has(name))].slice(0, maxRemembered);
  }
}

function learntClaims({ missingClaims = [], claims }: TokenSet | RenewedTokens): LearntClaims {
  const names = missingClaims.includes('email') ? [...missingClaims, 'email_verified'] : missingClaims;
  return Object.fromEntries(names.flatMap((name) => (claims?.[name] === undefined ? [] : [[name, claims[name]]])));
}

/** Returns the name and times of a bearer token. A JWT has its own times; for other tokens the issuer's times are used. */
function issuedBearer(token: string, { issuedAt, expiresAt }: { issuedAt: number; expiresAt: number }): IssuedBearer {
  const { iat = issuedAt, exp = expiresAt } = timesIn(token);
  return { name: bearerRevocation(token), iat, exp };
}
