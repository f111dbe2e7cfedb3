import { StatusError } from '../api/status.ts';
import type { Bearer } from './operation.ts';

/**
 * A thief of an access token must not be able to outlast it: it makes no further credential and changes no password
 * (docs/contract/teams.md).
 *
 * @param what as in "an access token cannot …"
 * @throws StatusError 403, cause `AccessTokenNotAllowed`
 */
export function requireNoAccessToken({ accessToken }: Bearer, what: string): void {
  if (accessToken === undefined) return;
  const message = `an access token cannot ${what}: log in, or send a token of the identity provider`;
  throw new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'AccessTokenNotAllowed', message }] } });
}
