import type { Context } from 'koa';
import type { Logger } from 'pino';
import { mapLimit } from '../api/map-limit.ts';
import { stateOf } from '../http/router.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { type IssuerFarewell, issuerMs } from './issuer-logout.ts';
import type { SessionRow } from './record.ts';
import type { Sessions } from './sessions.ts';

const callsAtOnce = 10;
/** A user with more sessions than this has most of them from a script, and their refresh tokens end by themselves. */
const maxRevoked = 100;

export interface IssuerRevocationOptions {
  sessions: Sessions;
  farewell: Pick<IssuerFarewell, 'end'>;
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
    await mapLimit(callsAtOnce, rows.slice(0, maxRevoked), async (row) => {
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
    const { sessions, farewell } = this.#options;
    deadline.throwIfAborted();
    const refreshToken = (await sessions.unseal(row))?.secrets.tokens.refreshToken;
    if (refreshToken !== undefined) await farewell.end(refreshToken, deadline);
  }
}
