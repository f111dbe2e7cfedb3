import { notReady } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { type Operation, operation } from './operation.ts';

const probePath = /\/(livez|readyz|healthz)$/;

/** Reports whether a path is that of a health probe: answered under any load, and too frequent for the log. */
export const isProbe = (path: string): boolean => probePath.test(path);

/** A named condition. `failure()` returns the reason of a failure. Only a `critical` check makes the replica unready. */
export interface Check {
  name: string;
  critical: boolean;
  /** True for a check that is critical while the replica starts: requests would fail here that another replica can answer. */
  isAwaited?: true;
  failure(): string | undefined;
}

/** Milliseconds after which awaited checks no longer make a new replica unready: they may fail on all replicas. */
const startMs = 15_000;

/** Text of the API server. */
const withheld = 'reason withheld';

const text = { 'text/plain': z.string().meta({ examples: ['ok'] }) };

/** Readiness of this replica: its checks, and its shutdown. */
export class Health {
  readonly #checks: Check[] = [];
  readonly #clock: () => number;
  readonly #begunAt: number;
  #isStarting = true;
  #isStopping = false;

  /** @param clock milliseconds that only ever grow */
  constructor({ clock = () => performance.now() }: { clock?: () => number } = {}) {
    this.#clock = clock;
    this.#begunAt = clock();
  }

  add(check: Check): void {
    this.#checks.push(check);
  }

  /** Makes `/readyz` answer 503, so that load balancers send no new requests while the open ones finish. */
  stop(): void {
    this.#isStopping = true;
  }

  readonly isStopping = (): boolean => this.#isStopping;

  #results(): { name: string; critical: boolean; why: string | undefined }[] {
    const results = this.#checks.map((check) => ({ ...check, why: check.failure() }));
    this.#isStarting &&= this.#clock() - this.#begunAt < startMs && results.some(({ isAwaited, why }) => isAwaited && why !== undefined);
    return [
      ...results.map(({ name, critical, isAwaited = false, why }) => ({
        name,
        critical: critical || (isAwaited && this.#isStarting),
        why,
      })),
      { name: 'shutdown', critical: true, why: this.#isStopping ? 'stopping' : undefined },
    ];
  }

  /**
   * Writes a line for each check as the API server does: `[+]name ok`, `[-]name failed: why`.
   *
   * @throws StatusError 503 with a cause for each failed check
   */
  #report(showsReasons: boolean): string {
    const results = this.#results().map((result) => (showsReasons || result.why === undefined ? result : { ...result, why: withheld }));
    const failed = results.filter(({ critical, why }) => critical && why !== undefined);
    if (failed.length > 0) throw notReady(failed.map(({ name, why = '' }) => ({ reason: name, message: why })));
    const lines = results.map(({ name, why }) => (why === undefined ? `[+]${name} ok` : `[-]${name} failed (not critical): ${why}`));
    return `${lines.join('\n')}\nreadyz check passed\n`;
  }

  /** @param showsReasons whether callers may know why a check fails: a reason can name hosts and objects of the cluster */
  operations({ showsReasons }: { showsReasons: boolean }): Operation[] {
    return [
      livenessOperation('Livez', '/livez'),
      livenessOperation('Healthz', '/healthz'),
      operation({
        id: 'Readyz',
        method: 'GET',
        paths: ['/readyz'],
        ignoredQuery: 'all',
        places: 'none',
        tag: 'operations',
        summary: 'Reports whether this replica should receive requests',
        description:
          'Names an API server or issuer that cannot be reached. The replica stays ready then, because static files still work and a restart would not help. After its start a replica becomes ready when it has read the state that replicas share, and after 15 seconds at the latest.',
        credential: 'none',
        query: z.object({ verbose: z.string().optional().describe('Names every check. Reasons are shown on the metrics port only.') }),
        answers: { 200: { description: '`ok`, or the checks', content: text } },
        handle: ({ ctx, query }) => {
          const report = this.#report(showsReasons);
          ctx.body = query.verbose === undefined ? 'ok' : report;
        },
      }),
    ];
  }
}

const livenessOperation = (id: string, path: string): Operation =>
  operation({
    id,
    method: 'GET',
    paths: [path],
    ignoredQuery: 'all',
    places: 'none',
    tag: 'operations',
    summary: 'Reports whether the process lives',
    credential: 'none',
    answers: { 200: { description: '`ok`', content: text } },
    handle({ ctx }) {
      ctx.body = 'ok';
    },
  });
