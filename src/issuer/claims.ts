import { z } from 'zod';
import { type StatusError, unauthorized } from '../api/status.ts';
import { usernamePrefixOf } from '../config/issuers.ts';
import type { Identity } from '../http/operation.ts';
import { fitsHeader, isReservedGroup } from '../kubernetes/impersonation.ts';
import type { Subject } from '../users/record/account.ts';
import { isLocalGroupName } from '../users/record/local-groups.ts';
import { recordName } from '../users/record/name.ts';
import type { ClaimRules, VerifiedClaims } from './types.ts';

/** `status.subjectName` of a User and the members of `status.groups` are no longer. */
const maxNameLength = 512;
const maxGroupLength = 253;

const alwaysUsed = ['sid', 'auth_time', 'acr', 'email', 'email_verified', 'name', 'preferred_username'];
const maxClaimLength = 2048;

const scalar = z.union([z.string().max(maxClaimLength), z.number(), z.boolean()]);
/** What a session and a cache keep of a claim: nothing deep, nothing large but the groups. */
const plainClaim = z.union([scalar, z.array(scalar)]);
const federatedClaims = z.object({ connector_id: scalar.optional(), user_id: scalar.optional() });

/** The claims that have a use here. What has not the form of its use stays away, but for those whose form is checked where they are used. */
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

/** Claims that decide who a user is. */
const decisive = ({ claims: { username, groups } }: ClaimRules) => [...new Set([username, groups, 'email'])];

/** Whether claims that have a use are missing, which the userinfo endpoint may know. */
export const isIncomplete = (claims: VerifiedClaims, rules: ClaimRules): boolean =>
  decisive(rules).some((name) => claims[name] === undefined);

/**
 * Returns whether the issuer says that it keeps groups back, as Entra ID does for members of more than 200 (distributed claims, OpenID Connect
 * Core 5.6.2; `hasgroups` in the id_token flow).
 */
export function keepsGroupsBack(claims: VerifiedClaims, { claims: { groups } }: ClaimRules): boolean {
  const { _claim_names: names, hasgroups } = claims;
  return hasgroups === true || (typeof names === 'object' && names !== null && Object.hasOwn(names, groups));
}

/** Names of decisive claims that are known and that a token does not tell. @param token undefined for an opaque one */
export const untoldBy = (token: VerifiedClaims | undefined, known: VerifiedClaims, rules: ClaimRules): string[] =>
  decisive(rules).filter((name) => token?.[name] === undefined && known[name] !== undefined);

/** The claims, and what was missing among them from the userinfo endpoint's answer about the same subject. */
export const completed = (claims: VerifiedClaims, info: Readonly<Record<string, unknown>>, rules: ClaimRules): VerifiedClaims =>
  usedClaims({ ...info, ...claims }, rules);

export const emailOf = ({ email }: VerifiedClaims): string | undefined => (typeof email === 'string' && email !== '' ? email : undefined);

/** As the API server has it: no claim is no doubt, anything else but `true` is. */
const isEmailDoubtful = ({ email_verified: isVerified }: VerifiedClaims) => isVerified !== undefined && isVerified !== true;

/** Why a token that verified names no user who can log in; for the user who logs in with it. */
export class UnfitClaims extends Error {
  override readonly name = 'UnfitClaims';
}

/** 401 */
export function unfit(message: string): StatusError {
  const refused = unauthorized({ tokenGiven: true });
  refused.cause = new UnfitClaims(message);
  return refused;
}

/** Whether the email says whose record it is: the cluster knows the user by it anyway, or the issuer has verified it or read it there. */
const isEmailTelling = (claims: VerifiedClaims, { claims: { username }, isEmbedded }: ClaimRules): boolean =>
  isEmbedded || (username === 'email' ? !isEmailDoubtful(claims) : claims.email_verified === true);

/**
 * Whether a login may link a record that belongs to no subject of this issuer yet (docs/contract/login.md). What is found by `sub` is linked by it.
 */
export const mayLink = (claims: VerifiedClaims, rules: ClaimRules, login: string): boolean =>
  isEmailTelling(claims, rules) || login === claims.sub;

/**
 * The login string that names a user's record: the email claim; where that is not verified, the username claim, unless it could be
 * an address, else `sub`.
 *
 * @throws StatusError 401 for an unverified email that is to be the user name, and for what is no legal login string
 */
export function loginOf(claims: VerifiedClaims, rules: ClaimRules): string {
  const { username } = rules.claims;
  if (username === 'email' && isEmailDoubtful(claims)) throw unfit('has an email that is not verified');
  const email = isEmailTelling(claims, rules) ? emailOf(claims) : undefined;
  const login = email ?? nameOf(claims[username]) ?? claims.sub;
  if (recordName(login) === undefined) throw unfit('names no legal login string');
  return login;
}

/** An address in another claim is not verified. */
function nameOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw unfit('names no legal login string');
  return value.includes('@') || value === '' ? undefined : value;
}

/**
 * The identity by the claims alone, by the rules of the API server's own OpenID Connect authenticator.
 *
 * @throws StatusError 401
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authentication/#configuring-the-api-server
 */
export function identityOf(claims: VerifiedClaims, rules: ClaimRules): Identity {
  const { username, groups } = rules.claims;
  const value = claims[username];
  if (typeof value !== 'string' || value === '') throw unfit(`has no ${username} claim that names a user`);
  if (username === 'email' && isEmailDoubtful(claims)) throw unfit('has an email that is not verified');
  const name = usernamePrefixOf(rules) + value;
  const isForeign = rules.foreign?.usernames.some((prefix) => name.startsWith(prefix));
  if (isForeign || name.startsWith('system:') || name.length > maxNameLength || !fitsHeader(name))
    throw unfit('names no user who may log in');
  if (claims.sub !== '' && (claims.sub.length > maxNameLength || !fitsHeader(claims.sub)))
    throw unfit('has a subject that no header can carry');
  return { name, uid: claims.sub, groups: groupsOf(claims[groups], rules), extra: {} };
}

/** The account at the issuer; undefined at the embedded one, whose `sub` names one record by itself. */
export const subjectOf = ({ iss, sub }: VerifiedClaims, { isEmbedded }: ClaimRules): Subject | undefined =>
  isEmbedded ? undefined : { issuer: iss, sub };

/** The issuer's groups by the claim alone, without prefix, as the record keeps them: those that are kept here are not among them. */
export const plainGroupsOf = (claims: VerifiedClaims, rules: ClaimRules): string[] =>
  groupsOf(claims[rules.claims.groups], { ...rules, prefix: '', isEmbedded: false });

/**
 * The groups that the issuer tells and that are dropped: those that the cluster keeps for itself, an empty one, one with a blank at its edge,
 * with control characters, or too long. A header would carry another name, and the API server would refuse each call of their member.
 */
export const unusableGroupsOf = (claims: VerifiedClaims, rules: ClaimRules): string[] =>
  [...new Set(givenGroups(claims[rules.claims.groups]))].filter((group) => !isUsable(group) || isForeign(group, rules));

const isForeign = (group: string, { claims: { groupsPrefix }, foreign }: ClaimRules): boolean =>
  foreign?.groups.some((prefix) => (groupsPrefix + group).startsWith(prefix)) === true;

const isUsable = (group: string) => group.length <= maxGroupLength && fitsHeader(group) && !isReservedGroup(group);

function givenGroups(value: unknown): string[] {
  const given = value === undefined || value === null ? [] : typeof value === 'string' ? [value] : value;
  if (!Array.isArray(given) || !given.every((group) => typeof group === 'string')) throw unfit('has groups that are no list of texts');
  return given;
}

/**
 * Groups that are kept here have no prefix, and no other can be called like one, not even by its prefix. What is left out is safe to
 * leave out: groups only ever add rights. The size of a token bounds how many there are.
 */
function groupsOf(value: unknown, rules: ClaimRules & { prefix?: string }): string[] {
  const { prefix = rules.claims.groupsPrefix, isEmbedded } = rules;
  const given = givenGroups(value).filter((group) => isUsable(group) && !isForeign(group, rules));
  const local = isEmbedded ? given.filter(isLocalGroupName) : [];
  const foreign = given.filter((group) => !isLocalGroupName(group)).map((group) => prefix + group);
  const named = [...foreign.filter((group) => !isLocalGroupName(group)), ...local];
  return [...new Set(named.filter(isUsable))];
}
