import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { headersTooLarge } from '../../api/status.ts';
import { checkHost } from '../client-address.ts';

const maxHeaders = 200;
/** Bound of the request line and of all headers except those that carry a bearer token. */
const maxHeaderBytes = 16 * 1024;
/** A credential up to this length counts with the rest. */
const maxShort = 1024;
const carriesCredential = /^(?:authorization|sec-websocket-protocol)$/i;

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
