import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { unauthorized } from '../api/status.ts';
import type { Bearer } from './operation.ts';

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
