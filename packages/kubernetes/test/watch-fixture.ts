import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { type Change, WatchCache, type WatchCacheOptions, type WatchCacheParts } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { WatchTimes } from '@atrium/kubernetes/watch/watch-loop.ts';
import { type Answer, clientOf, FakeApiServer, silentLog, status } from './fake-api-server.ts';
import { FakeResource } from './fake-resource.ts';

export const things = { group: 'example.org', version: 'v1', resource: 'things' };
export const path = '/apis/example.org/v1/things';
export const times: WatchTimes = { minWatchSeconds: 20, maxWatchSeconds: 20, silenceMs: 15_000, minPauseMs: 5, maxPauseMs: 40 };

export async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error(`still not: ${isTrue}`);
    await sleep(2);
  }
}

export const say =
  (text: string | Buffer): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
  };
export const reset = (response: ServerResponse) => void response.socket?.resetAndDestroy();
export const cut: Answer = (_request, response) => reset(response);
export const nothing: Answer = () => undefined;
export const refuse =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    status(response, code, 'Refused', headers);

/** Options that differ from those of most tests. */
interface Differences {
  options?: Partial<WatchCacheOptions<string>>;
  times?: Partial<WatchTimes>;
  requestTimeoutMs?: number;
  /** Monotonic clock of the client. */
  clock?: () => number;
  parts?: Partial<WatchCacheParts>;
}

/** A watch cache of three objects (a, b and c), its server, and the records of both. */
export class WatchTest {
  readonly server: FakeApiServer;
  readonly metrics = new Metrics();
  readonly changes: Change<string>[] = [];
  resource = new FakeResource(path);
  client: KubernetesClient;
  cache: WatchCache<string>;

  private constructor(server: FakeApiServer) {
    this.server = server;
    this.client = clientOf(server);
    this.cache = this.#build({});
  }

  static async start(): Promise<WatchTest> {
    const test = new WatchTest(await new FakeApiServer().start());
    for (const [name, data] of [
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ] as const)
      test.resource.put(name, data);
    test.server.answer(test.resource.answer);
    return test;
  }

  create({ requestTimeoutMs = 5_000, clock, ...differences }: Differences = {}): void {
    this.client = clientOf(this.server, requestTimeoutMs, this.metrics, clock);
    this.cache = this.#build(differences);
    this.changes.length = 0;
    this.cache.onChange((change) => this.changes.push(change));
  }

  /** Starts the cache, and waits until it watches. */
  async begin(differences: Differences = {}): Promise<void> {
    this.create(differences);
    this.cache.start();
    await this.cache.whenSynced();
    await until(() => this.resource.watchers === 1);
  }

  async stop(): Promise<void> {
    await this.cache.stop();
    await this.client.close();
    await this.server.stop();
  }

  rows() {
    return Object.fromEntries(this.cache.entries());
  }

  readonly isEqual = (): boolean => {
    const stored = [...this.resource.objects].map(([key, { data }]) => [key, data]);
    return JSON.stringify([...this.cache.entries()].sort()) === JSON.stringify(stored.sort());
  };

  watches() {
    return this.server.requests.filter(({ query }) => query.has('watch'));
  }

  lists() {
    return this.server.requests.filter(({ query }) => !query.has('watch'));
  }

  #build({ options, times: own, parts }: Differences): WatchCache<string> {
    return new WatchCache<string>(
      { client: this.client.asService, log: silentLog, metrics: this.metrics, times: { ...times, ...own }, ...parts },
      { name: 'things', type: things, keep: ({ data }) => (data === 'unwanted' ? undefined : String(data)), ...options },
    );
  }
}
