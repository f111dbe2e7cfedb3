import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import type { ServerClock } from '../kubernetes/server-clock.ts';
import type { AccessTokenRow } from './row.ts';
import { removeToken } from './store.ts';

const everyMs = 3_600_000;
const maxPerRun = 200;

export interface AccessTokenSweeperOptions {
  client: ServiceClient;
  tokens: { values(): Iterable<AccessTokenRow> };
  log: Logger;
  /** Whose time is the right one: what others still use must not go. */
  serverClock: Pick<ServerClock, 'isTrusted' | 'failure'>;
  now: () => Date;
  /** How long its owner can still see in the list that a token has expired. */
  keptMs?: number;
  everyMs?: number;
}

/**
 * Deletes tokens some time after they expired. Every replica does, at times of its own, so that none has to be chosen for it; what
 * another one has deleted is as good.
 */
export class AccessTokenSweeper {
  readonly #options: AccessTokenSweeperOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: AccessTokenSweeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { log, everyMs: interval = everyMs } = this.#options;
    while (!signal.aborted) {
      await sleep(interval * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#sweep(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'expired access tokens could not be deleted');
      });
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { client, tokens, log, now, serverClock, keptMs = 7 * 86_400_000 } = this.#options;
    if (!serverClock.isTrusted) return log.warn({ why: serverClock.failure() }, 'no access token is deleted by the time');
    const before = now().getTime() - keptMs;
    const expired = [...tokens.values()].filter(({ expiresAt }) => expiresAt !== undefined && expiresAt < before).slice(0, maxPerRun);
    for (const row of expired) await removeToken(client, row, { signal });
    if (expired.length > 0) log.info({ removed: expired.length }, 'deleted expired access tokens');
  }
}
