import type { IncomingMessage } from 'node:http';
import { badRequest } from '../api/status.ts';

/** A name or an address, and a port (RFC 9110, 7.2), of what names and addresses are made of in practice. */
const validHost = /^(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** What stands before us may go by another `Host` than we do (RFC 9112, 3.2). @throws StatusError 400 */
export function checkHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  let count = 0;
  let host = '';
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    count += 1;
    host = rawHeaders[index + 1] ?? '';
  }
  if (count === 0 && httpVersion === '1.0') return;
  if (count !== 1 || !validHost.test(host)) throw badRequest('the request needs one Host header that names a host');
}
