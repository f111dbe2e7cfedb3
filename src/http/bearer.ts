import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { unauthorized } from '../api/status.ts';
import type { Bearer } from './operation.ts';
import { headerValues } from './raw-headers.ts';

/** RFC 6750 section 2.1 (b64token), case-insensitive scheme (RFC 9110 section 11.1). */
const bearerHeader = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * The bearer token of a request, or undefined if there is no `Authorization` header at all.
 *
 * A header that is present is never ignored: another scheme, an empty token or a second header would otherwise turn a caller who
 * believes to be logged in into an anonymous one.
 *
 * @throws StatusError 401
 */
export function readBearer(request: IncomingMessage): Bearer | undefined {
  if (request.headers.authorization === undefined) return undefined;
  const given = headerValues(request, 'authorization');
  const token = given.length === 1 ? bearerHeader.exec(given[0] ?? '')?.[1] : undefined;
  if (token === undefined) throw unauthorized({ tokenGiven: true });
  return { token, hash: hash('sha256', token) };
}
