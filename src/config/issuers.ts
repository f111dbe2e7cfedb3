/** Issuers of logins from the configuration: a single one in `login.issuer`, or several in `login.issuers`. */
import type { oneIssuer } from './login-sections.ts';
import type { Config } from './schema.ts';

type Login = Config['login'];
type Entry = Login['issuers'][number];

/** Settings of an issuer. */
export interface IssuerConfig
  extends Omit<Pick<Login, keyof typeof oneIssuer>, 'issuer'>,
    Pick<Entry, 'id' | 'name' | 'emailDomains' | 'acr' | 'redirectURL' | 'cli'> {
  /** Issuer identifier. */
  readonly issuer: string;
  readonly isEmbedded: boolean;
}

/** Returns the address of the embedded OpenID provider; undefined if it is disabled or has no address. */
export function identityURLOf({ server, login, identity }: Config): string | undefined {
  const { issuer, issuers } = login;
  const isUsed = issuers.length > 0 ? issuers.some((entry) => entry.issuer === undefined) : issuer === undefined;
  const isEnabled = identity.enabled ?? isUsed;
  return isEnabled && server.publicURL !== undefined ? `${server.publicURL.replace(/\/{1,8}$/, '')}/identity` : undefined;
}

const known = new WeakMap<Config, readonly IssuerConfig[]>();

/** Returns the issuers in the order of the configuration; empty if login is not configured. */
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
    if (issuer === undefined) return [];
    const audiences = isEmbedded ? [...entry.audiences, commandLineOf(config, entry).clientID] : entry.audiences;
    return [{ ...entry, audiences, issuer, isEmbedded }];
  });
}

/** Returns the public client of command-line tools at an issuer, and the scopes that they ask for. */
export function commandLineOf({ login }: Config, { cli, scopes: own }: Pick<Entry, 'cli' | 'scopes'>) {
  const { clientID = login.cli.clientID, scopes = login.cli.scopes ?? own } = cli;
  return { clientID, scopes };
}

const plain = { name: undefined, emailDomains: [], acr: {}, redirectURL: undefined };

/** Returns how the service calls the API server for users of an issuer. */
export const credentialsFor = ({ kubernetes }: Config, { isEmbedded }: Pick<IssuerConfig, 'isEmbedded'>) =>
  kubernetes.credentials ?? (isEmbedded ? 'impersonate' : 'passthrough');

/** Returns the issuer of logins that name none; undefined if login is not configured. */
export const issuerOf = (config: Config): string | undefined => issuersOf(config)[0]?.issuer;

/** Returns the embedded issuer if users log in there. */
export const embeddedIssuerOf = (config: Config): string | undefined => issuersOf(config).find(({ isEmbedded }) => isEmbedded)?.issuer;

/** Returns the settings of the embedded issuer; without logins there, the settings of `login`. */
export const embeddedLoginOf = (config: Config) => issuersOf(config).find(({ isEmbedded }) => isEmbedded) ?? config.login;

/** Returns the settings of the console's client at the embedded issuer. */
export function embeddedClientOf(config: Config): Omit<ReturnType<typeof embeddedLoginOf>, 'redirectURL'> & Pick<Login, 'redirectURLs'> {
  const { redirectURL } = issuersOf(config).find(({ isEmbedded }) => isEmbedded) ?? {};
  return { ...embeddedLoginOf(config), redirectURLs: redirectURL === undefined ? config.login.redirectURLs : [redirectURL] };
}

/** Returns the prefix of user names from an issuer, like the API server. */
export function usernamePrefixOf({ issuer, claims: { username, usernamePrefix } }: Pick<IssuerConfig, 'issuer' | 'claims'>): string {
  if (usernamePrefix === '-') return '';
  if (usernamePrefix) return usernamePrefix;
  return username === 'email' ? '' : `${issuer}#`;
}

/** Returns the issuer whose account names the user; undefined without a record or issuers. */
export function namingIssuerOf(config: Config, member: Member | undefined): IssuerConfig | undefined {
  if (member === undefined) return undefined;
  const { subjects = [], linked = [], isLocal } = member;
  const issuers = issuersOf(config);
  if (issuers.length < 2) return issuers[0];
  const embedded = issuers.find(({ isEmbedded }) => isEmbedded);
  // Linked accounts give the user no name, and the record's groups do not come from them.
  const naming = subjects.filter(({ issuer }) => !linked.some((one) => one.issuer === issuer));
  const named = naming.flatMap(({ issuer }) => issuers.find((one) => one.issuer === issuer) ?? []);
  return (isLocal ? embedded : named[0]) ?? named[0] ?? embedded ?? issuers[0];
}

/** Returns the prefix of the groups that a record has from an issuer. */
export const groupsPrefixOf = (config: Config, member: Member): string =>
  (namingIssuerOf(config, member) ?? config.login).claims.groupsPrefix;

/** Returns the groups of a record from all its issuers, as Kubernetes sees them. */
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
