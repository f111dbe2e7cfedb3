import { isIP } from 'node:net';
import { embeddedLoginOf } from './issuers.ts';
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

export type FactorRule = Config['login']['factors']['default'];

const byStrictness: readonly FactorRule[] = ['required', 'optional', 'off'];

/** User record with its groups. */
interface Member {
  readonly name: string;
  /** Groups from the issuer or directory, without prefix. */
  readonly groups: readonly string[];
}

/** Local groups of a user record, by their names in tokens. */
interface LocalGroupsOf {
  of(name: string): Iterable<string>;
}

/** Returns the strictest rule that applies to the user's groups, by their names in tokens, or the default if none applies. */
export function ruleOf({ groups, name }: Member, localGroups: LocalGroupsOf, config: Config): FactorRule {
  const { factors } = config.login;
  const { groupsPrefix } = embeddedLoginOf(config).claims;
  const held = new Set([...groups.map((group) => groupsPrefix + group), ...localGroups.of(name)]);
  const fitting = factors.rules.filter(({ group }) => held.has(group)).map((rule) => rule.factors);
  return byStrictness.find((rule) => fitting.includes(rule)) ?? factors.default;
}

/** Returns a function that reports whether a user can set up a second factor. */
export const mayEnrolBy =
  (config: Config, localGroups: LocalGroupsOf) =>
  (account: Member): boolean =>
    kindsOf(config).length > 0 && ruleOf(account, localGroups, config) !== 'off';
