import { isIP } from 'node:net';
import type { Config } from './schema.ts';

/** Relying party of the service (WebAuthn 5.4.2): authenticators store passkeys by host, and browsers report the origin of their use. */
export interface RelyingParty {
  /** Host of `server.publicURL`. */
  readonly id: string;
  readonly origin: string;
}

/** Returns undefined where browsers have no passkeys: at an IP address, and with http on hosts other than `localhost`. */
export function relyingPartyOf(publicURL: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(publicURL);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  const isTrusted = protocol === 'https:' || hostname === 'localhost';
  return isTrusted && !isAddress ? { id: hostname, origin } : undefined;
}

/** Kind of a second factor. Recovery codes are set up with it. */
export type FactorKind = 'passkey' | 'totp';

/** Returns the kinds that users can set up. Existing factors of a disabled kind are still required, so that no account is weakened. */
export function kindsOf({ login: { factors }, server: { publicURL } }: Config): readonly FactorKind[] {
  const hasPasskeys = factors.passkeys && publicURL !== undefined && relyingPartyOf(publicURL) !== undefined;
  return [...(hasPasskeys ? (['passkey'] as const) : []), ...(factors.totp ? (['totp'] as const) : [])];
}
