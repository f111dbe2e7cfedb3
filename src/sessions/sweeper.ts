import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ServerClock } from '../kubernetes/server-clock.ts';
import type { SessionRow } from './record.ts';
import type { RevokedTokens } from './revoked-tokens.ts';
import type { SessionStore } from './store.ts';

const everyMs = 300_000;
/** Replicas may disagree so much about the time, and tokens are accepted that much longer than they say. */
const leewayMs = 120_000;
const maxPerRun = 200;

export interface SessionSweeperOptions {
  store: SessionStore;
  revokedTokens: RevokedTokens;
  log: Logger;
  /** Whose time is the right one: what others still use must not go. */
  serverClock: Pick<ServerClock, 'isTrusted' | 'failure'>;
  now: () => Date;
  /** From 0 to 1. */
  random?: () => number;
  everyMs?: number;
}

/**
 * Deletes the objects whose time is over, and sessions that the issuer has ended. Every replica does, at times of its own, so that none
 * has to be chosen for it; what another has deleted, or used again in the meantime, is left alone.
 */
export class SessionSweeper {
  readonly #options: SessionSweeperOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: SessionSweeperOptions) {
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
    const { random = Math.random, log, everyMs: interval = everyMs } = this.#options;
    while (!signal.aborted) {
      await sleep(interval * (0.5 + random()), undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#sweep(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'what has expired could not be deleted');
      });
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, revokedTokens, now, log, serverClock } = this.#options;
    if (!serverClock.isTrusted) return log.warn({ why: serverClock.failure() }, 'nothing is deleted by the time');
    const before = now().getTime() - leewayMs;
    let removed = 0;
    const isOver = ({ idleExpiresAt, login, createdAt }: SessionRow) =>
      idleExpiresAt < before || (login !== undefined && revokedTokens.hasEndedLogin(login, createdAt));
    for (const row of [...store.values()].filter(isOver).slice(0, maxPerRun)) {
      if (await store.remove(row, signal, { isUnchanged: true })) removed += 1;
    }
    for (const row of [...revokedTokens.values()].filter((row) => row.expiresAt < before).slice(0, maxPerRun)) {
      await revokedTokens.remove(row, signal);
      removed += 1;
    }
    if (removed > 0) log.info({ removed }, 'deleted what had expired');
  }
}
