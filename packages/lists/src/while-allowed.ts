import type { Authenticator } from '@atrium/http/authenticator.ts';
import { actorOf, type Bearer, type Caller } from '@atrium/http/caller.ts';
import { type Lasting, whilePermitted } from '@atrium/http/while-permitted.ts';
import type { AccessReviews, ResourceAccess } from '@atrium/kubernetes/access.ts';
import type { LongRequests } from '@atrium/kubernetes/rbac/long-requests.ts';
import { forbidden } from '@atrium/objects/status.ts';
import type { Context } from 'koa';

const leastRightMs = 1_000;

export interface WhileAllowedOptions {
  /** Checks the credential of the request again. */
  again: Authenticator['revalidate'];
  /** `kubernetes.accessCache`, in milliseconds. */
  accessCacheMs: number;
  longRequests: LongRequests;
}

/** Checks that the caller may still see the rows. @throws StatusError 403 if not */
export type RightCheck = (bearer: Bearer, signal: AbortSignal) => Promise<void>;

/** Returns a check of one permission by the API server. */
export const rightCheck =
  (access: AccessReviews, right: ResourceAccess, user: string): RightCheck =>
  async (bearer, signal) => {
    if (!(await access.can(bearer, right, signal))) throw forbidden({ ...right, user });
  };

interface Checked {
  check: RightCheck;
  /** Default: unknown. */
  caller?: Caller;
  signal: AbortSignal;
}

/**
 * Ends an open watch once the credential or the permission that it began with is revoked, because it must not show more than repeated lists
 * would. A failed check does not end it.
 */
export function whileAllowed(
  ctx: Context,
  { check, caller, signal }: Checked,
  { again, accessCacheMs, longRequests }: WhileAllowedOptions,
): Lasting {
  const credential = whilePermitted(signal, async () => void (await again(ctx)));
  return longRequests.add(
    {
      ...(caller && { users: [caller.identity, actorOf(caller).identity] }),
      check: async (lasting) => check(await again(ctx), lasting),
      // Permissions are checked twice in the lifetime of a cached decision, so that a watch does not show rows for longer than a list
      // would.
      everyMs: Math.max(accessCacheMs / 2, leastRightMs),
    },
    credential,
  );
}
