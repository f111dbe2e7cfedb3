import type { Context } from 'koa';
import { StatusError } from '../api/status.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { stateOf } from '../http/router.ts';
import { type AccountState, sessionEnded } from './account-state.ts';
import { type LoginProofOptions, type ProvenSession, proofOf } from './login-proof.ts';
import { whoseSession } from './record.ts';
import type { LocalRenewal } from './refresh-local.ts';
import { type RenewPayload, sessionPayload } from './renew-payload.ts';
import type { SessionRenewal } from './renewal.ts';
import type { Session } from './sessions.ts';

export interface RefreshOptions extends LoginProofOptions {
  renewal: SessionRenewal;
  local: LocalRenewal;
  accountState: AccountState;
  /** Ends tokens at the issuer; never throws. */
  discard: (refreshToken: string) => Promise<void>;
  audit: Audit;
}

/** Renewal on demand (docs/contract/login.md): of the session that the browser's cookie stands for, else of tokens that the caller keeps. */
export class Refresh {
  readonly #options: RefreshOptions;

  constructor(options: RefreshOptions) {
    this.#options = options;
  }

  /** @throws StatusError 400, 401, 403, 429, 503 */
  async answer(ctx: Context, refreshToken: string, signal: AbortSignal): Promise<RenewPayload> {
    const { cookie, local } = this.#options;
    const secret = cookie.read(ctx);
    try {
      const proof = await this.#proof(ctx, { secret, refreshToken });
      if ('sealed' in proof) return await local.renew(refreshToken, proof.sealed, auditOrigin(ctx), signal);
      return sessionPayload((await this.#ofSession(ctx, proof, signal)).secrets);
    } catch (error) {
      if (secret !== undefined && error instanceof StatusError && error.status.code === 401) cookie.expire(ctx);
      throw error;
    }
  }

  async #proof(ctx: Context, given: Parameters<typeof proofOf>[1]): ReturnType<typeof proofOf> {
    try {
      return await proofOf(ctx, given, this.#options);
    } catch (error) {
      const code = error instanceof StatusError ? error.status.code : undefined;
      if (code === 401) this.#options.audit.record({ ...auditOrigin(ctx), audit: 'RefreshFailed', outcome: 'failure', code });
      throw error;
    }
  }

  async #ofSession(ctx: Context, { session, isCurrent }: ProvenSession, signal: AbortSignal): Promise<Session> {
    const { renewal, accountState, now } = this.#options;
    await accountState.whenKnown(signal);
    await accountState.whenCaughtUp(session.row, signal);
    const refusal = accountState.refusalOfSession(session);
    if (refusal !== undefined) return this.#end(ctx, session, refusal);
    if (!isCurrent) return session;
    const { refreshToken, bearerExpiresAt } = session.secrets.tokens;
    if (refreshToken !== undefined) return renewal.renew(session, signal, auditOrigin(ctx));
    // The issuer gave nothing to renew with: the tokens go on until their end.
    if (now().getTime() / 1000 < bearerExpiresAt) return session;
    return this.#end(ctx, session, sessionEnded());
  }

  /** Never returns. */
  async #end(ctx: Context, session: Session, error: StatusError): Promise<never> {
    const { sessions, discard, audit } = this.#options;
    const { row, secrets } = session;
    await sessions.end(session, stateOf(ctx).signal);
    if (secrets.tokens.refreshToken !== undefined) await discard(secrets.tokens.refreshToken);
    audit.record({ ...auditOrigin(ctx), ...whoseSession(row), audit: 'RefreshFailed', outcome: 'failure', code: error.status.code });
    throw error;
  }
}
