import type { Context } from 'koa';
import { forbidden } from '../api/status.ts';
import type { Authenticator } from '../http/authenticator.ts';
import { type Lasting, whilePermitted } from '../http/while-permitted.ts';
import type { AccessReviews, ResourceAccess } from '../kubernetes/access.ts';

const leastRightMs = 1_000;

export interface WhileAllowedOptions {
  access: AccessReviews;
  /** Checks the credential of the request again. */
  again: Authenticator['again'];
  /** `kubernetes.accessCache`, in milliseconds. */
  accessCacheMs: number;
}

/**
 * How long an open watch may go on: until the credential or the right that it began with is gone. A list that is asked for again and again
 * must not show less. What cannot be asked does not end it.
 */
export function whileAllowed(
  ctx: Context,
  question: { access: ResourceAccess; user: string; signal: AbortSignal },
  { access, again, accessCacheMs }: WhileAllowedOptions,
): Lasting {
  // Twice in the time for which a decision may count: a watch must not show more, for longer, than a list would.
  const rightMs = Math.max(accessCacheMs / 2, leastRightMs);
  let askedAt = performance.now();
  return whilePermitted(question.signal, async (signal) => {
    const bearer = await again(ctx);
    if (performance.now() - askedAt < rightMs) return;
    if (!(await access.can(bearer, question.access, signal))) throw forbidden({ ...question.access, user: question.user });
    askedAt = performance.now();
  });
}
