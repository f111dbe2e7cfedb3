import * as client from 'openid-client';
import { type StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';

/** Fault in an answer of the issuer. The message has no text of the issuer, and may be logged. */
export class IssuerFault extends Error {
  override readonly name = 'IssuerFault';
}

/** Errors that concern this client or the moment, and not the grant (RFC 6749 section 5.2). */
const passingErrors: readonly string[] = ['invalid_client', 'temporarily_unavailable'];

/** RFC 6749 section 5.2 reserves 401 for failed client authentication; Keycloak answers so to a wrong secret. */
const isWrongSecret = ({ status, error }: client.ResponseBodyError): boolean => status === 401 && error === 'unauthorized_client';

/** Reports whether an answer of the token endpoint means that the refresh token is permanently invalid (docs/contract/login.md). */
export const isFinal = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError &&
  (error.status === 400 || error.status === 401) &&
  !passingErrors.includes(error.error) &&
  !isWrongSecret(error);

export const isInvalidGrant = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError && error.error === 'invalid_grant' && error.status < 500;

/** Builds the 503. Errors of openid-client may have tokens, hosts and texts of the issuer, and are not passed on. */
export const issuerUnavailable = (error: unknown, retryAfterSeconds = 1): StatusError =>
  serviceUnavailable('identity provider', { cause: new IssuerFault(faultOf(error)), retryAfterSeconds });

/** Builds the 401 about a parameter of the callback. */
export const callbackRefused = (field: 'code' | 'id_token'): StatusError => {
  const message = field === 'code' ? 'was not accepted by the identity provider' : 'does not verify';
  return unauthorized({ tokenGiven: false, causes: [{ reason: 'FieldValueInvalid', message, field }] });
};

/** Registered error codes (RFC 6749, 5.2). Any other value is free text of the issuer. */
const registered: readonly string[] = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
];

/** Describes an error in a few words for the log and `/readyz`: codes, no names, no text of the issuer. */
export function faultOf(error: unknown): string {
  if (error instanceof client.ResponseBodyError)
    return `answered ${error.status}${registered.includes(error.error) ? ` ${error.error}` : ''}`;
  const member = unusableMember(error);
  if (member !== undefined) return `gave no usable ${member}`;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof IssuerFault) return cause.message;
    if (cause.name === 'TimeoutError') return 'did not answer in time';
    if ('code' in cause && typeof cause.code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(cause.code)) return cause.code;
  }
  return 'gave an answer that cannot be used';
}

/** Returns the member of an answer that openid-client refuses, read from the message of that library. */
function unusableMember(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { member } = /^(?:"response" body "|unsupported `)(?<member>\w+)["`]/.exec(cause.message)?.groups ?? {};
    if (member !== undefined) return member;
  }
  return undefined;
}
