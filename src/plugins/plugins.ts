import type { Check } from '../http/health.ts';
import type { Operation } from '../http/operation.ts';
import type { Services } from '../services.ts';
import type { PluginFiles } from './assets.ts';
import { ConsolePlugins } from './console-plugins.ts';
import { pluginsController } from './controller.ts';
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

interface Plugins {
  operations: Operation[];
  checks: Check[];
  start(): void;
  stop(): Promise<void>;
}

/** ConsolePlugin objects as several features need them. */
export const watchConsolePlugins = (services: Services) => new ConsolePlugins(services);

/** What plugins need of the wiring beside the services. */
interface PluginsNeeds {
  /** Of the API server. */
  apiServerURL: string;
  consolePlugins: ConsolePlugins;
  files: PluginFiles;
  surroundings: PluginSurroundings | undefined;
}

/** The feature `plugins` with all that it holds. */
export function createPlugins(services: Services, { apiServerURL, consolePlugins, files, surroundings = {} }: PluginsNeeds): Plugins {
  const { config, basePath } = services;
  const { pluginAssets, pluginProxy } = config.features;
  const timeoutMs = surroundings.proxyTimeoutMs ?? proxyTimeoutMs;
  const pluginServices = new PluginServices(services, apiServerURL, surroundings.network ?? clusterNetwork);
  const sources = { consolePlugins, files, pluginServices };
  const controller = pluginAssets ? pluginsController(services, sources) : undefined;
  return {
    operations: [
      ...(pluginAssets ? assetOperations(sources, basePath) : []),
      ...(pluginProxy ? proxyOperations(sources, basePath, timeoutMs) : []),
    ],
    checks: consolePlugins.checks,
    start() {
      consolePlugins.start();
      controller?.start();
    },
    async stop() {
      await controller?.stop();
      await consolePlugins.stop();
      await pluginServices.stop();
    },
  };
}
