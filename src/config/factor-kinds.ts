import { relyingPartyOf } from './relying-party.ts';
import type { Config } from './schema.ts';

/** Kind of a second factor. Recovery codes are set up with it. */
export type FactorKind = 'passkey' | 'totp';

/** Returns the kinds that users can set up. Existing factors of a disabled kind are still required, so that no account is weakened. */
export function kindsOf({ login: { factors }, server: { publicURL } }: Config): readonly FactorKind[] {
  const hasPasskeys = factors.passkeys && publicURL !== undefined && relyingPartyOf(publicURL) !== undefined;
  return [...(hasPasskeys ? (['passkey'] as const) : []), ...(factors.totp ? (['totp'] as const) : [])];
}
