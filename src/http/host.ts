import type { IncomingMessage } from 'node:http';
import { StatusError } from '../api/status.ts';
import { headerValues } from './raw-headers.ts';

/** A name or an address, and a port (RFC 9110, 7.2), of what names and addresses are made of in practice. */
const validHost = /^(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Refuses a request without one valid Host header (RFC 9112, 3.2): a proxy might read it as another host. @throws StatusError 400 */
export function checkHost(request: IncomingMessage): void {
  const given = headerValues(request, 'host');
  if (given.length === 0 && request.httpVersion === '1.0') return;
  if (given.length === 1 && validHost.test(given[0] ?? '')) return;
  // The proxy and the service may read the message in two ways, so the connection ends.
  throw new StatusError(400, 'BadRequest', 'the request needs one Host header that names a host', { headers: { Connection: 'close' } });
}
