import type { Sweep } from '../controllers/sweeper.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import type { AccessTokenRow } from './row.ts';
import { removeToken } from './store.ts';

/** Retention after expiry, during which the owner still sees the expired token in the list. */
const keptMs = 7 * 86_400_000;
const maxPerRun = 200;

/** Deletes access tokens a week after they expired. */
export const accessTokenSweep = (client: ServiceClient, tokens: { values(): Iterable<AccessTokenRow> }, now: () => Date): Sweep => ({
  what: 'access tokens',
  everyMs: 3_600_000,
  async sweep(signal) {
    const before = now().getTime() - keptMs;
    const expired = [...tokens.values()].filter(({ expiresAt }) => expiresAt !== undefined && expiresAt < before).slice(0, maxPerRun);
    for (const row of expired) await removeToken(client, row, { signal });
    return expired.length;
  },
});
