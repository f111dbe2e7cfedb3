import type { Operation } from '@atrium/http/operation.ts';
import { badRequest } from '@atrium/objects/status.ts';

/** Throws the 400 of a service without issuers. */
export function refuseUnconfigured(): never {
  throw badRequest('login is not configured');
}

/** Returns an operation that refuses every request before it reads the parameters: no parameter would help. */
export const unconfigured = (operation: Operation): Operation => ({ ...operation, before: [refuseUnconfigured] });
