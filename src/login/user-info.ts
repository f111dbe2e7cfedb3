import { cleaned } from '../api/shown-text.ts';
import type { Identity } from '../http/operation.ts';
import { emailOf } from '../issuer/claims.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import type { VerifiedLogin } from '../issuer/verified-login.ts';
import type { Services } from '../services.ts';
import { type RenewPayload, timeText } from '../sessions/renew-payload.ts';
import type { Account } from '../users/record/account.ts';
import { recordName } from '../users/record/name.ts';
import { phaseOf } from '../users/record/phase.ts';
import type { UserInfo } from './schema.ts';

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
}

/** Returns the UserInfo (docs/contract/login.md). Unknown members are omitted. */
export function userInfoOf(person: Person, { config, now }: Pick<Services, 'config' | 'now'>): UserInfo {
  const { identity, login, account, tokenStorage, expiresAt, returnTo, token } = person;
  const claims = login?.claims;
  const email = claims && emailOf(claims);
  const hasExtra = Object.keys(identity.extra).length > 0;
  return {
    name: identity.name,
    uid: identity.uid || (claims?.sub ?? ''),
    groups: [...new Set(identity.groups)].filter((group) => !group.startsWith('system:')),
    ...(email !== undefined && { email }),
    ext: {
      ...(login && claimsInfo(login)),
      ...(account && accountInfo(account, now(), config.users.idleDays)),
      ...(expiresAt !== undefined && { expires_at: timeText(expiresAt) }),
      ...(tokenStorage && { token_storage: tokenStorage }),
      ...(hasExtra && { extra: Object.fromEntries(Object.entries(identity.extra).map(([key, values]) => [key, [...values]])) }),
      ...(returnTo !== undefined && { return_to: returnTo }),
      ...(token && { token }),
    },
  };
}

function claimsInfo({ claims, issuer, name: login }: VerifiedLogin): UserInfo['ext'] {
  const rules = issuer.settings;
  const shown = rules.extClaims.filter((name) => claims[name] !== undefined).map((name) => [name, claims[name]]);
  const name = displayNameOf(claims);
  const record = recordName(login);
  return {
    ...(record !== undefined && { user: record }),
    ...(name !== undefined && { display_name: name }),
    issuer: rules.issuer,
    claims: Object.fromEntries(shown),
  };
}

const accountInfo = (account: Account, now: Date, idleDays: number): UserInfo['ext'] => ({
  user: account.name,
  ...(account.username !== '' && { display_name: account.username }),
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
