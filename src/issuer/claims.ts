import type { Identity } from '@atrium/http/caller.ts';
import { fitsHeader, grantableGroups, isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { type StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import { z } from 'zod';
import { usernamePrefixOf } from '../config/issuers.ts';
import type { Login } from '../users/logins/recorder.ts';
import { recordName } from '../users/record/account.ts';
import { machineNamePrefix } from '../users/record/federation.ts';
import { isLocalGroupName, withoutLocalGroups } from '../users/record/local-groups.ts';
import type { ClaimRules } from './settings.ts';

/** Maximum length of `status.subjectName` of a User. */
const maxNameLength = 512;

const alwaysUsed = ['sid', 'auth_time', 'acr', 'email', 'email_verified', 'name', 'preferred_username'];
const maxClaimLength = 2048;

const scalar = z.union([z.string().max(maxClaimLength), z.number(), z.boolean()]);
/** Claim values that sessions and caches keep: scalars of bounded length and lists of scalars, without nested values. */
const plainClaim = z.union([scalar, z.array(scalar)]);
const federatedClaims = z.object({ connector_id: scalar.optional(), user_id: scalar.optional() });

/** Returns the claims that the service uses. Drops malformed values, except of claims whose form is checked where they are used. */
export function usedClaims(claims: VerifiedClaims, { claims: { username, groups }, extClaims, acr: acrNames }: ClaimRules): VerifiedClaims {
  const { iss, sub, exp, iat, federated_claims } = claims;
  const acr = Object.entries(acrNames ?? {}).find(([, theirs]) => theirs === claims.acr)?.[0];
  const used: Record<string, unknown> = {};
  for (const name of new Set([...alwaysUsed, ...extClaims])) {
    const value = plainClaim.safeParse(claims[name]);
    if (value.success) used[name] = value.data;
  }
  for (const name of ['email', 'email_verified', username, groups]) if (claims[name] !== undefined) used[name] = claims[name];
  const federated = federatedClaims.safeParse(federated_claims);
  return { ...used, ...(acr !== undefined && { acr }), ...(federated.success && { federated_claims: federated.data }), iss, sub, exp, iat };
}

/** Claims that identify a user. */
const identifyingClaims = ({ claims: { username, groups } }: ClaimRules) => [...new Set([username, groups, 'email'])];

/** Reports whether identifying claims are missing, so that the userinfo endpoint is asked. */
export const isIncomplete = (claims: VerifiedClaims, rules: ClaimRules): boolean =>
  identifyingClaims(rules).some((name) => claims[name] === undefined);

/**
 * Reports whether the issuer announces that the token omits groups, as Entra ID does for members of more than 200 (distributed claims,
 * OpenID Connect Core 5.6.2; `hasgroups` in the id_token flow).
 */
export function omitsGroups(claims: VerifiedClaims, { claims: { groups } }: ClaimRules): boolean {
  const { _claim_names: names, hasgroups } = claims;
  return hasgroups === true || (typeof names === 'object' && names !== null && Object.hasOwn(names, groups));
}

/** Returns the names of identifying claims that are known, but missing from a token. @param token undefined for an opaque token */
export const missingIdentifyingClaims = (token: VerifiedClaims | undefined, known: VerifiedClaims, rules: ClaimRules): string[] =>
  identifyingClaims(rules).filter((name) => token?.[name] === undefined && known[name] !== undefined);

/** Adds missing claims from the userinfo endpoint's answer about the same subject. */
export const completed = (claims: VerifiedClaims, info: Readonly<Record<string, unknown>>, rules: ClaimRules): VerifiedClaims =>
  usedClaims({ ...info, ...claims }, rules);

export const emailOf = ({ email }: VerifiedClaims): string | undefined => (typeof email === 'string' && email !== '' ? email : undefined);

/** Like the API server, trusts a missing claim and rejects any value other than `true`. */
const isEmailDoubtful = ({ email_verified: isVerified }: VerifiedClaims) => isVerified !== undefined && isVerified !== true;

/** Claims of a verified token that name no user who can log in. The message is for the user of the token. */
export class UnfitClaims extends Error {
  override readonly name = 'UnfitClaims';
}

/** Builds the 401 for unfit claims. */
export function unfit(message: string): StatusError {
  const refused = unauthorized({ tokenGiven: true });
  refused.cause = new UnfitClaims(message);
  return refused;
}

/** Reports whether the email identifies the record: it is the user name in the cluster, or the issuer is embedded or has verified it. */
const isEmailTelling = (claims: VerifiedClaims, { claims: { username }, isEmbedded }: ClaimRules): boolean =>
  isEmbedded || (username === 'email' ? !isEmailDoubtful(claims) : claims.email_verified === true);

/**
 * Reports whether a login may adopt a record that has no subject of this issuer yet (docs/contract/login.md). A record that is found by
 * `sub` may be adopted by it.
 */
export const mayAdopt = (claims: VerifiedClaims, rules: ClaimRules, login: string): boolean =>
  isEmailTelling(claims, rules) || login === claims.sub;

/**
 * Returns the login string that names a user's record: the email claim if it is verified, otherwise the username claim unless it could be
 * an address, otherwise `sub`.
 *
 * @throws StatusError 401 for an unverified email as user name, and for an invalid login string
 */
export function loginOf(claims: VerifiedClaims, rules: ClaimRules): string {
  const { username } = rules.claims;
  if (username === 'email' && isEmailDoubtful(claims)) throw unfit('has an email that is not verified');
  const email = isEmailTelling(claims, rules) ? emailOf(claims) : undefined;
  const login = email ?? nameOf(claims[username]) ?? claims.sub;
  if (recordName(login) === undefined) throw unfit('names no legal login string');
  return login;
}

/** Ignores addresses: `email_verified` is about the email claim only. */
function nameOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw unfit('names no legal login string');
  return value.includes('@') || value === '' ? undefined : value;
}

/**
 * Returns the identity in Kubernetes from the claims alone, by the rules of the API server's own OpenID Connect authenticator.
 *
 * @throws StatusError 401
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#configuring-the-api-server
 */
export function identityOf(claims: VerifiedClaims, rules: ClaimRules, groups = claimedGroups(claims, rules)): Identity {
  const { username } = rules.claims;
  const value = claims[username];
  if (typeof value !== 'string' || value === '') throw unfit(`has no ${username} claim that names a user`);
  if (username === 'email' && isEmailDoubtful(claims)) throw unfit('has an email that is not verified');
  const name = usernamePrefixOf(rules) + value;
  const isForeign = rules.foreign?.usernames.some((prefix) => name.startsWith(prefix));
  const isReserved = isReservedName(name) || name.startsWith(machineNamePrefix);
  if (isForeign || isReserved || name.length > maxNameLength || !fitsHeader(name)) throw unfit('names no user who may log in');
  if (claims.sub !== '' && (claims.sub.length > maxNameLength || !fitsHeader(claims.sub)))
    throw unfit('has a subject that no header can carry');
  return { name, uid: claims.sub, groups: groups.named, extra: {} };
}

/** Groups of a login. */
export interface ClaimedGroups {
  /** Names in Kubernetes: with the issuer's prefix, and with local groups if the issuer is the embedded one. */
  readonly named: readonly string[];
  /** Names without prefix and without local groups, as the record keeps them. */
  readonly plain: readonly string[];
  /**
   * Dropped names: those that the cluster or another issuer reserves, and names that are empty, too long, or have a blank at an edge or
   * control characters. A header would alter such a name, and the API server would refuse each call.
   */
  readonly unusable: readonly string[];
}

/**
 * Returns the groups of the claim. Local groups have no prefix, and only the embedded issuer may name them: other names of that form are
 * dropped, with and without prefix. Dropping is safe, because groups only add rights. The size of a token bounds their number.
 *
 * @throws StatusError 401 for a claim that is no list of texts
 */
export function claimedGroups(
  claims: VerifiedClaims,
  { claims: { groups, groupsPrefix }, foreign, isEmbedded }: ClaimRules,
): ClaimedGroups {
  const given = [...new Set(listOf(claims[groups]))];
  const { groups: foreignPrefixes = [] } = foreign ?? {};
  const usable = grantableGroups(given).filter((group) => !foreignPrefixes.some((prefix) => (groupsPrefix + group).startsWith(prefix)));
  const [used, plain] = [new Set(usable), withoutLocalGroups(usable)];
  const local = isEmbedded ? usable.filter(isLocalGroupName) : [];
  const prefixed = withoutLocalGroups(plain.map((group) => groupsPrefix + group));
  return { named: [...grantableGroups(prefixed), ...local], plain, unusable: given.filter((group) => !used.has(group)) };
}

function listOf(value: unknown): readonly string[] {
  const given = value === undefined || value === null ? [] : typeof value === 'string' ? [value] : value;
  if (!Array.isArray(given) || !given.every((group) => typeof group === 'string')) throw unfit('has groups that are not a list of strings');
  return given;
}

/** Claim of Dex about the source of a user, one of several behind one issuer. */
const connectorClaims = z.object({ connector_id: z.string().min(1), user_id: z.string().default('') });

/** Source of the embedded issuer's own users. No other issuer's claim gives it, because administrators are among these users. */
const local = { type: 'local', id: 'local', name: 'Local' };

export interface ConnectorRules {
  /** True for the embedded issuer. */
  isEmbedded: boolean;
  /** Directories whose users log in at the embedded issuer. */
  directories: readonly { id: string; name: string }[];
}

/** Returns the source of a user, and the user's identity there. */
export function connectorOf(claims: VerifiedClaims, { isEmbedded, directories }: ConnectorRules): Pick<Login, 'connector' | 'sourceID'> {
  const federated = connectorClaims.safeParse(claims.federated_claims).data;
  if (isEmbedded) {
    const directory = directories.find(({ id }) => id === federated?.connector_id);
    return { connector: directory ? { type: 'ldap', id: directory.id, name: directory.name } : local };
  }
  const id = federated === undefined || federated.connector_id === local.id ? 'oidc' : federated.connector_id;
  return { connector: { type: 'oidc', id, name: id }, sourceID: { type: id.slice(0, 63), id: federated?.user_id || claims.sub } };
}
