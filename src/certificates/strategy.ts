/** Rules of certificates: the users for whom a caller gets one, and the groups that it may name. */
import type { Caller } from '@atrium/http/caller.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { isReservedGroup, isReservedName } from '@atrium/kubernetes/impersonation.ts';
import { notFound, StatusError } from '@atrium/objects/status.ts';
import { groupsPrefixOf } from '../config/issuers.ts';
import type { Config } from '../config/schema.ts';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import { phaseOf } from '../users/record/conditions.ts';
import { isLocalGroupName } from '../users/record/local-groups.ts';
import { type AccountLookup, ownAccount, requireAccounts } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import type { CertificateRequest } from './schema.ts';

/** Dependencies of the feature. */
export interface CertificatesContext {
  readonly services: Services;
  readonly accounts: AccountLookup;
  /** Connection to the API server, which the kubeconfig of the certificate names. */
  readonly connection: Connection;
}

/** Owner of the requested certificate. */
export interface Person {
  /** Undefined for a caller without a User record. */
  account: Account | undefined;
  subjectName: string;
  groups: readonly string[];
}

/**
 * Returns the user that a request is about, with the groups that the certificate names, if the caller may have such a certificate.
 *
 * @throws StatusError 403, 404, 503
 */
export async function personOf(
  { user, groups }: CertificateRequest,
  caller: Caller,
  context: CertificatesContext,
  signal: AbortSignal,
): Promise<Person> {
  const { services, accounts } = context;
  const { access, config } = services;
  const now = services.now();
  requireAccounts(accounts);
  const own = ownAccount(accounts, caller);
  const name = user ?? own?.name;
  await access.require(caller, { ...userResource, subresource: 'authorize', verb: 'create', ...(name !== undefined && { name }) }, signal);
  if (name === own?.name) return person(own, caller.identity.name, chosen(caller.identity.groups, groups), { config, now });

  const account = accounts.get(name ?? '');
  if (account === undefined) throw notFound(userResource, name ?? '');
  const impersonation = { group: '', verb: 'impersonate' };
  await access.require(caller, { ...impersonation, resource: 'users', name: account.subjectName || account.email }, signal);
  const prefix = groupsPrefixOf(config, account);
  const theirs = account.groups.map((group) => prefix + group);
  const found = person(account, account.subjectName, chosen(theirs, groups), { config, now });
  await Promise.all(found.groups.map((group) => access.require(caller, { ...impersonation, resource: 'groups', name: group }, signal)));
  return found;
}

/** Builds the 403 about the content of a request. */
export const refused = (message: string) =>
  new StatusError(403, 'Forbidden', message, { details: { group: userResource.group, kind: userResource.resource } });

/** @throws StatusError 403 for a name of Kubernetes itself, and for a user who could not log in */
function person(
  account: Account | undefined,
  subjectName: string,
  groups: readonly string[],
  { config, now }: { config: Config; now: Date },
): Person {
  const { phase } = account ? phaseOf(account, now, config.users.idleDays) : { phase: 'Normal' };
  if (phase === 'Disabled' || phase === 'Invalid') throw refused(`the user is ${phase}: no certificate can be issued`);
  if (subjectName === '') throw refused('the user has never logged in: no certificate can be issued');
  if (isReservedName(subjectName)) throw refused(`${JSON.stringify(subjectName)} is reserved for Kubernetes: no certificate can be issued`);
  return { account, subjectName, groups };
}

/** @throws StatusError 403 for groups that the user does not have, or that no certificate may name */
function chosen(groups: readonly string[], asked: readonly string[] | undefined): readonly string[] {
  // Local groups are in tokens, which end with the account and the membership; a certificate would outlive both.
  const theirs = [...new Set(groups)].filter((group) => !isReservedGroup(group) && !isLocalGroupName(group));
  const foreign = asked?.find((group) => !theirs.includes(group));
  if (foreign !== undefined) throw refused(`${JSON.stringify(foreign)} is not a group that a certificate of this user may name`);
  return asked === undefined ? theirs : [...new Set(asked)];
}
