/** Step-up logins (RFC 9470): issuers may ignore `max_age` and `acr_values`, so the callback verifies the login against them. */
import type { Context } from 'koa';
import { StatusError, unauthorized } from '../api/status.ts';
import { readBearer } from '../http/authenticator.ts';
import { hasAcr } from '../http/step-up.ts';
import type { VerifiedClaims } from '../issuer/types.ts';
import type { SessionContext } from '../sessions/context.ts';
import type { Subject } from '../users/record/account.ts';
import { otherSubject } from './callback-errors.ts';
import type { Flow, StepUp } from './flow.ts';
import type { LoginQuery } from './schema.ts';

/** Tolerates the clock skew of issuers. */
const leewaySeconds = 60;

/** Returns the requirements of a step-up; undefined for any other login. @param current account that is logged in */
export function stepUpOf(
  { max_age, acr_values }: Pick<LoginQuery, 'max_age' | 'acr_values'>,
  current: Subject | undefined,
): StepUp | undefined {
  if (max_age === undefined && acr_values === undefined) return undefined;
  return {
    ...(max_age !== undefined && { maxAge: Number(max_age) }),
    ...(acr_values !== undefined && { acrValues: acr_values.split(' ').filter((value) => value !== '') }),
    ...(current && { iss: current.issuer, sub: current.sub }),
  };
}

/** Verifies that a login meets the requirements of its step-up. @throws StatusError 401 `StepUpNotMet`, `SubjectDiffers` */
export function checkStepUp({ stepUp, startedAt }: Flow, { auth_time: authTime, acr, iss, sub }: VerifiedClaims, now: Date): void {
  if (stepUp === undefined) return;
  const { maxAge, acrValues = [] } = stepUp;
  if (stepUp.sub !== undefined && (stepUp.sub !== sub || (stepUp.iss ?? iss) !== iss)) throw otherSubject();
  const isTooOld = maxAge !== undefined && !(typeof authTime === 'number' && authTime >= startedAt - maxAge - leewaySeconds);
  const isAhead = typeof authTime === 'number' && authTime > now.getTime() / 1000 + leewaySeconds;
  const isTooWeak = acrValues.length > 0 && !(typeof acr === 'string' && hasAcr(acr, acrValues));
  if (isTooOld || isAhead || isTooWeak) throw stepUpNotMet();
}

/** Refuses a login that is older than its flow, according to its `auth_time`. @throws StatusError 401 `StepUpNotMet` */
export function requireNewLogin({ startedAt }: Flow, { auth_time: authTime }: VerifiedClaims): void {
  if (typeof authTime === 'number' && authTime < startedAt - leewaySeconds) throw stepUpNotMet();
}

function stepUpNotMet() {
  const message = 'the identity provider gave another login than was asked for: too old, or too weak';
  return unauthorized({ tokenGiven: false, message, causes: [{ reason: 'StepUpNotMet', message }] });
}

/** Ignores a 401: a caller with an expired token begins a login like any other. */
function ignoreRefusal(error: unknown): undefined {
  if (error instanceof StatusError && error.status.code === 401) return undefined;
  throw error;
}

/** Returns the subject of the request's session or token; undefined if it is not valid. @throws StatusError 503 */
export async function currentSubject({ cookie, sessions, issuers }: SessionContext, ctx: Context): Promise<Subject | undefined> {
  const { source, signal } = ctx.state;
  const bearer = readBearer(ctx.req);
  if (bearer !== undefined) {
    const verified = await issuers.bearer(bearer).catch(ignoreRefusal);
    return verified === undefined || verified === 'not ours' ? undefined : subjectIn(verified.login.claims);
  }
  const secret = cookie.read(ctx);
  const session = secret === undefined ? undefined : await sessions.find(secret, source, signal, false);
  return session && subjectIn(session.secrets.tokens.claims);
}

const subjectIn = ({ iss, sub }: VerifiedClaims): Subject => ({ issuer: iss, sub });
