import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { Check } from '../http/health.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Operation } from '../http/operation.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import { PluginAssets, type PluginFiles } from './assets.ts';
import { ConsolePlugins } from './console-plugins.ts';
import { pluginStates } from './plugin-states.ts';
import { PluginProxy } from './proxy.ts';
import { assetOperations, proxyOperations } from './routes.ts';
import { clusterNetwork, type PluginNetwork } from './service-address.ts';
import { PluginServices } from './services.ts';

/** docs/contract/console.md */
const proxyTimeoutMs = 60_000;

/** What is otherwise in tests: no cluster has Services on loopback. */
export interface PluginSurroundings {
  network?: PluginNetwork;
  proxyTimeoutMs?: number;
}

export interface PluginsOptions {
  config: Pick<Config, 'server' | 'console' | 'features'>;
  basePath: string;
  client: ServiceClient;
  /** Of the API server. */
  apiServerURL: string;
  /** `kubernetes.namespace`, or what stands for it. */
  namespace: string;
  consolePlugins: ConsolePlugins;
  files: PluginFiles;
  surroundings?: PluginSurroundings | undefined;
  metrics: Metrics;
  log: Logger;
  now?: () => Date;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

export interface Plugins {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

/** ConsolePlugin objects as several features need them. */
export const watchConsolePlugins = (parts: ConstructorParameters<typeof ConsolePlugins>[0]) => new ConsolePlugins(parts);

/** The feature `plugins` with all that it holds. */
export function createPlugins(options: PluginsOptions): Plugins {
  const { config, basePath, consolePlugins, surroundings = {} } = options;
  const { pluginAssets, pluginProxy } = config.features;
  const timeoutMs = surroundings.proxyTimeoutMs ?? proxyTimeoutMs;
  const services = new PluginServices({
    ...options,
    network: surroundings.network ?? clusterNetwork,
    caFile: config.console.plugins.caFile,
  });
  const assets = new PluginAssets({ ...options, services });
  const proxy = new PluginProxy({ consolePlugins, services, timeoutMs });
  const states = pluginAssets ? pluginStates({ ...options, services }) : undefined;
  return {
    operations: [
      ...(pluginAssets ? assetOperations(assets, basePath) : []),
      ...(pluginProxy ? proxyOperations(proxy, basePath, timeoutMs) : []),
    ],
    checks: consolePlugins.checks,
    start() {
      consolePlugins.start();
      states?.start();
    },
    async stop() {
      await states?.stop();
      await consolePlugins.stop();
      await services.stop();
    },
  };
}
