import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { Bearer, Identity } from '@atrium/http/caller.ts';
import { atMostBytes, textBytes } from '@atrium/http/limits/bounded-cache.ts';
import { timestampOf } from '@atrium/kubernetes/clock.ts';
import { isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { cleaned } from '@atrium/objects/object-schemas.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import { LRUCache } from 'lru-cache';
import { completed, emailOf, isIncomplete } from '../issuer/claims.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import type { Services } from '../services.ts';
import type { SessionContext } from '../sessions/context.ts';
import type { RenewPayload } from '../sessions/schema.ts';
import { type Account, recordName } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import type { UserInfo } from './schema.ts';

/** Bound of the completed logins: some 10,000. */
const maxBytes = 32 * 1024 * 1024;

/** Identifies callers (docs/contract/login.md). */
export class Info {
  readonly #identifyBearer: Authenticator['identify'];
  readonly #login: SessionContext | undefined;
  /** Logins with the claims of the userinfo endpoint, by hash of the token. */
  readonly #completed = new LRUCache<string, VerifiedLogin>(
    atMostBytes(maxBytes, ({ claims }: VerifiedLogin) => textBytes(JSON.stringify(claims))),
  );

  /** @param login undefined if no login is configured: then all tokens are verified by the API server alone */
  constructor(identify: Authenticator['identify'], login: SessionContext | undefined) {
    this.#identifyBearer = identify;
    this.#login = login;
  }

  /** @throws StatusError 401, 503, 504 */
  async of(bearer: Bearer, signal: AbortSignal): Promise<Person> {
    const known = bearer.session === undefined ? await this.#ofToken(bearer, signal) : await this.#ofSession(bearer.session);
    const identity = bearer.actAs ?? (await this.#identify(bearer, known.login, signal));
    return { ...known, identity, account: bearer.user === undefined ? undefined : this.#login?.accounts.get(bearer.user) };
  }

  async #ofSession(name: string): Promise<Omit<Person, 'identity'>> {
    const session = await this.#login?.sessions.current(name);
    if (session === undefined) return {};
    return { login: session.verified, tokenStorage: 'cookie', expiresAt: session.secrets.tokens.bearerExpiresAt };
  }

  async #ofToken(bearer: Bearer, signal: AbortSignal): Promise<Omit<Person, 'identity'>> {
    const verified = await this.#login?.issuers.bearer(bearer);
    if (verified === undefined || verified === 'not ours') return {};
    const login = verified.isAccessToken ? await this.#complete(bearer, verified.login, signal) : verified.login;
    return { login, tokenStorage: 'local', expiresAt: login.claims.exp };
  }

  /** Adds claims that an access token lacks, from the userinfo endpoint, once. Omits them while the endpoint cannot be reached. */
  async #complete({ token, hash }: Bearer, login: VerifiedLogin, signal: AbortSignal): Promise<VerifiedLogin> {
    const { claims, issuer } = login;
    if (!isIncomplete(claims, issuer.settings)) return login;
    const known = this.#completed.get(hash);
    if (known !== undefined) return known;
    const info = await issuer.client.userInfo(token, claims.sub, signal);
    if ('fault' in info && !info.isRefused) return login;
    const whole = new VerifiedLogin(issuer, completed(claims, 'claims' in info ? info.claims : {}, issuer.settings));
    this.#completed.set(hash, whole);
    return whole;
  }

  /** Returns the identity from the API server; from the claims while the API server cannot be reached. */
  async #identify(bearer: Bearer, login: VerifiedLogin | undefined, signal: AbortSignal): Promise<Identity> {
    try {
      return (await this.#identifyBearer(bearer, signal)).identity;
    } catch (error) {
      const isOutOfReach = error instanceof StatusError && error.status.code >= 500;
      if (!isOutOfReach || login === undefined) throw error;
      return login.identity;
    }
  }
}

/** User with all sources of their UserInfo. */
export interface Person {
  identity: Identity;
  /** Undefined for a token that only the API server verifies. */
  login?: VerifiedLogin | undefined;
  account?: Account | undefined;
  tokenStorage?: 'cookie' | 'local' | undefined;
  /** Unix seconds. */
  expiresAt?: number | undefined;
  /** Set in the callback only, like `token`. */
  returnTo?: string | undefined;
  token?: RenewPayload | undefined;
  /** Not known in the callback. */
  hasAuditAlert?: boolean;
}

/** Returns the UserInfo (docs/contract/login.md). Unknown members are omitted. */
export function userInfoOf(person: Person, { config, now }: Pick<Services, 'config' | 'now'>): UserInfo {
  const { identity, login, account, tokenStorage, expiresAt, returnTo, token, hasAuditAlert } = person;
  const claims = login?.claims;
  const email = claims && emailOf(claims);
  const user = account?.name ?? (login && recordName(login.name));
  const displayName = account?.username || (claims && displayNameOf(claims));
  const hasExtra = Object.keys(identity.extra).length > 0;
  return {
    name: identity.name,
    uid: identity.uid || (claims?.sub ?? ''),
    groups: [...new Set(identity.groups)].filter((group) => !isReservedName(group)),
    ...(email !== undefined && { email }),
    ext: {
      ...(user !== undefined && { user }),
      ...(displayName !== undefined && { display_name: displayName }),
      ...(login && claimsInfo(login)),
      ...(account && accountInfo(account, now(), config.users.idleDays)),
      ...(expiresAt !== undefined && { expires_at: timestampOf(expiresAt) }),
      ...(tokenStorage && { token_storage: tokenStorage }),
      ...(hasExtra && { extra: Object.fromEntries(Object.entries(identity.extra).map(([key, values]) => [key, [...values]])) }),
      ...(hasAuditAlert && { audit_alert: true as const }),
      ...(returnTo !== undefined && { return_to: returnTo }),
      ...(token && { token }),
    },
  };
}

function claimsInfo({ claims, issuer: { settings } }: VerifiedLogin): UserInfo['ext'] {
  const shown = settings.extClaims.filter((name) => claims[name] !== undefined).map((name) => [name, claims[name]]);
  return { issuer: settings.issuer, claims: Object.fromEntries(shown) };
}

const accountInfo = (account: Account, now: Date, idleDays: number): UserInfo['ext'] => ({
  connector_id: account.connectorID,
  connector_type: account.connectorType,
  is_admin: account.isAdmin,
  phase: phaseOf(account, now, idleDays).phase,
  must_change_password: account.mustChangePassword,
});

/** Returns the display name in the claims, for a user without a record, or without a name in it. */
export function displayNameOf({ name, preferred_username: preferred }: VerifiedClaims): string | undefined {
  const told = [name, preferred].filter((value) => typeof value === 'string').map(cleaned);
  return told.find((value) => value !== '');
}
