import { badRequest, type StatusCause, StatusError, unauthorized, wholeRetrySeconds } from '@atrium/objects/status.ts';
import { UnfitClaims } from '../issuer/claims.ts';
import { type AccountPhase, addressChanged, factorRequired, subjectDiffers } from '../users/record/conditions.ts';

/** Error codes of the authorization endpoint that mean that the user was refused. All other codes concern the request. */
const refusals = ['access_denied', 'login_required', 'consent_required', 'interaction_required', 'account_selection_required'];

/** Other registered codes (RFC 6749 4.1.2.1, OpenID Connect Core 3.1.2.6). Any other value is free text. */
const otherCodes = [
  'invalid_request',
  'unauthorized_client',
  'unsupported_response_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'invalid_request_uri',
  'invalid_request_object',
  'request_not_supported',
  'request_uri_not_supported',
  'registration_not_supported',
];

export const isRegisteredCode = (code: string): boolean => refusals.includes(code) || otherCodes.includes(code);

/** 400 for a `state` that is unknown, expired, of another browser or used. The answer does not say which. */
export const invalidSession = () => {
  const message = 'invalid authentication session';
  return badRequest(message, [{ reason: 'FieldValueInvalid', message, field: 'state' }]);
};

/** The issuer refused the authorization request. */
export function authorizationRefused(code: string): StatusError {
  const message = 'the identity provider refused the authorization request';
  const causes: StatusCause[] = [{ ...(isRegisteredCode(code) && { reason: code }), message, field: 'error' }];
  return refusals.includes(code) ? unauthorized({ tokenGiven: false, message, causes }) : badRequest(message, causes);
}

/** Converts a 401 about a token to one about the `id_token` of the callback; returns other errors unchanged. */
export function idTokenRefused(error: unknown): unknown {
  if (!(error instanceof StatusError) || error.status.code !== 401) return error;
  const [cause] = error.status.details?.causes ?? [];
  if (cause?.field !== undefined) return error;
  const message = error.cause instanceof UnfitClaims ? error.cause.message : 'does not verify';
  const refused = unauthorized({ tokenGiven: false, causes: [{ reason: 'FieldValueInvalid', message, ...cause, field: 'id_token' }] });
  refused.cause = error.cause;
  return refused;
}

/** The issuer authenticated a person who may not log in here. */
export const noSuchUser = () => {
  const message = 'there is no user of this name who may log in';
  return unauthorized({ tokenGiven: false, message, causes: [{ reason: 'FieldValueInvalid', message, field: 'id_token' }] });
};

/** The user may not log in now. For a locked account the answer has a `Retry-After`. */
export function phaseRefused({ phase, reason, lockedUntil }: AccountPhase, now: Date): StatusError {
  const cause = phaseCause(phase, reason);
  const refused = unauthorized({ tokenGiven: false, message: cause.message, causes: [cause] });
  if (lockedUntil === undefined) return refused;
  const retryAfterSeconds = wholeRetrySeconds(lockedUntil.getTime() - now.getTime());
  return new StatusError(401, 'Unauthorized', cause.message, {
    details: { causes: [cause], retryAfterSeconds },
    headers: { ...refused.headers },
  });
}

function phaseCause(phase: AccountPhase['phase'], reason: AccountPhase['reason']) {
  if (phase === 'Invalid') return { reason: 'AccountInvalid', message: 'the account is no longer valid' };
  if (phase === 'Locked') return { reason: 'AccountLocked', message: 'the account is locked for a while' };
  if (reason === 'Expired') return { reason: 'AccountExpired', message: 'the account has expired' };
  return { reason: 'AccountDisabled', message: 'the account is disabled' };
}

export const notAcceptedByCluster = () => {
  const message = 'the cluster does not accept the token';
  return unauthorized({ tokenGiven: false, message, causes: [{ reason: 'NotAcceptedByCluster', message }] });
};

/** Refuses a verified login for the given cause. */
const refusedFor = (cause: StatusCause) => unauthorized({ tokenGiven: false, message: cause.message ?? 'Unauthorized', causes: [cause] });

/** A login with a linked account has no second factor, and a rule requires it. */
export const withoutFactor = () => refusedFor(factorRequired);

/** The record belongs to another account of this issuer, which the answer does not reveal. */
export const otherSubject = () => refusedFor(subjectDiffers);

/** The account had another name before, and access under that name has ended. */
export const otherAddress = () => refusedFor(addressChanged);

/** The account to be linked belongs to another user, whom the answer does not reveal. */
export const accountTaken = () => {
  const message = 'this account is that of another user here, so that it cannot be linked';
  return unauthorized({ tokenGiven: false, message, causes: [{ ...subjectDiffers, message }] });
};
