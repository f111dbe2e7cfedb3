import type { IncomingMessage } from 'node:http';
import { headersTooLarge, methodNotAllowed, StatusError, unknownPath } from '@atrium/objects/status.ts';
import type { Middleware } from 'koa';

const maxHeaders = 200;
/** Bound of the request line and of all headers except those that carry a bearer token. */
const maxHeaderBytes = 16 * 1024;
/** A credential up to this length counts with the rest. */
const maxShort = 1024;
const carriesCredential = /^(?:authorization|sec-websocket-protocol)$/i;

/** A name or an address, and a port (RFC 9110, 7.2), of what names and addresses are made of in practice. */
const validHost = /^(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Refuses a request with too many or too large headers (431), or without one valid Host header (400). */
export const requestHead: Middleware = ({ req }, next) => {
  if (req.rawHeaders.length > 2 * maxHeaders || bytesWithoutCredential(req) > maxHeaderBytes) throw headersTooLarge();
  checkHost(req);
  return next();
};

function bytesWithoutCredential({ url = '', rawHeaders }: IncomingMessage): number {
  let bytes = url.length;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    bytes += name.length + (value.length > maxShort && carriesCredential.test(name) ? 0 : value.length);
  }
  return bytes;
}

/** Refuses a request without one valid Host header (RFC 9112, 3.2): a proxy might read it as another host. @throws StatusError 400 */
function checkHost(request: IncomingMessage): void {
  const given = headerValues(request, 'host');
  if (given.length === 0 && request.httpVersion === '1.0') return;
  if (given.length === 1 && validHost.test(given[0] ?? '')) return;
  // The proxy and the service may read the message in two ways, so the connection ends.
  throw new StatusError(400, 'BadRequest', 'the request needs one Host header that names a host', { headers: { Connection: 'close' } });
}

/**
 * Each value of a header as it came, repeated ones too, which `headers` joins or drops.
 *
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/**
 * Strips the base path of the public URL off the path. Redirects from the base path without its slash.
 *
 * @throws StatusError 404 outside of the base path, 405
 */
export function stripBasePath(basePath: string): Middleware {
  return (ctx, next) => {
    if (ctx.path === basePath) {
      if (ctx.method !== 'GET' && ctx.method !== 'HEAD') throw methodNotAllowed(ctx.method, ['GET', 'HEAD']);
      ctx.status = 308;
      ctx.set('Location', `${basePath}/${ctx.search}`);
      return undefined;
    }
    if (!ctx.path.startsWith(`${basePath}/`)) throw unknownPath();
    ctx.path = ctx.path.slice(basePath.length);
    return next();
  };
}
