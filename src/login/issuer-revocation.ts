import type { Context } from 'koa';
import type { Logger } from 'pino';
import { stateOf } from '../http/router.ts';
import { abortable } from './abortable.ts';
import { atATime } from './at-a-time.ts';
import type { SessionRow } from './session-record.ts';
import type { Sessions } from './sessions.ts';
import { FatalRefresh } from './types.ts';

/** The contract gives the issuer three seconds of a log-out; the rest is for our own part. */
export const issuerMs = 2_500;
const callsAtOnce = 10;
/** Whoever has more sessions than this has most of them from a script, and their refresh tokens end by themselves. */
const maxRevoked = 100;

export interface IssuerRevocationOptions {
  sessions: Sessions;
  /** Ends a token at the issuer. @throws FatalRefresh if it does not know the token, StatusError 503 */
  endToken: (refreshToken: string, signal: AbortSignal) => Promise<void>;
  log: Logger;
}

/** Ends at the issuer what sessions that have ended here could have been renewed with. */
export class IssuerRevocation {
  readonly #options: IssuerRevocationOptions;

  constructor(options: IssuerRevocationOptions) {
    this.#options = options;
  }

  /** Never throws: what the issuer does not hear of is said in a Warning, and logged. */
  async revoke(ctx: Context, rows: readonly SessionRow[]): Promise<void> {
    const { log } = this.#options;
    const deadline = AbortSignal.timeout(issuerMs);
    const failures: unknown[] = rows.length > maxRevoked ? [new Error(`${rows.length} sessions at once`)] : [];
    await atATime(callsAtOnce, rows.slice(0, maxRevoked), async (row) => {
      await abortable(this.#revokeOne(row, deadline), deadline).catch((error: unknown) => failures.push(error));
    });
    const [first] = failures;
    if (first === undefined) return;
    log.warn(
      { requestId: stateOf(ctx).requestId, failed: failures.length, err: first },
      'the identity provider did not hear of ended sessions',
    );
    ctx.set('Warning', '199 - "identity provider not reached"');
  }

  async #revokeOne(row: SessionRow, deadline: AbortSignal): Promise<void> {
    const { sessions, endToken } = this.#options;
    deadline.throwIfAborted();
    const refreshToken = (await sessions.unseal(row))?.secrets.tokens.refreshToken;
    if (refreshToken === undefined) return;
    await endToken(refreshToken, deadline).catch((error: unknown) => {
      // It does not know the token any more: then it has ended.
      if (!(error instanceof FatalRefresh)) throw error;
    });
  }
}
