import { isIP } from 'node:net';

/** Who we are to authenticators (WebAuthn 5.4.2): they keep passkeys by host, and browsers say at which address one was used. */
export interface RelyingParty {
  /** Host of `server.publicURL`. */
  readonly id: string;
  readonly origin: string;
}

/** Undefined where browsers have no passkeys: at an IP address, and on http anywhere but on `localhost`. */
export function relyingPartyOf(publicURL: string): RelyingParty | undefined {
  const { protocol, hostname, origin } = new URL(publicURL);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  const isTrusted = protocol === 'https:' || hostname === 'localhost';
  return isTrusted && !isAddress ? { id: hostname, origin } : undefined;
}
