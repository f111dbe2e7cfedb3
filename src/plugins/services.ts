import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { reportPlaces } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { lookupOf, type Network } from '@atrium/http/outgoing.ts';
import type { Histogram } from '@atrium/http/telemetry/metrics.ts';
import { beginCall, type OutgoingCall } from '@atrium/http/telemetry/tracing.ts';
import { RefreshedValue } from '@atrium/kubernetes/connection.ts';
import { Deadline } from '@atrium/kubernetes/deadline.ts';
import type { UpstreamResponse } from '@atrium/kubernetes/transport.ts';
import { StatusError, serviceUnavailable, timedOut } from '@atrium/objects/status.ts';
import { LRUCache } from 'lru-cache';
import { Agent, buildConnector } from 'undici';
import type { Services } from '../services.ts';
import type { ServiceReference } from './console-plugins.ts';

/** Bound of request and answer bodies (docs/contract/console.md). */
export const maxBytes = 10 * 1024 * 1024;

/** Bounds of the requests to one plugin, whose flows take turns. */
const turns = { atOnce: 64, ofFlow: 12, maxOfFlow: 64, maxWaiting: 256, what: 'requests to the plugin are under way' };
const connectTimeoutMs = 5_000;
/** Idle connections may be lost without notice. */
const maxIdleMs = 20_000;
/** Bound of agents, one for each set of certificate authorities. An evicted agent closes after its requests. */
const maxAgents = 64;

interface ServiceRequest {
  /** Label of the metrics. */
  call: 'asset' | 'manifest' | 'proxy';
  plugin: string;
  service: ServiceReference;
  /** PEM that replaces the configured certificate authorities. */
  caCertificate?: string | undefined;
  method: string;
  /** Escaped path below the base path, without its first slash. */
  path: string;
  /** Query without its question mark. */
  query?: string;
  headers: Record<string, string>;
  /** Body, streamed. */
  body?: Readable | undefined;
  /** Timeout until the last byte of the answer. */
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * HTTPS client for the Services of plugins. Addresses each by its name in the cluster, which the certificate must contain, sends only the
 * given headers and `User-Agent`, and follows no redirects.
 */
export class PluginServices {
  readonly #times: Histogram<'call' | 'outcome'>;
  readonly #network: Network;
  /** Address of the API server, which plugins may not reach. */
  readonly #forbidden: ForbiddenTarget;
  readonly #authorities: RefreshedValue<string | undefined>;
  /** Bounds requests, so that a hanging plugin blocks neither other plugins nor the console. */
  readonly #turns = new KeyedSemaphore(turns);
  /** Agents by certificate authorities. */
  readonly #agents = new LRUCache<string, Agent>({ max: maxAgents, dispose: (agent) => void agent.close().catch(() => undefined) });

  /** @param apiServerURL address that plugins may not reach */
  constructor({ config, metrics }: Pick<Services, 'config' | 'metrics'>, apiServerURL: string, network: Network) {
    const { caFile } = config.console.plugins;
    this.#times = metrics.histogram({
      name: 'atrium_plugin_request_duration_seconds',
      help: 'Time until the Service of a console plugin answered with headers, by call and outcome (status code, timeout, aborted or unreachable).',
      labelNames: ['call', 'outcome'],
      buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    });
    reportPlaces(metrics, 'plugins', this.#turns);
    this.#network = network;
    this.#forbidden = forbiddenTarget(apiServerURL);
    this.#authorities = new RefreshedValue(async () => (caFile === undefined ? undefined : readFile(caFile, 'utf8')));
  }

  /**
   * Sends the request, and returns the answer with its unread body, which the caller has to read or destroy.
   *
   * @throws StatusError 429 if too many requests are in progress, 503 if the Service cannot be reached, 504 after the timeout
   */
  async request(request: ServiceRequest): Promise<UpstreamResponse> {
    const deadline = new Deadline(request.signal, request.timeoutMs);
    const endTimer = this.#times.startTimer({ call: request.call });
    const call = { name: `plugin ${request.call}`, method: request.method, server: hostOf(request.service) };
    const outgoing = beginCall(call, endTimer);
    try {
      const send = () => this.#send(request, outgoing.headers, deadline.signal);
      const answer = await this.#turns.hold(request.plugin, send, ({ body }) => body, deadline.signal);
      outgoing.end(answer.statusCode);
      answer.body.once('close', () => deadline.end());
      // The reader of the body gets the error too. Without a listener, an error before the first read would end the process.
      answer.body.on('error', () => undefined);
      return answer;
    } catch (error) {
      outgoing.end(deadline.hasPassed ? 'timeout' : deadline.signal.aborted ? 'aborted' : 'unreachable');
      deadline.end();
      if (request.signal.aborted) throw request.signal.reason;
      if (error instanceof StatusError) throw error;
      throw deadline.hasPassed ? timedOut('the plugin', { cause: error }) : serviceUnavailable('the plugin', { cause: error });
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  async #send(request: ServiceRequest, traceHeaders: OutgoingCall['headers'], signal: AbortSignal): Promise<UpstreamResponse> {
    const { service, method, path, query, headers, body } = request;
    const agent = this.#agentFor(request.caCertificate ?? (await this.#authorities.get()));
    const options = {
      origin: `https://${hostOf(service)}:${service.port}`,
      path: `${service.basePath}/${path}${query ? `?${query}` : ''}`,
      method,
      headers: { 'user-agent': 'atrium', ...headers, ...traceHeaders },
      body: body ?? null,
      signal,
    };
    try {
      return await agent.request(options);
    } catch (error) {
      // Retries once, in case the Service has closed a kept-alive connection.
      if (signal.aborted || body !== undefined || !['GET', 'HEAD'].includes(method) || !isLost(error)) throw error;
      return agent.request(options);
    }
  }

  #agentFor(ca: string | undefined): Agent {
    const key = ca ?? '';
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      agent = new Agent({
        connect: this.#connector(ca),
        connections: turns.atOnce,
        pipelining: 1,
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: maxIdleMs,
        keepAliveMaxTimeout: maxIdleMs,
        maxResponseSize: maxBytes,
      });
      this.#agents.set(key, agent);
    }
    return agent;
  }

  #connector(ca: string | undefined): buildConnector.connector {
    return (options, callback) => {
      const lookup = guardedLookup(this.#network, this.#forbidden, Number(options.port));
      buildConnector({
        ...(ca !== undefined && { ca }),
        lookup,
        timeout: connectTimeoutMs,
        rejectUnauthorized: true,
        maxCachedSessions: 0,
      })(options, callback);
    };
  }
}

const hostOf = ({ name, namespace }: ServiceReference) => `${name}.${namespace}.svc`;

const isLost = (error: unknown) =>
  error instanceof Error && 'code' in error && ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(String(error.code));

/** Host and port of the API server, which plugins may not reach. */
interface ForbiddenTarget {
  readonly hostname: string;
  readonly port: number;
}

function forbiddenTarget(serverURL: string): ForbiddenTarget {
  const { hostname, port, protocol } = new URL(serverURL);
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'http:' ? 80 : 443) };
}

/**
 * Returns a `lookup` for a single connection. Connections use the checked addresses, so that DNS rebinding has no effect. A refused
 * address refuses the name.
 */
function guardedLookup(network: Network, forbidden: ForbiddenTarget, port: number): LookupFunction {
  const addressesOf = async (hostname: string): Promise<readonly string[]> => {
    const addresses = await network.resolve(hostname);
    if (addresses.length === 0) throw new Error('the name of the Service has no address');
    const others = port === forbidden.port ? await addressesOfForbidden(network, forbidden) : [];
    if (addresses.some((address) => network.isRefused(address) || others.includes(address)))
      throw new Error('the name of the Service leads to an address where no Service is');
    return addresses;
  };
  return lookupOf(addressesOf);
}

const addressesOfForbidden = async (network: Network, { hostname }: ForbiddenTarget): Promise<readonly string[]> =>
  isIP(hostname) === 0 ? network.resolve(hostname) : [hostname];
