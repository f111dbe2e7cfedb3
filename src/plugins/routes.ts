/**
 * Operations of console plugins (docs/contract/console.md): single files, and requests of their pages to the Services that a ConsolePlugin
 * names. The console decides which files of ConfigMaps a caller may see; Services decide for themselves.
 */
import { z } from 'zod';
import { bytes, type Operation, operation, withTimeout } from '../http/operation.ts';
import { clusterNetwork, type Network } from '../http/outgoing.ts';
import type { Feature, Services } from '../services.ts';
import { type AssetSources, answerAsset, type PluginFiles } from './assets.ts';
import { ConsolePlugins } from './console-plugins.ts';
import { pluginsController } from './controller.ts';
import { restOfPath } from './forwarding.ts';
import { answerThroughPlugin } from './proxy.ts';
import { maxBytes, PluginServices } from './services.ts';

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

const tag = 'plugins';

const pluginName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
  .describe('Name of the plugin.');

const segmentsOf = (path: string) => path.split('/').length - 1;

function assetOperations(sources: AssetSources, basePath: string): Operation[] {
  const ownSegments = segmentsOf(basePath) + 2;
  return [
    operation({
      id: 'GetPluginAsset',
      method: 'GET',
      paths: ['/plugins/:plugin/{*path}'],
      ignoredQuery: 'all',
      tag,
      summary: 'Serves a file of a console plugin',
      description:
        'Reads a ConfigMap that the caller may see, or the Service of an enabled ConsolePlugin, which learns nothing about the caller. `?v=` with the first digits of the SHA-256, or a hash in the name, makes the answer immutable.',
      credential: 'optional',
      params: z.object({ plugin: pluginName }),
      answers: {
        200: { description: 'The file.', content: { '*/*': bytes }, headers: { ETag: 'ETag of the contents.' } },
        401: { description: 'The token is not accepted.' },
        404: { description: 'The file does not exist, or the caller may not see it.' },
      },
      handle: ({ ctx, caller, params, signal }) =>
        answerAsset(sources, { ctx, caller, plugin: params.plugin, path: restOfPath(ctx.originalUrl, ownSegments), signal }),
    }),
  ];
}

const methods = [
  { method: 'GET', id: 'GetThroughPlugin' },
  { method: 'POST', id: 'PostThroughPlugin' },
  { method: 'PUT', id: 'PutThroughPlugin' },
  { method: 'PATCH', id: 'PatchThroughPlugin' },
  { method: 'DELETE', id: 'DeleteThroughPlugin' },
] as const;

/** Additional time beyond the timeout of the Service, so that its timeout comes first. */
const spareMs = 5_000;

function proxyOperations(sources: AssetSources, basePath: string, timeoutMs: number): Operation[] {
  const ownSegments = segmentsOf(basePath) + 5;
  return methods.map(({ method, id }) =>
    operation({
      id,
      method,
      paths: ['/api/proxy/plugin/:plugin/:alias/{*path}'],
      ignoredQuery: 'all',
      tag,
      summary: `${method} at a Service that a ConsolePlugin names`,
      description:
        'Passes the request on without changes, up to 10 MiB in either direction and for 60 seconds. Returns status and body of the Service, with a list of harmless headers. The Service receives the token of the caller only with `authorization: UserToken`.',
      credential: 'required',
      before: [withTimeout(timeoutMs + spareMs)],
      params: z.object({
        plugin: pluginName,
        alias: z
          .string()
          .regex(/^[A-Za-z0-9_-]{1,63}$/)
          .describe('Alias of the Service.'),
      }),
      described: { passedOn: 'The answer of the Service.', ...(method !== 'GET' && { body: { '*/*': z.unknown() } }) },
      bodyLimit: maxBytes,
      answers: {
        403: { description: 'The Service would receive an access token, or a request of another site carries a session.' },
        404: { description: 'The plugin or alias does not exist.' },
      },
      handle: ({ ctx, caller, params, signal }) =>
        answerThroughPlugin(sources, {
          ctx,
          caller,
          ...params,
          path: restOfPath(ctx.originalUrl, ownSegments),
          timeoutMs,
          signal,
        }),
    }),
  );
}
