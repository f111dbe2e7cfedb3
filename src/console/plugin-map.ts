import { hash } from 'node:crypto';
import { createEvent } from '@atrium/kubernetes/events.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { lookup } from 'mime-types';
import type { Services } from '../services.ts';
import type { ConfigMap } from './config-map-labels.ts';

/** Reports a refused ConfigMap to its author: a log line, and an Event that `kubectl describe` shows. */
export class PluginEvents {
  readonly #services: Services;
  readonly #stopping = new AbortController();

  constructor(services: Services) {
    this.#services = services;
  }

  /** Called once for each version of a ConfigMap. Never throws, because a lost Event is harmless. */
  refused({ configMap, refusal }: RefusedMap): void {
    const { namespace, name, resourceVersion } = configMap;
    const { log, config } = this.#services;
    log.warn({ namespace, configMap: name, resourceVersion, refusal }, 'ConfigMap of a plugin ignored');
    if (!config.audit.kubernetesEvents) return;
    this.#create({ configMap, refusal }).catch((error: unknown) => {
      // Another replica has created the Event: its name contains a hash of the map's uid and version.
      if (error instanceof StatusError && error.status.code === 409) return;
      log.debug({ namespace, configMap: name, err: error }, 'Event could not be written');
    });
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
  }

  #create({ configMap, refusal }: RefusedMap): Promise<void> {
    const { namespace, name, uid, resourceVersion } = configMap;
    const { client, now } = this.#services;
    const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name, uid, resourceVersion };
    const suffix = hash('sha256', `${uid}.${resourceVersion}`).slice(0, 16);
    const message = `The files of this ConfigMap are not served: ${refusal}.`;
    const told = { type: 'Warning', reason: 'PluginRefused', message, action: 'Serve' } as const;
    return createEvent(client, { namespace, involvedObject, suffix, ...told, time: now() }, this.#stopping.signal);
  }
}

/** A plugin file in the answer of HandleConsolePlugins. */
export interface PluginFile {
  plugin: string;
  /** `/plugins/<plugin>/<directory>/<key>` */
  path: string;
  contents: string;
  encoding: 'utf-8' | 'base64';
  contentType: string;
  /** SHA-256 of the decoded bytes, in hexadecimal digits. */
  sha256: string;
  configMap: string;
}

/** Files of a plugin in a ConfigMap. */
export interface PluginMap {
  readonly configMap: ConfigMap;
  readonly plugin: string;
  readonly order: number;
  readonly files: readonly PluginFile[];
  /** Length of all contents in the answer. */
  readonly bytes: number;
}

/** A ConfigMap whose files are not served, with the reason for its author. */
export interface RefusedMap {
  readonly configMap: ConfigMap;
  readonly refusal: string;
}

const defaultOrder = 1000;
export const manifestKey = 'plugin-manifest.json';
const pluginName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const pathSegment = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/;

/** Reads a ConfigMap with the plugin label. */
export function readPluginMap(configMap: ConfigMap): PluginMap | RefusedMap {
  const { plugin, contents, name } = configMap;
  if (plugin === undefined || contents === undefined) return { configMap, refusal: 'the ConfigMap is not a plugin ConfigMap' };
  if (!pluginName.test(plugin.name)) return { configMap, refusal: 'the label console.platform.io/plugin is not a DNS label' };
  const directory = directoryOf(plugin.path);
  if (directory === undefined) return { configMap, refusal: 'the annotation console.platform.io/path is not a relative directory' };
  const order = plugin.order === undefined ? defaultOrder : Number(plugin.order);
  if (!Number.isSafeInteger(order) || plugin.order === '')
    return { configMap, refusal: 'the annotation console.platform.io/order is not an integer' };

  const sources = [...contents.data].map(([key, text]) => ({ key, text, encoding: 'utf-8' as const }));
  const binarySources = [...contents.binaryData].map(([key, text]) => ({ key, text, encoding: 'base64' as const }));
  const files: PluginFile[] = [];
  for (const { key, text, encoding } of [...sources, ...binarySources]) {
    if (!pathSegment.test(key)) return { configMap, refusal: 'a key is not a file name' };
    const bytes = Buffer.from(text, encoding);
    if (key === manifestKey && !isJsonObject(bytes)) return { configMap, refusal: `${manifestKey} is not a JSON object` };
    files.push({
      plugin: plugin.name,
      path: `/plugins/${plugin.name}/${directory}${key}`,
      contents: text,
      encoding,
      contentType: lookup(key) || 'application/octet-stream',
      sha256: hash('sha256', bytes),
      configMap: name,
    });
  }
  return { configMap, plugin: plugin.name, order, files, bytes: files.reduce((sum, file) => sum + Buffer.byteLength(file.contents), 0) };
}

/** Returns '' or a relative directory with a trailing slash; undefined for a path that may lead elsewhere. */
function directoryOf(annotation: string | undefined): string | undefined {
  if (annotation === undefined || annotation === '') return '';
  const segments = annotation.replace(/\/$/, '').split('/');
  return segments.every((segment) => pathSegment.test(segment)) ? `${segments.join('/')}/` : undefined;
}

function isJsonObject(bytes: Buffer): boolean {
  try {
    return isRecord(JSON.parse(bytes.toString()));
  } catch {
    return false;
  }
}
