import { hash } from 'node:crypto';
import { tokensOnly } from '@atrium/http/authenticator.ts';
import { ClientAddresses } from '@atrium/http/client-address.ts';
import { Listener } from '@atrium/http/listener.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { type ChainOptions, requestChain } from '@atrium/http/request-listener.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { unauthorized } from '@atrium/objects/status.ts';

export interface BareService {
  url: string;
  port: number;
  metrics: Metrics;
  logLines: string[];
  /** Number of tokens that were reviewed. */
  readonly judged: number;
  /** Returns the requests of that kind, by the metrics. */
  inFlight(kind: string): Promise<number>;
  stop(graceMs?: number): Promise<unknown>;
}

interface BareServiceOptions extends Partial<Omit<ChainOptions, 'addresses' | 'authenticator' | 'operations'>> {
  trustedProxies?: readonly string[];
  /** Default: 127.0.0.1. */
  host?: string;
  /** Milliseconds for a request to arrive. Default: `requestTimeoutMs`. */
  arrivalTimeoutMs?: number;
  /** Delays the review of a token. */
  authenticate?: () => Promise<void>;
}

/** Starts the request chain of the service around operations of the test. The only accepted token is `good`. */
export async function startBareService(operations: readonly Operation[], options: BareServiceOptions = {}): Promise<BareService> {
  const {
    trustedProxies = [],
    host = '127.0.0.1',
    requestTimeoutMs = 60_000,
    arrivalTimeoutMs = requestTimeoutMs,
    authenticate,
    ...given
  } = options;
  const metrics = new Metrics();
  const logLines: string[] = [];
  const log = createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) });
  let judged = 0;
  const { listener: handle } = requestChain({
    basePath: '',
    addresses: new ClientAddresses(trustedProxies, log),
    bodyLimit: 1024,
    corsOrigins: [],
    requestTimeoutMs,
    maxInFlight: 100,
    log,
    metrics,
    isStopping: () => false,
    ...given,
    operations,
    authenticator: tokensOnly(async ({ token }) => {
      judged += 1;
      await authenticate?.();
      if (token !== 'good') throw unauthorized({ tokenGiven: true });
      return { token, hash: hash('sha256', token), identity: { name: 'jane', uid: '', groups: [], extra: {} } };
    }),
  });
  const listener = new Listener(handle, { host, port: 0, requestTimeoutMs: arrivalTimeoutMs });
  const port = await listener.start();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    metrics,
    logLines,
    get judged() {
      return judged;
    },
    async inFlight(kind) {
      const metric = await metrics.registry.getSingleMetric('atrium_http_requests_in_flight')?.get();
      return metric?.values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
    },
    stop: (graceMs = 0) => listener.stop(graceMs),
  };
}
