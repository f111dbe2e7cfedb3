import type { Agent } from '@atrium/http/caller.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';

/** Sessions of agents, one for each grant. A grant is named by the SHA-256 of its id. */
export interface GrantSessions {
  /** @throws StatusError 401, 503, 504 */
  begin(ctx: Context, session: NewGrantSession, signal: AbortSignal): Promise<void>;
  /** Returns undefined if the session of the grant has ended. @throws StatusError 503, 504 */
  find(grant: string, source: string, signal: AbortSignal): Promise<object | undefined>;
  /** @throws StatusError 503, 504 */
  end(grant: string, signal: AbortSignal): Promise<void>;
}

interface NewGrantSession {
  readonly grant: string;
  /** Claims of the person. */
  readonly claims: VerifiedClaims;
  readonly agent: Omit<Agent, 'session'>;
  readonly lifetimeMs: number;
}
