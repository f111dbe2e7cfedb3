/** Usage from a Prometheus, asked through the service proxy of the API server with the rights of the caller. */
import type { Caller } from '@atrium/http/caller.ts';
import { readAtMost } from '@atrium/http/outgoing.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import { Deadline } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { proxiedService } from '../config/metrics-section.ts';
import type { Services } from '../services.ts';
import type { Series } from './queries.ts';
import type { Range } from './schema.ts';
import type { UsagePoint } from './usage-ring.ts';

const timeoutMs = 20_000;
/** Bound of an answer: some 200 points take 10 KB. */
const maxAnswerBytes = 1024 * 1024;

/** Seconds of each range, and between two points. */
const spans: Readonly<Record<Range, { seconds: number; step: number }>> = {
  '1h': { seconds: 3600, step: 60 },
  '6h': { seconds: 6 * 3600, step: 300 },
  '1d': { seconds: 24 * 3600, step: 900 },
  '7d': { seconds: 7 * 24 * 3600, step: 3600 },
};
/** Shortest window of a rate, which must hold two scrapes. */
const minWindowSeconds = 300;

const matrix = z.object({
  status: z.literal('success'),
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(z.object({ values: z.array(z.tuple([z.number(), z.string()])) })).max(1),
  }),
});

interface Asking {
  range: Range;
  caller: Caller;
  signal: AbortSignal;
}

export interface History {
  start: number;
  end: number;
  stepSeconds: number;
  points: UsagePoint[];
}

export class Prometheus {
  readonly #service: ReturnType<typeof proxiedService>;
  readonly #access: AccessReviews;
  readonly #apiServer: KubernetesClient;
  readonly #now: () => Date;

  /** @param address value of `console.metrics.prometheus` */
  constructor({ access, apiServer, now }: Services, address: string) {
    this.#service = proxiedService(address);
    this.#access = access;
    this.#apiServer = apiServer;
    this.#now = now;
  }

  /** @throws StatusError 403 without the right to the service proxy; 429; 503 and 504 if Prometheus does not answer */
  async history(series: Series, { range, caller, signal }: Asking): Promise<History> {
    await this.#access.require(caller, { verb: 'get', group: '', resource: 'services', subresource: 'proxy', ...this.#service }, signal);
    const { seconds, step } = spans[range];
    const end = Math.floor(this.#now().getTime() / 1000 / step) * step;
    const [start, window] = [end - seconds, `${Math.max(minWindowSeconds, step)}s`];
    const deadline = new Deadline(signal, timeoutMs);
    try {
      const ask = (query: string) => this.#values({ query, start: String(start), end: String(end), step: String(step) }, caller, deadline);
      const [cpu, memory, count, measured] = await Promise.all(
        [series.cpu, series.memory, series.count, series.measured].map((query) => ask(query(window))),
      );
      const points = Array.from({ length: seconds / step + 1 }, (_, index): UsagePoint => {
        const time = start + index * step;
        const found = count?.get(time);
        if (found === undefined) return { time, count: measured?.has(time) ? 0 : null, cpu: null, memory: null };
        return { time, count: found, cpu: cpu?.get(time) ?? null, memory: memory?.get(time) ?? null };
      });
      return { start, end, stepSeconds: step, points };
    } finally {
      deadline.end();
    }
  }

  /** Returns the values of the one series by their time; empty without one. */
  async #values(parameters: Record<string, string>, caller: Caller, deadline: Deadline): Promise<ReadonlyMap<number, number>> {
    const { namespace, name } = this.#service;
    const path = `/api/v1/namespaces/${namespace}/services/${name}/proxy/api/v1/query_range`;
    const query = new URLSearchParams({ ...parameters, timeout: `${timeoutMs / 1000}s` });
    try {
      const { body } = await this.#apiServer
        .asCaller(caller)
        .stream({ call: 'get services/proxy', method: 'GET', path, query, isLong: false, signal: deadline.signal });
      const bytes = await readAtMost(body, maxAnswerBytes);
      if (bytes === undefined) throw new Error(`the answer has more than ${maxAnswerBytes} bytes`);
      const { data } = matrix.parse(JSON.parse(bytes.toString()));
      return new Map(
        (data.result[0]?.values ?? []).map(([time, value]) => [time, Number(value)] as const).filter(([, value]) => Number.isFinite(value)),
      );
    } catch (error) {
      if (deadline.signal.aborted && !deadline.hasPassed) throw error;
      throw notAnswered(this.#service, deadline.hasPassed, error);
    }
  }
}

/** Reports a failed answer. Its text may come from any program behind the Service, and is not shown. */
const notAnswered = ({ namespace, name }: { namespace: string; name: string }, isLate: boolean, cause: unknown) =>
  new StatusError(
    isLate ? 504 : 503,
    isLate ? 'Timeout' : 'ServiceUnavailable',
    `Prometheus (services/${name} in ${namespace}) gave no answer that can be read; check console.metrics.prometheus`,
    { cause, details: { retryAfterSeconds: 10 } },
  );
