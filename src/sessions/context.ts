import type { Authenticator } from '@atrium/http/authenticator.ts';
import type { HostCookie } from '@atrium/http/cookies/cookies.ts';
import type { RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { Issuers } from '../issuer/issuers.ts';
import type { EndAccess } from '../revocation/end-access.ts';
import type { RevokedTokens } from '../revocation/revoked-tokens.ts';
import type { Services } from '../services.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { AccountState } from './account-state.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import type { CrossSiteRule } from './cross-site.ts';
import type { IssuerLogout } from './issuer-logout.ts';
import type { SealedRefreshTokens } from './sealed-refresh-tokens.ts';
import type { SessionStore } from './store.ts';

/** Dependencies of the functions in this folder, assembled by `createSessions`. */
export interface SessionContext extends Services {
  readonly issuers: Issuers;
  readonly accounts: AccountLookup;
  /** Asks the API server for the owner of a token. */
  readonly identify: Authenticator['identify'];
  /** Counts login requests, and requests with a session that does not exist. */
  readonly limit: RateLimit;
  /** Cookie of a session (docs/contract/login.md). The value is a secret, without further content. */
  readonly cookie: HostCookie;
  readonly crossSite: CrossSiteRule;
  readonly store: SessionStore;
  readonly sessions: BrowserSessions;
  readonly revokedTokens: RevokedTokens;
  readonly endAccess: EndAccess;
  readonly accountState: AccountState;
  readonly seals: SealedRefreshTokens;
  readonly farewell: IssuerLogout;
}
