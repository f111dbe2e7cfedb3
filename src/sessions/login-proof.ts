import type { Context } from 'koa';
import { badParameter, StatusError } from '../api/status.ts';
import { stateOf } from '../http/router.ts';
import { sessionEnded } from './account-state.ts';
import type { SessionCookie } from './cookie.ts';
import { type ProvenSession, provenSession, type SessionProofOptions } from './proof.ts';
import type { RefreshSeals, SealedLogin } from './refresh-seal.ts';

export type { ProvenSession };

export interface LoginProofOptions extends SessionProofOptions {
  seals: RefreshSeals;
  /** Whether `login.tokenStorage` lists `local`. */
  isLocalOffered: boolean;
  cookie: SessionCookie;
}

/** What came with a request: the secret of the cookie, if it has one, and what the interface calls `refresh_token`. */
interface Given {
  secret: string | undefined;
  refreshToken: string;
}

/**
 * What a request that renews or ends a login proves to hold: the session of its cookie with the handle, or else a seal. What is neither
 * costs no call upstream. Only such requests count in `login.perMinute`.
 *
 * @throws StatusError 400, 401, 403, 429, 503
 */
export async function proofOf(
  ctx: Context,
  { secret, refreshToken }: Given,
  options: LoginProofOptions,
): Promise<ProvenSession | { sealed: SealedLogin }> {
  const { seals, isLocalOffered, cookie, limit } = options;
  if (secret !== undefined) {
    try {
      return await provenSession(ctx, { secret, handle: refreshToken }, options);
    } catch (error) {
      if (!isLocalOffered || !(error instanceof StatusError) || error.status.code !== 401) throw error;
      // The cookie is one of a session that has ended; it says nothing about tokens that the caller keeps.
      cookie.expire(ctx);
    }
  } else if (!isLocalOffered) throw badParameter('refresh_token', 'is the handle of a session, and its cookie was not sent');
  const sealed = await seals.open(refreshToken);
  if (sealed !== undefined) return { sealed };
  if (secret === undefined) limit.require(stateOf(ctx).source);
  throw sessionEnded();
}
