import type { Caller } from '@atrium/http/caller.ts';
import { type StatusCause, StatusError } from '@atrium/objects/status.ts';

/** Required age and strength of a login. */
export interface StepUpPolicy {
  /** Milliseconds. */
  readonly maxAge: number;
  /** Accepted values of `acr`. Empty: any. */
  readonly acr: readonly string[];
}

/** Clocks of issuers differ. */
const leewaySeconds = 60;

/** `acr` of a login with a password and a second factor. */
export const twoFactors = 'urn:atrium:acr:2';
/** A passkey with user verification counts as two factors. */
const includedIn: Readonly<Record<string, string>> = { phr: twoFactors };

/** Reports whether the `acr` of a login is one of the values. */
export const hasAcr = (acr: string | undefined, values: readonly string[]): boolean =>
  acr !== undefined && (values.includes(acr) || values.includes(includedIn[acr] ?? ''));

/**
 * Requires a recent login (RFC 9470), so that a stolen session or token is not enough. Service accounts have no login, and are not
 * asked for one.
 *
 * @throws StatusError 401, cause `StepUpRequired`; 403, cause `StepUpNotPossible`, for a credential that no login can renew
 */
export function requireStepUp({ identity, accessToken, agent, login }: Caller, { maxAge, acr }: StepUpPolicy, now: Date): void {
  const isLent = accessToken !== undefined || agent !== undefined;
  if (!isLent && identity.name.startsWith('system:serviceaccount:')) return;
  if (isLent || login === undefined) throw notPossible();
  const age = now.getTime() / 1000 - login.authTime;
  const isFresh = age <= maxAge / 1000 && age >= -leewaySeconds;
  if (!isFresh || (acr.length > 0 && !hasAcr(login.acr, acr))) throw stepUpRequired({ maxAge, acr });
}

function stepUpRequired({ maxAge, acr }: StepUpPolicy): StatusError {
  const message = 'this operation requires a recent login: log in again';
  const cause: StatusCause = { reason: 'StepUpRequired', message };
  const values = acr.length > 0 ? `, acr_values="${acr.join(' ')}"` : '';
  const challenge = `Bearer realm="atrium", error="insufficient_user_authentication", max_age="${Math.floor(maxAge / 1000)}"${values}`;
  return new StatusError(401, 'Unauthorized', message, { details: { causes: [cause] }, headers: { 'WWW-Authenticate': challenge } });
}

function notPossible(): StatusError {
  const message =
    'this operation requires a recent login, and this credential carries no login time: log in and use the new session or token';
  return new StatusError(403, 'Forbidden', message, { details: { causes: [{ reason: 'StepUpNotPossible', message }] } });
}
