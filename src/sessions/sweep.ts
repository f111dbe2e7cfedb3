import type { Sweep } from '../controllers/sweeper.ts';
import type { RevokedTokens } from '../revocation/revoked-tokens.ts';
import type { SessionRow } from './record.ts';
import type { SessionStore } from './store.ts';

/** Covers the clock skew between replicas, and the leeway after the expiry of tokens. */
const leewayMs = 120_000;
const maxPerRun = 200;

/** Deletes Sessions and RevokedTokens that have expired, and Sessions that the issuer has ended. */
export const sessionSweep = (store: SessionStore, revokedTokens: RevokedTokens, now: () => Date): Sweep => ({
  what: 'sessions and revoked tokens',
  everyMs: 300_000,
  async sweep(signal) {
    const before = now().getTime() - leewayMs;
    let deleted = 0;
    const isOver = ({ idleExpiresAt, login, createdAt }: SessionRow) =>
      idleExpiresAt < before || (login !== undefined && revokedTokens.hasEndedLogin(login, createdAt));
    for (const row of [...store.values()].filter(isOver).slice(0, maxPerRun))
      if (await store.remove(row, signal, { isUnchanged: true })) deleted += 1;
    for (const row of [...revokedTokens.values()].filter((row) => row.expiresAt < before).slice(0, maxPerRun)) {
      await revokedTokens.remove(row, signal);
      deleted += 1;
    }
    return deleted;
  },
});
