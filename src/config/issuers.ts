/** The issuers that people log in at, as the configuration names them: one by `login.issuer`, or several by `login.issuers`. */
import type { oneIssuer } from './login-sections.ts';
import type { Config } from './schema.ts';

type Login = Config['login'];
type Entry = Login['issuers'][number];

/** What is set for one issuer. */
export interface IssuerConfig
  extends Omit<Pick<Login, keyof typeof oneIssuer>, 'issuer'>,
    Pick<Entry, 'id' | 'name' | 'emailDomains' | 'acr' | 'redirectURL' | 'cli'> {
  /** Issuer identifier. */
  readonly issuer: string;
  readonly isEmbedded: boolean;
}

/** Address of the embedded OpenID provider; undefined if it does not run, or has no address. */
export function identityURLOf({ server, login, identity }: Config): string | undefined {
  const { issuer, issuers } = login;
  const isUsed = issuers.length > 0 ? issuers.some((entry) => entry.issuer === undefined) : issuer === undefined;
  const isEnabled = identity.enabled ?? isUsed;
  return isEnabled && server.publicURL !== undefined ? `${server.publicURL.replace(/\/{1,8}$/, '')}/identity` : undefined;
}

const known = new WeakMap<Config, readonly IssuerConfig[]>();

/** In the order of the configuration; none if login is not configured. */
export function issuersOf(config: Config): readonly IssuerConfig[] {
  const issuers = known.get(config) ?? readIssuers(config);
  known.set(config, issuers);
  return issuers;
}

function readIssuers(config: Config): readonly IssuerConfig[] {
  const { login } = config;
  const embedded = identityURLOf(config);
  const entries = login.issuers.length > 0 ? login.issuers : [{ ...login, id: login.issuer === undefined ? 'local' : 'oidc', ...plain }];
  return entries.flatMap(({ issuer = embedded, ...entry }, index) => {
    const isEmbedded = (login.issuers[index] ?? login).issuer === undefined;
    return issuer === undefined ? [] : [{ ...entry, issuer, isEmbedded }];
  });
}

const plain = { name: undefined, emailDomains: [], acr: {}, redirectURL: undefined };

/** The issuer that a login goes to which names none; undefined if login is not configured. */
export const issuerOf = (config: Config): string | undefined => issuersOf(config)[0]?.issuer;

/** The embedded issuer, if people log in there. */
export const embeddedIssuerOf = (config: Config): string | undefined => issuersOf(config).find(({ isEmbedded }) => isEmbedded)?.issuer;

/** What is set for the embedded issuer; where people do not log in there, what is set for one. */
export const embeddedLoginOf = (config: Config) => issuersOf(config).find(({ isEmbedded }) => isEmbedded) ?? config.login;

/** Of the console at the embedded issuer. */
export function embeddedClientOf(config: Config): Omit<ReturnType<typeof embeddedLoginOf>, 'redirectURL'> & Pick<Login, 'redirectURLs'> {
  const { redirectURL } = issuersOf(config).find(({ isEmbedded }) => isEmbedded) ?? {};
  return { ...embeddedLoginOf(config), redirectURLs: redirectURL === undefined ? config.login.redirectURLs : [redirectURL] };
}

/** Put before the user names of an issuer, as the API server does it. */
export function usernamePrefixOf({ issuer, claims: { username, usernamePrefix } }: Pick<IssuerConfig, 'issuer' | 'claims'>): string {
  if (usernamePrefix === '-') return '';
  if (usernamePrefix) return usernamePrefix;
  return username === 'email' ? '' : `${issuer}#`;
}

/** Where the account that names the user is; undefined without a record or issuers. */
export function namingIssuerOf(config: Config, member: Member | undefined): IssuerConfig | undefined {
  if (member === undefined) return undefined;
  const { subjects = [], linked = [], isLocal } = member;
  const issuers = issuersOf(config);
  if (issuers.length < 2) return issuers[0];
  const embedded = issuers.find(({ isEmbedded }) => isEmbedded);
  // A linked account names no one, and no group of the record is from there.
  const naming = subjects.filter(({ issuer }) => !linked.some((one) => one.issuer === issuer));
  const named = naming.flatMap(({ issuer }) => issuers.find((one) => one.issuer === issuer) ?? []);
  return (isLocal ? embedded : named[0]) ?? named[0] ?? embedded ?? issuers[0];
}

/** Put before the groups that a record got from an issuer. */
export const groupsPrefixOf = (config: Config, member: Member): string =>
  (namingIssuerOf(config, member) ?? config.login).claims.groupsPrefix;

/** The groups that a record got from all of its issuers, as Kubernetes sees them. */
export function groupNamesOf(config: Config, member: Member & { readonly groups: readonly string[] }): string[] {
  const prefix = groupsPrefixOf(config, member);
  const issuers = issuersOf(config);
  const ofLinked = (member.linked ?? []).flatMap(({ issuer, groups }) => {
    const known = issuers.find((one) => one.issuer === issuer);
    return known === undefined ? [] : groups.map((group) => known.claims.groupsPrefix + group);
  });
  return [...new Set([...member.groups.map((group) => prefix + group), ...ofLinked])];
}

interface Member {
  readonly subjects?: readonly { readonly issuer: string }[];
  readonly linked?: readonly { readonly issuer: string; readonly groups: readonly string[] }[];
  readonly isLocal: boolean;
}
