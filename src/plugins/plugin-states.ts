import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { StatusError } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { Lease } from '../kubernetes/lease.ts';
import { resourcePath } from '../kubernetes/resource.ts';
import type { PluginFiles } from './assets.ts';
import type { Condition, ConsolePlugin, ServiceReference } from './console-plugin.ts';
import { type ConsolePlugins, consolePluginType } from './console-plugins.ts';
import { manifestName, readManifest } from './plugin-manifest.ts';
import { discard, type PluginServices } from './services.ts';

const lookEveryMs = 500;
const probeEveryMs = 5 * 60_000;
const retryMs = 30_000;
const timeoutMs = 10_000;
const maxManifestBytes = 1024 * 1024;
const atOnce = 4;

export interface PluginStatesOptions {
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  consolePlugins: ConsolePlugins;
  files: PluginFiles;
  services: PluginServices;
  log: Logger;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/** What was found of a plugin. */
interface Finding {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly version?: string | undefined;
}

interface Look {
  /** Of the spec and, where the files are in ConfigMaps, of these: another one is looked at anew. */
  readonly of: string;
  readonly dueAt: number;
}

/**
 * Keeps what ConsolePlugins say of themselves: whether the manifest can be read, and the version in it. One replica does it at a time,
 * and nothing relies on it.
 */
export class PluginStates {
  readonly #options: PluginStatesOptions;
  readonly #lease: Lease;
  readonly #looks = new Map<string, Look>();

  constructor(options: PluginStatesOptions) {
    this.#options = options;
    this.#lease = new Lease({ ...options, name: 'atrium-plugin-states' });
  }

  start(): void {
    this.#lease.start((signal) => this.#work(signal));
  }

  stop(): Promise<void> {
    return this.#lease.stop();
  }

  async #work(signal: AbortSignal): Promise<void> {
    this.#looks.clear();
    while (!signal.aborted) {
      if (this.#options.consolePlugins.isSynced) await this.#lookAtDue(signal);
      await sleep(lookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #lookAtDue(signal: AbortSignal): Promise<void> {
    const now = this.#clock();
    const plugins = [...this.#options.consolePlugins.all()];
    const names = new Set(plugins.map(({ name }) => name));
    for (const name of this.#looks.keys()) if (!names.has(name)) this.#looks.delete(name);
    const due = plugins.filter((plugin) => {
      const look = this.#looks.get(plugin.name);
      return look === undefined || look.of !== this.#contentOf(plugin) || look.dueAt <= now;
    });
    await Promise.all(Array.from({ length: atOnce }, () => this.#lookAtEach(due, signal)));
  }

  async #lookAtEach(due: ConsolePlugin[], signal: AbortSignal): Promise<void> {
    for (let plugin = due.shift(); plugin !== undefined && !signal.aborted; plugin = due.shift()) {
      const of = this.#contentOf(plugin);
      try {
        const finding = withRefusals(await this.#lookAt(plugin, signal), plugin);
        await this.#keep(plugin, finding, signal);
        const pauseMs = finding.status === 'True' || finding.reason === 'Disabled' ? probeEveryMs : retryMs;
        this.#looks.set(plugin.name, { of, dueAt: this.#clock() + pauseMs });
      } catch (error) {
        if (signal.aborted) return;
        this.#options.log.debug({ plugin: plugin.name, err: error }, 'the state of a plugin could not be written');
        // Written by somebody else meanwhile: there is a newer one to look at.
        const isOld = error instanceof StatusError && error.status.code === 409;
        this.#looks.set(plugin.name, { of, dueAt: this.#clock() + (isOld ? 0 : retryMs) });
      }
    }
  }

  #contentOf({ generation, isEnabled, backend }: ConsolePlugin): string {
    return backend === undefined && isEnabled ? `${generation} ${this.#options.files.revision}` : String(generation);
  }

  async #lookAt({ name, isEnabled, backend, integrity }: ConsolePlugin, signal: AbortSignal): Promise<Finding> {
    if (!isEnabled) return unavailable('Disabled', 'the plugin is disabled');
    if (backend === 'unfit') return unavailable('InvalidBackend', 'spec.backend.service names no Service that a plugin may come from');
    const text = backend === undefined ? this.#options.files.manifestOf(name) : await this.#fetch(name, backend, signal);
    if (typeof text === 'object') return text;
    if (text === undefined) return unavailable('NotFound', `no ConfigMap labelled for the plugin holds ${manifestName}`);
    if (integrity !== undefined && integrity !== `sha256-${hash('sha256', text, 'base64')}`)
      return unavailable('IntegrityMismatch', `${manifestName} is another one than spec.integrity pins`);
    const manifest = readManifest(text);
    if (manifest === undefined) return unavailable('InvalidManifest', `${manifestName} is no JSON object`);
    const source = backend === undefined ? 'a ConfigMap' : 'the Service';
    return { status: 'True', reason: 'ManifestRead', message: `${manifestName} is served from ${source}`, version: manifest.version };
  }

  async #fetch(plugin: string, service: ServiceReference, signal: AbortSignal): Promise<string | Finding> {
    const { services, log } = this.#options;
    try {
      const request = { call: 'manifest', plugin, service, method: 'GET', path: manifestName, timeoutMs, signal } as const;
      const { statusCode, body } = await services.request({ ...request, headers: { accept: 'application/json' } });
      if (statusCode !== 200) {
        discard(body);
        return unavailable('NotFound', `the Service answered ${statusCode} for ${manifestName}`);
      }
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > maxManifestBytes) return unavailable('InvalidManifest', `${manifestName} is larger than 1 MiB`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString();
    } catch (error) {
      if (signal.aborted) throw error;
      log.info({ plugin, err: error }, 'the Service of a plugin is out of reach');
      const isLate = error instanceof StatusError && error.status.code === 504;
      return unavailable(
        'Unreachable',
        isLate ? 'the Service did not answer in time' : 'the Service cannot be reached over TLS by its name',
      );
    }
  }

  /** Writes what differs, if nobody has changed the object since. */
  async #keep(plugin: ConsolePlugin, { status, reason, message, version }: Finding, signal: AbortSignal): Promise<void> {
    const { conditions, version: oldVersion } = plugin.status;
    const old = conditions.find(({ type }) => type === 'Available');
    const isSame = old?.status === status && old.lastTransitionTime !== '';
    const time = (this.#options.now?.() ?? new Date()).toISOString().replace(/\.\d+Z$/, 'Z');
    const condition: Condition = {
      type: 'Available',
      status,
      reason,
      message,
      lastTransitionTime: isSame ? old.lastTransitionTime : time,
      ...(plugin.generation !== undefined && { observedGeneration: plugin.generation }),
    };
    if (isDeepStrictEqual(condition, old) && (version ?? undefined) === oldVersion) return;
    const { name, resourceVersion } = plugin;
    await this.#options.client.request({
      method: 'PATCH',
      path: resourcePath(consolePluginType, { name, subresource: 'status' }),
      contentType: 'application/merge-patch+json',
      body: {
        metadata: { resourceVersion },
        status: { version: version ?? null, conditions: [...conditions.filter(({ type }) => type !== 'Available'), condition] },
      },
      call: 'patch consoleplugins/status',
      signal,
    });
  }

  #clock(): number {
    return this.#options.clock?.() ?? performance.now();
  }
}

const unavailable = (reason: string, message: string): Finding => ({ status: 'False', reason, message });

/** Longer lists are cut. */
const maxRefusals = 1_000;

/** Says too what the plugin asks of the policy of pages and does not get: it will miss it. */
function withRefusals(finding: Finding, { isEnabled, policy: { refused } }: ConsolePlugin): Finding {
  if (!isEnabled || refused.length === 0) return finding;
  const list = refused.join(', ').toWellFormed();
  const told = list.length > maxRefusals ? `${list.slice(0, maxRefusals).toWellFormed()}…` : list;
  return { ...finding, message: `${finding.message}; not taken into the policy of pages: ${told}` };
}
