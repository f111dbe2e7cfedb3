import type { Context } from 'koa';
import { mapLimit } from '../api/map-limit.ts';
import { abortable } from '../kubernetes/deadline.ts';
import type { SessionContext } from './context.ts';
import { issuerMs } from './issuer-logout.ts';
import type { SessionRow } from './record.ts';

const callsAtOnce = 10;
/** A user with more sessions has most of them from a script. Further refresh tokens expire without revocation. */
const maxRevoked = 100;

/**
 * Revokes the refresh tokens of sessions that have ended here at the issuer. Never throws: failures are logged, and reported in a Warning.
 */
export async function revokeAtIssuer(
  { sessions, farewell, log }: SessionContext,
  ctx: Context,
  rows: readonly SessionRow[],
): Promise<void> {
  const deadline = AbortSignal.timeout(issuerMs);
  const failures: unknown[] = rows.length > maxRevoked ? [new Error(`${rows.length} sessions at once`)] : [];
  const revoke = async (row: SessionRow) => {
    deadline.throwIfAborted();
    const secrets = (await sessions.unseal(row))?.secrets;
    if (secrets !== undefined) await farewell.end(secrets.login, secrets.tokens.refreshToken, deadline);
  };
  await mapLimit(callsAtOnce, rows.slice(0, maxRevoked), async (row) => {
    await abortable(revoke(row), deadline).catch((error: unknown) => failures.push(error));
  });
  const [first] = failures;
  if (first === undefined) return;
  const requestId = ctx.state.requestId;
  log.warn({ requestId, failed: failures.length, err: first }, 'the identity provider did not hear of ended sessions');
  ctx.set('Warning', '199 - "identity provider not reached"');
}
