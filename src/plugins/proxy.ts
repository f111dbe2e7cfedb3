import { closeOnUnreadBody, hasBody, refuseBody } from '@atrium/http/body.ts';
import type { Caller } from '@atrium/http/caller.ts';
import { discard } from '@atrium/http/outgoing.ts';
import { requestBody } from '@atrium/http/slow-clients.ts';
import { badRequest, StatusError, serviceUnavailable, unknownPath } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { AssetSources } from './assets.ts';
import type { ProxyEntry } from './console-plugins.ts';
import { announcedLength, headersToPage, headersToService, type RestOfPath } from './forwarding.ts';
import { maxBytes, type PluginServices } from './services.ts';

interface ProxyRequest {
  ctx: Context;
  caller: Caller;
  plugin: string;
  alias: string;
  path: RestOfPath;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Policy of answers: opened as a page of the console, they run and load nothing. */
const policy = "default-src 'none'; sandbox";

/**
 * Passes a request of a page on to the Service that a ConsolePlugin names for it.
 *
 * @throws StatusError 400, 403 for a credential that is never passed on, 404, 413, 429; 503 if the Service cannot be reached, or answers
 *   with a redirect or more than 10 MiB; 504 after the timeout
 */
export async function answerThroughPlugin(
  { consolePlugins, pluginServices }: Pick<AssetSources, 'consolePlugins' | 'pluginServices'>,
  { ctx, caller, plugin: name, alias, path, timeoutMs, signal }: ProxyRequest,
): Promise<void> {
  const plugin = consolePlugins.get(name);
  const entry = plugin?.isEnabled ? plugin.proxies.get(alias) : undefined;
  if (entry === undefined) throw unknownPath();
  checkForm(ctx);
  const { req, method } = ctx;
  const length = announcedLength(req.headers);
  const answer = await pluginServices.request({
    call: 'proxy',
    plugin: name,
    service: entry.service,
    caCertificate: entry.caCertificate,
    method,
    path: path.escaped,
    query: ctx.querystring,
    headers: {
      ...headersToService(req.headers),
      ...authorizationFor(entry, caller),
      'x-request-id': ctx.state.requestId,
      ...(hasBody(req) && length !== undefined && { 'content-length': String(length) }),
    },
    body: hasBody(req) ? requestBody(ctx, maxBytes) : undefined,
    timeoutMs,
    signal,
  });
  forwardAnswer(ctx, answer);
}

/** @throws StatusError 400 */
function checkForm({ req, querystring }: Context): void {
  refuseBody(req, ['GET', 'HEAD']);
  if (!/^[!-~]*$/.test(querystring)) throw badRequest('the query contains characters that must be percent-encoded');
}

/**
 * Returns the caller's own token if the ConsolePlugin requests it. Access tokens are never passed on: they are valid for months and carry
 * all rights of their owner. The caller gets an error instead, because the Service would treat the request as anonymous.
 *
 * @throws StatusError 403
 */
function authorizationFor({ authorization }: ProxyEntry, { token, accessToken }: Caller): { authorization?: string } {
  if (authorization !== 'UserToken') return {};
  if (accessToken !== undefined || token.startsWith('cat_')) {
    const message = 'this plugin is given the token of its caller, and an access token is never passed on: log in instead';
    throw new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'AccessTokenNotForwarded', message }] } });
  }
  return { authorization: `Bearer ${token}` };
}

function forwardAnswer(ctx: Context, { statusCode, headers, body }: Awaited<ReturnType<PluginServices['request']>>): void {
  const length = announcedLength(headers);
  const isHead = ctx.method === 'HEAD';
  const isRedirect = statusCode >= 300 && statusCode < 400 && statusCode !== 304;
  // 407 requests credentials for a proxy, which would be this service.
  if (statusCode < 200 || isRedirect || statusCode === 407 || statusCode > 599 || (!isHead && (length ?? 0) > maxBytes)) {
    discard(body);
    const why = `the Service answered ${statusCode} with ${length ?? 'unbounded'} bytes`;
    throw serviceUnavailable('the plugin', { cause: new Error(why) });
  }
  ctx.status = statusCode;
  ctx.set({ ...headersToPage(headers), 'Content-Security-Policy': policy, 'X-Frame-Options': 'DENY' });
  closeOnUnreadBody(ctx);
  const hasNoBody = isHead || [204, 205, 304].includes(statusCode);
  if (hasNoBody) discard(body);
  else {
    if (headers['content-type'] === undefined) ctx.set('Content-Type', 'application/octet-stream');
    ctx.body = body;
  }
  if (length !== undefined && (isHead || !hasNoBody)) ctx.length = length;
}
