import { MIMEType } from 'node:util';
import type { Caller } from '@atrium/http/caller.ts';
import { immutable, isHashedName, isNotModified } from '@atrium/http/middleware/representation.ts';
import { discard } from '@atrium/http/outgoing.ts';
import { serviceUnavailable, unknownPath } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { contentType } from 'mime-types';
import type { ConsolePlugins, ServiceReference } from './console-plugins.ts';
import { announcedLength, plainHeader, type RestOfPath } from './forwarding.ts';
import { maxBytes, type PluginServices } from './services.ts';

const bytes = 'application/octet-stream';

/** Types that console pages use and that browsers do not run when opened directly. */
const inertTypes = [
  /^text\/(css|javascript|plain|vtt)$/,
  /^application\/(json|javascript|wasm|([\w.-]+\+)?json|vnd\.ms-fontobject)$/,
  /^image\/(apng|avif|bmp|gif|jpeg|png|webp|x-icon|vnd\.microsoft\.icon)$/,
  /^(audio|font|video)\/[\w.+-]+$/,
];

/** Types that browsers display and may run. */
const documents = /^(text\/html|application\/pdf|[\w.-]+\/([\w.-]+\+)?xml)$/;

/** Policy under which an opened document runs and loads nothing. */
const documentPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const locked = { 'Content-Security-Policy': documentPolicy, 'X-Frame-Options': 'DENY' };

/**
 * Returns the headers for a file: its type, by the file name or else as given, and a policy under which an opened page runs nothing.
 * A type that is neither harmless nor a document is offered as a download.
 */
function typeHeaders(path: string, given: string): Record<string, string> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const byName = name.includes('.') && contentType(name.slice(name.lastIndexOf('.')));
  const essence = essenceOf(byName || given);
  const type = { 'Content-Type': contentType(essence) || bytes };
  if (inertTypes.some((pattern) => pattern.test(essence))) return type;
  return documents.test(essence) ? { ...type, ...locked } : { ...type, ...locked, 'Content-Disposition': 'attachment' };
}

/** Removes parameters, in which browsers may find another type. The parts of a `multipart` carry types of their own. */
function essenceOf(type: string): string {
  try {
    const parsed = new MIMEType(type);
    return parsed.type === 'multipart' ? bytes : parsed.essence;
  } catch {
    return bytes;
  }
}

const timeoutMs = 10_000;

/** Plugin files in ConfigMaps. */
export interface PluginFiles {
  find(
    path: string,
    caller: Caller | undefined,
    signal: AbortSignal,
  ): Promise<
    | {
        file: { contents: string; encoding: 'utf-8' | 'base64'; contentType: string; sha256: string };
        isPublic: boolean;
        isStale: boolean;
      }
    | undefined
  >;
  /** Returns the manifest of a plugin without a check of permissions; undefined if none exists. @throws StatusError 503 */
  manifestOf(plugin: string): string | undefined;
  /** Calls the listener after every change, without the plugin's name. @returns a function that removes the listener */
  onChange(listener: () => void): () => void;
}

interface AssetRequest {
  ctx: Context;
  plugin: string;
  path: RestOfPath;
  caller: Caller | undefined;
  signal: AbortSignal;
}

/** Sources of plugin files. */
export interface AssetSources {
  readonly consolePlugins: ConsolePlugins;
  readonly files: PluginFiles;
  readonly pluginServices: PluginServices;
}

/**
 * Answers with a file of a plugin: from a ConfigMap, or from the Service that a ConsolePlugin names.
 *
 * @throws StatusError 404 with the same body for missing files and for files that the caller may not see; 503, 504
 */
export async function answerAsset({ consolePlugins, files, pluginServices }: AssetSources, request: AssetRequest): Promise<void> {
  const plugin = consolePlugins.get(request.plugin);
  // Directories are not listed.
  if (plugin?.isEnabled === false || /(^|\/)$/.test(request.path.decoded)) throw unknownPath();
  if (plugin?.backend === 'unfit')
    throw serviceUnavailable('the plugin', { cause: new Error('spec.backend names a Service that a plugin may not use') });
  if (plugin?.backend) await fromService(pluginServices, request, plugin.backend);
  else await fromConfigMap(files, request);
}

async function fromConfigMap(files: PluginFiles, { ctx, plugin, path, caller, signal }: AssetRequest): Promise<void> {
  const found = await files.find(`/plugins/${plugin}/${path.decoded}`, caller, signal);
  if (found === undefined) throw unknownPath();
  const { file, isPublic, isStale } = found;
  if (isStale) ctx.set('Warning', '110 - "Response is Stale"');
  describe(ctx, path, file.contentType);
  const isPinned = isHashedName(path.decoded) || isDigest(ctx.query.v, file.sha256);
  ctx.set({ ETag: `"${file.sha256}"`, 'Cache-Control': isPublic ? (isPinned ? immutable : 'no-cache') : 'private, no-cache' });
  ctx.status = 200;
  if (isNotModified(ctx)) ctx.status = 304;
  else ctx.body = Buffer.from(file.contents, file.encoding);
}

/** Requests the file from the Service. The request carries only the path, the accepted encodings and the known version. */
async function fromService(
  pluginServices: PluginServices,
  { ctx, plugin, path, signal }: AssetRequest,
  service: ServiceReference,
): Promise<void> {
  const { statusCode, headers, body } = await pluginServices.request({
    call: 'asset',
    plugin,
    service,
    method: ctx.method,
    path: path.escaped,
    headers: {
      accept: '*/*',
      ...plainHeader(ctx.req.headers, 'accept-encoding'),
      ...plainHeader(ctx.req.headers, 'if-none-match'),
      ...plainHeader(ctx.req.headers, 'if-modified-since'),
    },
    timeoutMs,
    signal,
  });
  const isKnown = statusCode === 304 && ctx.get('If-None-Match') + ctx.get('If-Modified-Since') !== '';
  const length = announcedLength(headers);
  if ((statusCode !== 200 && !isKnown) || (length ?? 0) > maxBytes) {
    discard(body);
    if (statusCode === 404 || statusCode === 410) throw unknownPath();
    throw serviceUnavailable('the plugin', { cause: new Error(`the Service answered ${statusCode} with ${length ?? 'unbounded'} bytes`) });
  }
  const { 'content-type': type = '', 'cache-control': wish = '', ...rest } = { ...headers };
  describe(ctx, path, String(type));
  ctx.vary('Accept-Encoding');
  for (const name of ['ETag', 'Last-Modified', 'Content-Encoding']) ctx.set(plainHeader(rest, name));
  const mayBePinned = isHashedName(path.decoded) && !/no-store|no-cache|private/i.test(String(wish));
  ctx.set('Cache-Control', mayBePinned ? immutable : /no-store/i.test(String(wish)) ? 'no-store' : 'no-cache');
  ctx.status = statusCode;
  if (isKnown || ctx.method === 'HEAD') {
    discard(body);
    if (length !== undefined && !isKnown) ctx.length = length;
    return;
  }
  ctx.body = body;
  if (length !== undefined) ctx.length = length;
}

/** Reports whether `?v=` names these contents: the first digits of their SHA-256, at least eight. */
const isDigest = (version: unknown, sha256: string) =>
  typeof version === 'string' && /^[0-9a-f]{8,64}$/.test(version) && sha256.startsWith(version);

const describe = (ctx: Context, { decoded }: RestOfPath, given: string) =>
  ctx.set({ ...typeHeaders(decoded, given), 'Cross-Origin-Resource-Policy': 'same-origin' });
