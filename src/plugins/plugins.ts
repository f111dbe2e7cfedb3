/**
 * Operations of console plugins (docs/contract/console.md): single files, and requests of their pages to the Services that a ConsolePlugin
 * names. The console decides which files of ConfigMaps a caller may see; Services decide for themselves.
 */
import { clusterNetwork, type Network } from '@atrium/http/outgoing.ts';
import type { Feature, Services } from '../services.ts';
import type { PluginFiles } from './assets.ts';
import { ConsolePlugins } from './console-plugins.ts';
import { pluginsController } from './controller.ts';
import { assetOperations, proxyOperations } from './routes.ts';
import { PluginServices } from './services.ts';

/** docs/contract/console.md */
const proxyTimeoutMs = 60_000;

/** Replacements for tests, whose Services are on loopback, unlike those of a cluster. */
export interface PluginContext {
  network?: Network;
  proxyTimeoutMs?: number;
}

/** Creates the watch of ConsolePlugins that several features share. */
export const watchConsolePlugins = (services: Services) => new ConsolePlugins(services);

/** Dependencies of the feature beside the services. */
interface PluginsNeeds {
  /** Address of the API server. */
  apiServerURL: string;
  consolePlugins: ConsolePlugins;
  files: PluginFiles;
  context: PluginContext | undefined;
}

/** Creates the feature `plugins`. */
export function createPlugins(services: Services, { apiServerURL, consolePlugins, files, context = {} }: PluginsNeeds): Feature {
  const { config, basePath } = services;
  const { pluginAssets, pluginProxy } = config.features;
  const timeoutMs = context.proxyTimeoutMs ?? proxyTimeoutMs;
  const pluginServices = new PluginServices(services, apiServerURL, context.network ?? clusterNetwork);
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
