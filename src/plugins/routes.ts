import { bytes, type Operation, operation, withTimeout } from '@atrium/http/operation.ts';
import { z } from 'zod';
import { type AssetSources, answerAsset } from './assets.ts';
import { restOfPath } from './forwarding.ts';
import { answerThroughPlugin } from './proxy.ts';
import { maxBytes } from './services.ts';

const tag = 'plugins';

const pluginName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
  .describe('Name of the plugin.');

const segmentsOf = (path: string) => path.split('/').length - 1;

export function assetOperations(sources: AssetSources, basePath: string): Operation[] {
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

export function proxyOperations(sources: AssetSources, basePath: string, timeoutMs: number): Operation[] {
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
