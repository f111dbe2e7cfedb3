import type { IssuerConfig } from '../config/issuers.ts';

/** Rules that map claims to a user. */
export interface ClaimRules extends Readonly<Pick<IssuerConfig, 'claims' | 'extClaims'>> {
  readonly issuer: string;
  /** True for the embedded issuer, which alone knows the members of local groups. Default: false. */
  readonly isEmbedded?: boolean;
  /** Values of `acr` at the issuer, by the names that this service uses. */
  readonly acr?: Readonly<Record<string, string>>;
  /** Prefixes of the other issuers. User names that begin with one are refused here, and such groups are dropped. */
  readonly foreign?: { readonly usernames: readonly string[]; readonly groups: readonly string[] };
}

/** Settings of one issuer. */
export interface IssuerSettings extends ClaimRules, Readonly<Omit<IssuerConfig, keyof ClaimRules | 'isEmbedded'>> {
  /** True if further issuers are configured. */
  readonly isOneOfSeveral: boolean;
  /** True if the API server receives the tokens (`kubernetes.credentials: passthrough`); otherwise calls impersonate the user. */
  readonly isForwarded: boolean;
}
