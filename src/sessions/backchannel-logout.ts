import type { Context } from 'koa';
import type { Logger } from 'pino';
import { mapLimit } from '../api/map-limit.ts';
import { badParameter, StatusError } from '../api/status.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import { type IssuerLogin, issuerLoginOf } from '../issuer/login.ts';
import type { LogoutClaims } from '../issuer/token-verifier.ts';
import { type SessionRow, whoseSession } from './record.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import type { Sessions } from './sessions.ts';
import type { SessionStore } from './store.ts';

/** Sessions deleted on behalf of one logout token, and how many of them at once; what is left does not count, and the sweeper takes it away. */
const maxDeleted = 500;
const deletionsAtOnce = 10;
const deletionMs = 5_000;
/** Sessions that tell nothing of the issuer's session unless they are opened: those that an older release has made. */
const maxOpened = 500;

export interface BackchannelLogoutOptions {
  store: SessionStore;
  sessions: Sessions;
  revokedTokens: RevokedTokens;
  /** @throws StatusError 401, 503 */
  verify: (logoutToken: string) => Promise<LogoutClaims>;
  /** Counts logout tokens that are none. */
  refusals: RateLimit;
  /** `login.session.absolute`: nothing that was begun before counts longer. */
  absoluteMs: number;
  audit: Audit;
  log: Logger;
  now: () => Date;
}

/**
 * Ends what the issuer has ended (OpenID Connect Back-Channel Logout 1.0). That it has is written down in one object: from then on the
 * sessions and tokens do not count on any replica, whatever becomes of the rest.
 */
export class BackchannelLogout {
  readonly #options: BackchannelLogoutOptions;

  constructor(options: BackchannelLogoutOptions) {
    this.#options = options;
  }

  /** @throws StatusError 400 for a token that does not count, or counted before; 429, 503, 504 */
  async receive(ctx: Context, logoutToken: string, signal: AbortSignal): Promise<void> {
    const { source } = auditOrigin(ctx);
    this.#options.refusals.requireRoom(source);
    const claims = await this.#verified(logoutToken, source);
    const login = issuerLoginOf(claims);
    // A session that is named is all that ends, whatever else is named beside it (section 2.4).
    const ended: IssuerLogin = login.sid === undefined ? login : { sid: login.sid, sub: undefined };
    if (!(await this.#record(claims, ended, signal))) throw this.#refusal(source, 'it was used before');
    await this.#delete(ctx, ended);
  }

  async #verified(logoutToken: string, source: string): Promise<LogoutClaims> {
    try {
      return await this.#options.verify(logoutToken);
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) throw this.#refusal(source, error.cause);
      throw error;
    }
  }

  /** Why is for the log: who may send logout tokens knows what they look like. */
  #refusal(source: string, cause: unknown): StatusError {
    const { refusals, log } = this.#options;
    refusals.take(source);
    log.info({ source, reason: cause instanceof Error ? cause.message : cause }, 'a logout token was refused');
    return badParameter('logout_token', 'is not a logout token for this service that has not been used yet');
  }

  /** @returns false if that token was used before */
  #record({ iss, jti, iat }: LogoutClaims, { sid, sub }: IssuerLogin, signal: AbortSignal): Promise<boolean> {
    const { revokedTokens, absoluteMs, now } = this.#options;
    // The clocks of issuer and service may differ: tokens bear the time of the one, sessions that of the other.
    const seconds = Math.floor(Math.max(now().getTime() / 1000, iat)) + 1;
    return revokedTokens.endAtIssuer(
      {
        iss,
        jti,
        session: sid ?? sub ?? '',
        notBefore: new Date(seconds * 1000),
        expiresAt: new Date(seconds * 1000 + absoluteMs),
      },
      signal,
    );
  }

  async #delete(ctx: Context, ended: IssuerLogin): Promise<void> {
    const { store, audit, log } = this.#options;
    // Goes on when the issuer hangs up.
    const signal = AbortSignal.timeout(deletionMs);
    try {
      const rows = await this.#sessionsOf(ended);
      await mapLimit(deletionsAtOnce, rows.slice(0, maxDeleted), async (row) => {
        if (!(await store.remove(row, signal))) return;
        audit.record({
          ...auditOrigin(ctx),
          ...whoseSession(row),
          audit: 'LoggedOut',
          outcome: 'success',
          code: 200,
          reason: 'BackChannel',
        });
      });
    } catch (error) {
      log.warn({ err: error }, 'sessions that the identity provider has ended could not all be deleted yet');
    }
  }

  async #sessionsOf(ended: IssuerLogin): Promise<SessionRow[]> {
    const { store, sessions } = this.#options;
    const rows = [...store.values()];
    const unnamed: SessionRow[] = [];
    for (const row of rows.filter(({ login }) => login === undefined).slice(0, maxOpened)) {
      const session = await sessions.unseal(row);
      if (session !== undefined && isSame(session.secrets.login.issuerLogin, ended)) unnamed.push(row);
    }
    return [...rows.filter(({ login }) => login !== undefined && isSame(login, ended)), ...unnamed];
  }
}

const isSame = (login: IssuerLogin, { sid, sub }: IssuerLogin): boolean => (sid === undefined ? login.sub === sub : login.sid === sid);
