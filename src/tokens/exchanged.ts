import type { Sweep } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { Collection } from '@atrium/lists/collection.ts';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import type { GivenScope } from './scope.ts';
import { type AccessTokenRow, type ExchangedFor, removeToken, storeToken } from './store.ts';
import { isOf } from './strategy.ts';
import { newToken } from './token-text.ts';

/** Tokens of a machine user. Jobs of a pipeline begin by the hundred; another one ends the oldest. */
const maxPerUser = 500;
/** Deletions by one request, which may follow a setting that was larger. */
const maxEnded = 50;

interface NewExchangedToken {
  owner: Account;
  exchange: ExchangedFor;
  scope: GivenScope | undefined;
  expiresAt: Date;
}

/** Creates access tokens that workloads get for tokens of their own issuers. */
export class ExchangedTokens {
  readonly #services: Pick<Services, 'client' | 'now'>;
  readonly #tokens: Collection<AccessTokenRow>;

  constructor(services: Pick<Services, 'client' | 'now'>, tokens: Collection<AccessTokenRow>) {
    this.#services = services;
    this.#tokens = tokens;
  }

  /** Creates a token, and ends the oldest ones of a user with too many. @throws StatusError 503, 504 */
  async create({ owner, exchange, scope, expiresAt }: NewExchangedToken, signal: AbortSignal): Promise<{ id: string; text: string }> {
    const { client, now } = this.#services;
    const { cache, rows } = this.#tokens;
    const own = [...(await rows(signal))].filter((row) => row.exchange !== undefined && isOf(row, owner));
    const oldest = own.toSorted((one, other) => one.createdAt - other.createdAt).slice(0, Math.max(0, own.length + 1 - maxPerUser));
    for (const row of oldest.slice(0, maxEnded)) await removeToken(client, row, { signal });
    const { id, text, tokenHash } = newToken(scope);
    const token = { id, owner, subject: undefined, description: 'Token exchange', scope, tokenHash, issuedAt: now(), expiresAt, exchange };
    const stored = await storeToken(client, token, { isDryRun: false, signal });
    await cache.waitForWrite(stored.metadata.resourceVersion, signal);
    return { id, text };
  }
}

const maxPerRun = 500;

/** Deletes exchanged tokens soon after they expired. Many are made, and the audit has each of them. */
export const exchangedTokenSweep = (
  { client, now }: Pick<Services, 'client' | 'now'>,
  tokens: { values(): Iterable<AccessTokenRow> },
): Sweep => ({
  what: 'exchanged tokens',
  everyMs: 120_000,
  async sweep(signal) {
    const time = now().getTime();
    const isExpired = ({ exchange, expiresAt }: AccessTokenRow) => exchange !== undefined && expiresAt !== undefined && expiresAt < time;
    const expired = [...tokens.values()].filter(isExpired).slice(0, maxPerRun);
    for (const row of expired) await removeToken(client, row, { signal });
    return expired.length;
  },
});
