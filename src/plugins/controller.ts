import { hash } from 'node:crypto';
import { discard, readAtMost } from '@atrium/http/outgoing.ts';
import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import { writeStatus } from '@atrium/kubernetes/controllers/status-writer.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { type Observed, setConditions } from '@atrium/kubernetes/object-status.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import type { AssetSources } from './assets.ts';
import { type ConsolePlugin, consolePluginType, manifestName, type ServiceReference } from './console-plugins.ts';

/** Delay that batches changes: a plugin is often applied as several objects. */
const delayMs = 250;
const probeEveryMs = 5 * 60_000;
const retryMs = 30_000;
const timeoutMs = 10_000;
const maxManifestBytes = 1024 * 1024;
const workers = 4;
/** Type of the condition that this controller writes. */
const type = 'Available';
const pluginKind: ResourceKind = { type: consolePluginType, kind: 'ConsolePlugin' };

/** Observed state of a plugin. */
interface Finding {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly version?: string | undefined;
}

/**
 * Writes the status of ConsolePlugins: whether the manifest can be read, and its version. Only the leader does so. The status is
 * informational.
 */
export function pluginsController(services: Services, sources: AssetSources): Controller {
  const term = new PluginReconciler(services, sources);
  return new Controller(services, { name: 'atrium-plugin-states', workers, delayMs, begin: () => term });
}

class PluginReconciler implements Term, Source {
  readonly sources = [this];
  readonly #services: Services;
  readonly #sources: AssetSources;

  constructor(services: Services, sources: AssetSources) {
    this.#services = services;
    this.#sources = sources;
  }

  onChange(enqueue: (name: string) => void): () => void {
    const { consolePlugins, files } = this.#sources;
    const forget = [
      // The controller writes the status itself.
      consolePlugins.onChange(({ key, old, new: current }) => {
        if (old === undefined || old.generation !== current?.generation) enqueue(key);
      }),
      files.onChange(() => {
        for (const { name, backend } of consolePlugins.all()) if (backend === undefined) enqueue(name);
      }),
    ];
    return () => {
      for (const end of forget) end();
    };
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#sources.consolePlugins.whenSynced(signal);
  }

  *keys(): Iterable<string> {
    for (const { name } of this.#sources.consolePlugins.all()) yield name;
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    const plugin = this.#sources.consolePlugins.get(name);
    if (plugin === undefined) return 'done';
    const { refused } = await this.#sources.consolePlugins.policyOf(plugin);
    const finding = await this.#findingOf(plugin, signal);
    const written = await this.#writeStatus(plugin, plugin.isEnabled ? withRefusals(finding, refused) : finding, signal);
    if (written === 'again') return 'again';
    return { requeueAfterMs: finding.status === 'True' || finding.reason === 'Disabled' ? probeEveryMs : retryMs };
  }

  onFailure(name: string, error: unknown): void {
    this.#services.log.debug({ plugin: name, err: error }, 'status of a plugin could not be written');
  }

  async #findingOf({ name, isEnabled, backend, integrity }: ConsolePlugin, signal: AbortSignal): Promise<Finding> {
    if (!isEnabled) return unavailable('Disabled', 'the plugin is disabled');
    if (backend === 'unfit') return unavailable('InvalidBackend', 'spec.backend.service names a Service that a plugin may not use');
    const text = backend === undefined ? this.#sources.files.manifestOf(name) : await this.#fetch(name, backend, signal);
    if (typeof text === 'object') return text;
    if (text === undefined) return unavailable('NotFound', `no ConfigMap labelled for the plugin holds ${manifestName}`);
    if (integrity !== undefined && integrity !== `sha256-${hash('sha256', text, 'base64')}`)
      return unavailable('IntegrityMismatch', `${manifestName} does not match spec.integrity`);
    const manifest = readManifest(text);
    if (manifest === undefined) return unavailable('InvalidManifest', `${manifestName} is not a JSON object`);
    const source = backend === undefined ? 'a ConfigMap' : 'the Service';
    return { status: 'True', reason: 'ManifestRead', message: `${manifestName} is served from ${source}`, version: manifest.version };
  }

  async #fetch(plugin: string, service: ServiceReference, signal: AbortSignal): Promise<string | Finding> {
    const { log } = this.#services;
    try {
      const request = { call: 'manifest', plugin, service, method: 'GET', path: manifestName, timeoutMs, signal } as const;
      const { statusCode, body } = await this.#sources.pluginServices.request({ ...request, headers: { accept: 'application/json' } });
      if (statusCode !== 200) {
        discard(body);
        return unavailable('NotFound', `the Service answered ${statusCode} for ${manifestName}`);
      }
      const bytes = await readAtMost(body, maxManifestBytes);
      return bytes?.toString() ?? unavailable('InvalidManifest', `${manifestName} is larger than 1 MiB`);
    } catch (error) {
      if (signal.aborted) throw error;
      log.info({ plugin, err: error }, 'Service of a plugin unreachable');
      const isLate = error instanceof StatusError && error.status.code === 504;
      return unavailable(
        'Unreachable',
        isLate ? 'the Service did not answer in time' : 'the Service cannot be reached over TLS by its name',
      );
    }
  }

  /** Writes the status if it differs. Conditions of other controllers stay where they are. */
  #writeStatus(plugin: ConsolePlugin, { status, reason, message, version }: Finding, signal: AbortSignal) {
    const { name, resourceVersion, generation } = plugin;
    const observed: Observed = { type, status, reason, message, ...(generation !== undefined && { observedGeneration: generation }) };
    const current = setConditions(plugin.status, [observed], this.#services.now());
    const all = plugin.status.conditions;
    const isKnown = all.some((one) => one.type === type);
    const conditions = isKnown ? all.flatMap((one): object[] => (one.type === type ? current : [one])) : [...all, ...current];
    const object = { metadata: { name, resourceVersion }, status: plugin.status };
    const troubles = current.filter((one) => one.status === 'False' && one.reason !== 'Disabled');
    return writeStatus(this.#services, { kind: pluginKind, object, wanted: { version: version ?? null, conditions }, troubles }, signal);
  }
}

const unavailable = (reason: string, message: string): Finding => ({ status: 'False', reason, message });

/** Bound of the list in characters. Longer lists are cut. */
const maxRefusals = 1_000;

/** Adds the refused policy additions to the message, because the plugin may not work without them. */
function withRefusals(finding: Finding, refused: readonly string[]): Finding {
  if (refused.length === 0) return finding;
  const list = refused.join(', ').toWellFormed();
  const told = list.length > maxRefusals ? `${list.slice(0, maxRefusals).toWellFormed()}…` : list;
  return { ...finding, message: `${finding.message}; not taken into the policy of pages: ${told}` };
}

/** The parts of a manifest that the status needs. */
const manifest = z.looseObject({ version: z.string().max(128).optional().catch(undefined) });

/** Reads a manifest; undefined if it is not a JSON object. */
function readManifest(text: string): { version: string | undefined } | undefined {
  try {
    const { success, data } = manifest.safeParse(JSON.parse(text));
    return success ? { version: data.version } : undefined;
  } catch {
    return undefined;
  }
}
