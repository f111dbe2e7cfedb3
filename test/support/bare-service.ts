import { hash } from 'node:crypto';
import { unauthorized } from '../../src/api/status.ts';
import { tokensOnly } from '../../src/http/authenticator.ts';
import { Listener } from '../../src/http/listener.ts';
import { createLog } from '../../src/http/log.ts';
import { Metrics } from '../../src/http/metrics.ts';
import type { Operation } from '../../src/http/operation.ts';
import { requestListener } from '../../src/http/request-listener.ts';
import { RequestMiddleware, type RequestMiddlewareOptions } from '../../src/http/request-middleware.ts';
import type { RouterOptions } from '../../src/http/router.ts';

export interface BareService {
  url: string;
  port: number;
  metrics: Metrics;
  logLines: string[];
  /** How many tokens were asked about. */
  readonly judged: number;
  stop(graceMs?: number): Promise<void>;
}

interface BareServiceOptions extends Partial<RequestMiddlewareOptions & Pick<RouterOptions, 'bodyLimit' | 'corsOrigins' | 'clock'>> {
  /** How long a request may take to arrive. Default: as long as its answer. */
  arrivalTimeoutMs?: number;
}

/** The frame and the router as the service has them, around operations of the test's own. The one token it knows is `good`. */
export async function startBareService(operations: readonly Operation[], options: BareServiceOptions = {}): Promise<BareService> {
  const { bodyLimit = 1024, corsOrigins = [], clock, requestTimeoutMs = 60_000, arrivalTimeoutMs = requestTimeoutMs, ...frame } = options;
  const metrics = new Metrics();
  const logLines: string[] = [];
  let judged = 0;
  const listener = new Listener(
    requestListener(
      new RequestMiddleware({
        basePath: '',
        trustedProxies: [],
        requestTimeoutMs,
        maxInFlight: 100,
        log: createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) }),
        metrics,
        isStopping: () => false,
        ...frame,
      }),
      {
        operations,
        bodyLimit,
        corsOrigins,
        clock,
        authenticator: tokensOnly(async ({ token }) => {
          judged += 1;
          if (token !== 'good') throw unauthorized({ tokenGiven: true });
          return { token, hash: hash('sha256', token), identity: { name: 'jane', uid: '', groups: [], extra: {} } };
        }),
      },
    ),
    { host: '127.0.0.1', port: 0, requestTimeoutMs: arrivalTimeoutMs },
  );
  const port = await listener.start();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    metrics,
    logLines,
    get judged() {
      return judged;
    },
    stop: (graceMs = 0) => listener.stop(graceMs),
  };
}
