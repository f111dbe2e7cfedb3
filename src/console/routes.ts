/**
 * Operations of the console (docs/contract/console.md): its configuration before and after a login. The API server decides which ConfigMaps
 * a caller may see; the static files are public.
 */
import type { Caller } from '@atrium/http/caller.ts';
import { type JsonText, sendJsonText } from '@atrium/http/json-answers.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { type AnswerDescription, bytes, compressed, type Operation, operation } from '@atrium/http/operation.ts';
import { sendOtherBuild, sendStaticFile } from '@atrium/http/static/answer.ts';
import type { StaticFiles } from '@atrium/http/static/files.ts';
import { staticPath } from '@atrium/http/static/set.ts';
import { unknownPath } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { ConfigMapImages } from './images.ts';
import { envVarsSchema, languagesSchema, modulesSchema, pluginFilesSchema } from './schema.ts';

/** A prepared answer; `isStale` if it may be outdated. */
export interface Prepared {
  answer: JsonText;
  isStale: boolean;
}

/** Lifetime of a request. Its signal is created on first use. */
type Request = Readonly<{ signal: AbortSignal }>;

/** Dependencies of the operations. */
export interface ConsoleService {
  images: ConfigMapImages;
  modules(caller: Caller | undefined, request: Request): Prepared | Promise<Prepared>;
  environment(caller: Caller | undefined, request: Request): Prepared | Promise<Prepared>;
  pluginFiles(caller: Caller | undefined, signal: AbortSignal): Promise<Prepared>;
  languages: JsonText;
  staticFiles: StaticFiles;
  contentSecurityPolicy(): string;
  basePath: string;
}

const tag = 'console';
const json = (schema: z.ZodType) => ({ 'application/json': schema });
const etag = { ETag: 'ETag of the text.' };
const refused: Record<number, AnswerDescription> = { 401: { description: 'The token is not accepted.' } };

/** Operations of the console. The static files match all remaining paths, and so come last. */
export const consoleOperations = (service: ConsoleService): Operation[] => [
  handleConfigMapImage(service),
  handleConsolePlugins(service),
  handleEnvVars(service),
  handleModules(service),
  handleLanguages(service),
  handleStaticFiles(service),
];

const handleConfigMapImage = (service: ConsoleService): Operation =>
  operation({
    id: 'HandleConfigMapImage',
    method: 'GET',
    paths: ['/api/v1/cm/:name/:key'],
    ignoredQuery: 'all',
    tag,
    summary: 'Serves an image of a ConfigMap',
    description:
      'Derives the media type from the bytes. Other files are 404. ConfigMaps with the label `console.platform.io/public` are public; others are read with the rights of the caller.',
    credential: 'optional',
    params: z.object({ name: z.string().describe('Name of the ConfigMap.'), key: z.string().describe('Key of the ConfigMap.') }),
    answers: {
      200: { description: 'The image.', content: { 'image/*': bytes }, headers: { ETag: 'ETag of this version of the ConfigMap.' } },
      ...refused,
      403: { description: 'The caller may not get the ConfigMap.' },
      404: { description: 'The image does not exist, or is not public.' },
    },
    async handle({ ctx, caller, params, signal }) {
      const found = await service.images.find({ ...params, caller, signal });
      markStale(ctx, found.isStale);
      ctx.set({
        ETag: found.etag,
        'Cache-Control': found.isPublic ? 'public, max-age=300' : 'private, no-cache',
        'Cross-Origin-Resource-Policy': 'same-origin',
        // An SVG that is opened as a page runs and loads nothing.
        'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      });
      ctx.set({ 'Content-Disposition': `inline; filename="${params.key}"`, 'Content-Type': found.type });
      ctx.body = found.bytes;
    },
  });

const handleConsolePlugins = (service: ConsoleService): Operation =>
  operation({
    id: 'HandleConsolePlugins',
    method: 'GET',
    paths: ['/api/v1/console-plugins'],
    tag,
    summary: 'Returns path and contents of the console plugin files that the caller may see',
    credential: 'optional',
    before: [compressed],
    answers: { 200: { description: 'The files.', content: json(pluginFilesSchema), headers: etag }, ...refused },
    async handle({ ctx, caller, signal }) {
      sendPrepared(ctx, caller, await service.pluginFiles(caller, signal));
    },
  });

const handleEnvVars = (service: ConsoleService): Operation =>
  operation({
    id: 'HandleEnvVars',
    method: 'GET',
    paths: ['/api/v1/envs'],
    tag,
    summary: 'Returns the environment variables of the console',
    credential: 'optional',
    before: [compressed],
    answers: { 200: { description: 'Names and values.', content: json(envVarsSchema), headers: etag }, ...refused },
    handle(request) {
      return sendWhenPrepared(request, service.environment(request.caller, request));
    },
  });

const handleModules = (service: ConsoleService): Operation =>
  operation({
    id: 'HandleModules',
    method: 'GET',
    paths: ['/api/v1/modules'],
    tag,
    summary: 'Returns the configuration of the console',
    credential: 'optional',
    before: [compressed],
    answers: { 200: { description: 'The configuration.', content: json(modulesSchema), headers: etag }, ...refused },
    handle(request) {
      return sendWhenPrepared(request, service.modules(request.caller, request));
    },
  });

const handleLanguages = (service: ConsoleService): Operation =>
  operation({
    id: 'HandleLanguages',
    method: 'GET',
    paths: ['/api/v1/i18n/languages'],
    tag,
    summary: 'Lists the languages of the console',
    credential: 'none',
    before: [compressed],
    answers: { 200: { description: 'The languages, in the order of the configuration.', content: json(languagesSchema), headers: etag } },
    handle({ ctx }) {
      ctx.set('Cache-Control', 'public, max-age=3600');
      sendJsonText(ctx, service.languages);
    },
  });

function handleStaticFiles(service: ConsoleService): Operation {
  const pathOf = keptPaths((target) => staticPath(target, service.basePath));
  return operation({
    id: 'HandleStaticFiles',
    method: 'GET',
    paths: ['/{*subpath}'],
    ignoredQuery: 'all',
    places: 'static',
    tag,
    summary: 'Serves a file of the console',
    description: 'Returns the index for a missing path without extension, if the request accepts `text/html`.',
    credential: 'none',
    described: {
      headers: {
        Range: 'A range of bytes (RFC 9110, section 14.2).',
        'If-Range': 'ETag or date of the file that the client has in part.',
      },
    },
    answers: {
      200: { description: 'The file.', content: { '*/*': bytes }, headers: etag },
      206: { description: 'The requested range of the file.', content: { '*/*': bytes } },
      307: { description: 'The file belongs to another build of the console, which the next replica may have.' },
      400: { description: 'The path leaves the root.' },
      404: { description: 'The file does not exist.' },
      416: { description: 'The range lies outside the file.' },
    },
    handle({ ctx }) {
      const path = pathOf(ctx.originalUrl);
      const file = service.staticFiles.find(path, () => namesHtml(ctx));
      if (file === undefined && sendOtherBuild(ctx, path)) return;
      if (file === undefined) throw unknownPath();
      if (file.isHtml) ctx.vary('Accept');
      return sendStaticFile(ctx, file, service.contentSecurityPolicy);
    },
  });
}

const maxKeptTarget = 256;

/** Caches checked paths, because targets repeat and the check is slow. Refused targets are checked each time. */
function keptPaths(read: (target: string) => string): (target: string) => string {
  const paths = new LRUCache<string, string>(atMost(512));
  return (target) => {
    const known = paths.get(target);
    if (known !== undefined) return known;
    const path = read(target);
    if (target.length <= maxKeptTarget) paths.set(target, path);
    return path;
  };
}

/** Requires the type itself and no wildcard: a missing script or stylesheet must not get a page instead. */
const namesHtml = (ctx: Context): boolean => [ctx.accepts()].flat().includes('text/html');

/** Sends a value synchronously, and a promise when it resolves. */
function sendWhenPrepared(
  { ctx, caller }: { ctx: Context; caller: Caller | undefined },
  prepared: Prepared | Promise<Prepared>,
): Promise<void> | void {
  if (prepared instanceof Promise) return prepared.then((answer) => sendPrepared(ctx, caller, answer));
  sendPrepared(ctx, caller, prepared);
}

function sendPrepared(ctx: Context, caller: Caller | undefined, { answer, isStale }: Prepared): void {
  markStale(ctx, isStale);
  ctx.res.setHeader('Cache-Control', caller === undefined ? 'no-cache' : 'private, no-cache');
  sendJsonText(ctx, answer);
}

/** Marks the answer as stale (RFC 7234, 5.5.1). RFC 9111 declares the header obsolete without a replacement. */
function markStale(ctx: Context, isStale: boolean): void {
  if (isStale) ctx.set('Warning', '110 - "Response is Stale"');
}
