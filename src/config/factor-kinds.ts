import { relyingPartyOf } from './relying-party.ts';
import type { Config } from './schema.ts';

/** What a user can set up; recovery codes come with it. */
export type FactorKind = 'passkey' | 'totp';

/** What can be set up here. A factor that exists is asked all the same: to switch its kind off must weaken no account. */
export function kindsOf({ login: { factors }, server: { publicURL } }: Config): readonly FactorKind[] {
  const hasPasskeys = factors.passkeys && publicURL !== undefined && relyingPartyOf(publicURL) !== undefined;
  return [...(hasPasskeys ? (['passkey'] as const) : []), ...(factors.totp ? (['totp'] as const) : [])];
}
