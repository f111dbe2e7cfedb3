import { z } from 'zod';
import { partsOf } from '../api/reader.ts';
import { notFound, StatusError } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken, requireRecentLogin } from '../http/sensitive-writes.ts';
import { seenWithinMs } from '../kubernetes/deadline.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { UsersContext } from './context.ts';
import { type Account, accountOf, forgottenSub } from './record/account.ts';
import { UserRecords } from './record/records.ts';
import { readUser, userResource } from './record/schema.ts';
import { subjectNamesOf } from './record/subject-name.ts';

/**
 * Lets a user log in whose account was created again at the issuer. The record forgets the old account, and the next login links the new
 * one. The subjects are removed last, so that a retry completes an interrupted request.
 *
 * @returns the user's record
 * @throws StatusError 401, 403, 404, 409, 503, 504
 */
export async function unlinkSubjects(
  context: UsersContext,
  { name, isDryRun }: { name: string; isDryRun: boolean },
  caller: Caller,
  signal: AbortSignal,
): Promise<Account> {
  const { services, accounts, endAccess } = context;
  requireNoAccessToken('issuerAccounts', caller);
  await services.access.require(caller, { ...userResource, subresource: 'password', verb: 'update', name }, signal);
  const object = await new UserRecords(services.client).readInstalled(name, signal);
  if (object === undefined) throw notFound(userResource, name);
  const account = accountOf(object);
  await requireRights(context, account, caller, signal);
  requireRecentLogin('issuerAccounts', caller, services.config.login.stepUp, services.now());
  // Reads the stored status, because an `Account` has no subjects if its record is not canonical.
  const held = partsOf(object).status?.subjects;
  if (!Array.isArray(held) || held.every(isForgotten)) throw belongsToNone(name);
  if (isDryRun) return account;
  await endLinked(context, account, signal);
  const { metadata } = await endAccess({ user: account, change: unlinkedSubjects, withAccessTokens: true }, 'SubjectsForgotten', signal);
  await accounts.watch.waitFor(metadata.resourceVersion, seenWithinMs, signal);
  return account;
}

const isForgotten = (subject: unknown) => z.object({ sub: z.literal(forgottenSub) }).safeParse(subject).success;

/**
 * Returns the subjects with an empty `sub` but their issuers. A record without an issuer would belong to the embedded one, or to any issuer
 * that claims its address first. Linked accounts do not name the user, and are removed.
 */
function unlinkedSubjects(object: KubernetesObject): { subjects: object[] | null } {
  const naming = (readUser(object).status?.subjects ?? []).filter(({ linkedTime }) => linkedTime === undefined);
  return { subjects: naming.length > 0 ? naming.map(({ issuer }) => ({ issuer, sub: forgottenSub })) : null };
}

/**
 * Requires impersonation, because the account that the next login links acts as the user. Records of administrators are protected as from a
 * password reset.
 */
async function requireRights({ rights }: UsersContext, account: Account, caller: Caller, signal: AbortSignal): Promise<void> {
  for (const name of new Set([account.subjectName || account.email, ...subjectNamesOf(account)]))
    await rights.requireImpersonation(caller, name, signal);
  if (account.isAdmin) await rights.requireForPassword(caller, account, signal);
}

/**
 * Ends the tokens of linked accounts. Once an account is unlinked, its tokens do not belong to the record, and a write to the record does
 * not end them.
 */
async function endLinked({ services, endAccess }: UsersContext, account: Account, signal: AbortSignal): Promise<void> {
  const now = services.now();
  for (const { subjectName } of account.linked ?? [])
    if (subjectName !== '' && subjectName !== account.subjectName)
      await endAccess({ subject: { subjectName, record: account, now } }, 'SubjectsForgotten', signal);
}

const belongsToNone = (name: string) =>
  new StatusError(404, 'NotFound', `users.auth.platform.io "${name}": the user belongs to no account of an issuer`, {
    details: { name, group: userResource.group, kind: userResource.resource },
  });
