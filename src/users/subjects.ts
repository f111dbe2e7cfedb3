/** Operation that lets a record forget the accounts of external issuers and the directory entry. */
import type { Caller } from '@atrium/http/caller.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { notFound, StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { dryRun } from '@atrium/objects/write-options.ts';
import { z } from 'zod';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { UsersContext } from './context.ts';
import { type Account, accountOf, directoryType, forgottenSub } from './record/account.ts';
import { UserRecords } from './record/records.ts';
import { readUser, userName, userResource } from './record/schema.ts';
import { subjectNamesOf } from './record/subject-name.ts';

export const subjectOperations = (context: UsersContext): Operation[] => [
  operation({
    id: 'DeleteUserSubjects',
    method: 'DELETE',
    paths: ['/auth/v1/users/:name/subjects'],
    tag: 'users',
    summary: 'Removes the accounts of external issuers and the directory entry from a user',
    description:
      'Lets a user whose account was recreated at the issuer, or whose entry was recreated in the directory, log in again: the next login adds the new account, and the next synchronisation the entry with the address. Ends the sessions, tokens and access tokens of the user. Requires `update users/password`, and `impersonate users` for the name that Kubernetes sees.',
    credential: 'required',
    params: z.object({ name: userName }),
    query: z.object({ dryRun }),
    answers: {
      204: { description: 'The user has no account of an issuer, and no directory entry.' },
      403: { description: 'RBAC denies it, or the caller uses an access token.' },
      404: { description: 'The user does not exist, or has no account of an issuer and no directory entry.' },
      409: { description: 'The user was deleted meanwhile, or is an administrator whose Kubernetes name is unknown.' },
    },
    async handle({ ctx, caller, params: { name }, query, signal }) {
      const isDryRun = query.dryRun !== undefined;
      const { uid } = await unlinkSubjects(context, { name, isDryRun }, caller, signal);
      const target = { name, uid };
      if (!isDryRun) context.services.audit.recordWrite(ctx, caller, { audit: 'UserSubjectsDeleted', target, code: 204 });
      ctx.status = 204;
    },
  }),
];

/**
 * Lets a user log in whose account was created again at the issuer. The record forgets the old account, and the next login links the new
 * one. The subjects are removed last, so that a retry completes an interrupted request.
 *
 * @returns the user's record
 * @throws StatusError 401, 403, 404, 409, 503, 504
 */
async function unlinkSubjects(
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
  const hasSubjects = Array.isArray(held) && !held.every(isForgotten);
  const hasEntry = (account.directoryIDs ?? []).length > 0;
  if (!hasSubjects && !hasEntry) throw belongsToNone(name);
  if (isDryRun) return account;
  await endLinked(context, account, signal);
  let { metadata } = await endAccess({ user: account, change: unlinkedSubjects, withAccessTokens: true }, 'SubjectsForgotten', signal);
  // The access has ended, so the rest follows even if the caller leaves.
  if (hasEntry) ({ metadata } = await forgetEntry(context, account, neverAborts));
  await accounts.watch.waitForWrite(metadata.resourceVersion, signal);
  return account;
}

/** Removes the ids of directory entries. The next synchronisation or login gives the record to the entry that has its address. */
async function forgetEntry({ services }: UsersContext, { name, uid }: Account, signal: AbortSignal): Promise<KubernetesObject> {
  const records = new UserRecords(services.client);
  const written = await retryOnConflict(async () => {
    const object = await records.readInstalled(name, signal);
    if (object === undefined || object.metadata.uid !== uid) throw notFound(userResource, name);
    const ids = (readUser(object).spec?.ids ?? []).filter(({ type }) => type !== directoryType);
    return records.patch(object, { spec: { ids: ids.length > 0 ? ids : null } }, signal);
  }, signal);
  return written ?? contested();
}

function contested(): never {
  throw serviceUnavailable('kubernetes', { cause: new Error('concurrent writes of the User prevented the change') });
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
  new StatusError(404, 'NotFound', `users.auth.platform.io "${name}": the user has no account of an issuer and no directory entry`, {
    details: { name, group: userResource.group, kind: userResource.resource },
  });
