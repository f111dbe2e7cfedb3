import type { Context } from 'koa';
import type { Authenticator } from '../http/authenticator.ts';
import type { Bearer } from '../http/operation.ts';
import { forbidden, StatusError } from '../http/status.ts';
import type { AccessReviews, ResourceAccess } from '../kubernetes/access.ts';

/** Costs no call. */
const credentialMs = 1_000;

export interface WhileAllowedOptions {
  access: AccessReviews;
  /** Checks the credential of the request anew. */
  again: Authenticator['again'];
  /** `kubernetes.accessCache`, in milliseconds. */
  accessCacheMs: number;
}

export interface Lasting {
  /** Aborts with the given one, or with the 401 or 403 that the request would get now. */
  signal: AbortSignal;
  /** To be called when the request is over. */
  end(): void;
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
  const lost = new AbortController();
  const signal = AbortSignal.any([question.signal, lost.signal]);
  // Twice in the time for which a decision may count: a watch must not show more, for longer, than a list would.
  const rightMs = Math.max(accessCacheMs / 2, credentialMs);
  let askedAt = performance.now();
  let isChecking = false;
  const require = async (bearer: Bearer) => {
    if (!(await access.can(bearer, question.access, signal))) throw forbidden({ ...question.access, user: question.user });
  };
  const check = async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      const bearer = await again(ctx);
      if (performance.now() - askedAt >= rightMs) {
        await require(bearer);
        askedAt = performance.now();
      }
    } catch (error) {
      if (error instanceof StatusError && (error.status.code === 401 || error.status.code === 403)) lost.abort(error);
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void check(), credentialMs);
  const end = () => clearInterval(timer);
  signal.addEventListener('abort', end, { once: true });
  return { signal, end };
}
