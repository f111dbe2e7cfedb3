import * as client from 'openid-client';
import { type StatusError, serviceUnavailable, unauthorized } from '../api/status.ts';

/** What was wrong with an answer of the issuer, in our words: they may be logged. */
export class IssuerFault extends Error {
  override readonly name = 'IssuerFault';
}

/** The refusals of RFC 6749 section 5.2 that say nothing about the grant, but about ourselves or the moment. */
const passingErrors: readonly string[] = ['invalid_client', 'temporarily_unavailable'];

/** By that section, 401 is for a client that has not proved itself and for nothing else; Keycloak says so to a wrong secret. */
const isWrongSecret = ({ status, error }: client.ResponseBodyError): boolean => status === 401 && error === 'unauthorized_client';

/** Whether an answer of the token endpoint means that this refresh token will never work again (docs/contract/login.md). */
export const isFinal = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError &&
  (error.status === 400 || error.status === 401) &&
  !passingErrors.includes(error.error) &&
  !isWrongSecret(error);

export const isInvalidGrant = (error: unknown): boolean =>
  error instanceof client.ResponseBodyError && error.error === 'invalid_grant' && error.status < 500;

/** 503. What openid-client throws may hold tokens, hosts and the issuer's own words: none of it goes on. */
export const issuerUnavailable = (error: unknown, retryAfterSeconds = 1): StatusError =>
  serviceUnavailable('identity provider', { cause: new IssuerFault(faultOf(error)), retryAfterSeconds });

/** 401 about a parameter of the callback. */
export const callbackRefused = (field: 'code' | 'id_token'): StatusError => {
  const message = field === 'code' ? 'was not accepted by the identity provider' : 'does not verify';
  return unauthorized({ tokenGiven: false, causes: [{ reason: 'FieldValueInvalid', message, field }] });
};

/** RFC 6749, 5.2: whatever else stands there is the issuer's own text. */
const registered: readonly string[] = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
];

/** In few words, for the log and for `/readyz`: codes, no names, nothing that the issuer said. */
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

/** The member of an answer that openid-client refuses, by the words of that library. */
function unusableMember(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { member } = /^(?:"response" body "|unsupported `)(?<member>\w+)["`]/.exec(cause.message)?.groups ?? {};
    if (member !== undefined) return member;
  }
  return undefined;
}
