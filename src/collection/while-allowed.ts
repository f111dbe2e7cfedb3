import type { Context } from 'koa';
import { forbidden } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { Bearer } from '../http/operation.ts';
import { type Lasting, whilePermitted } from '../http/while-permitted.ts';
import type { AccessReviews, ResourceAccess } from '../kubernetes/access.ts';

const leastRightMs = 1_000;

export interface WhileAllowedOptions {
  /** Checks the credential of the request again. */
  again: Authenticator['revalidate'];
  /** `kubernetes.accessCache`, in milliseconds. */
  accessCacheMs: number;
}

/** Whether the caller may still see what is shown. @throws StatusError 403 if not */
export type RightCheck = (bearer: Bearer, signal: AbortSignal) => Promise<void>;

/** Asks the API server for one right. */
export const rightCheck =
  (access: AccessReviews, right: ResourceAccess, user: string): RightCheck =>
  async (bearer, signal) => {
    if (!(await access.can(bearer, right, signal))) throw forbidden({ ...right, user });
  };

/**
 * How long an open watch may go on: until the credential or the right that it began with is gone. A list that is asked for again and again
 * must not show less. What cannot be asked does not end it.
 */
export function whileAllowed(
  ctx: Context,
  { check, signal: outer }: { check: RightCheck; signal: AbortSignal },
  { again, accessCacheMs }: WhileAllowedOptions,
): Lasting {
  // Twice in the time for which a decision may count: a watch must not show more, for longer, than a list would.
  const rightMs = Math.max(accessCacheMs / 2, leastRightMs);
  let askedAt = performance.now();
  return whilePermitted(outer, async (signal) => {
    const bearer = await again(ctx);
    if (performance.now() - askedAt < rightMs) return;
    await check(bearer, signal);
    askedAt = performance.now();
  });
}
