import { notFound, passwordDue } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import type { UsersContext } from './context.ts';
import { userResource } from './record/resource.ts';
import { isSelf } from './record/subject-name.ts';
import type { UserRow } from './row.ts';

/**
 * Returns the caller's own record, or one that the caller may get.
 *
 * @throws StatusError 403 whether or not the user exists, 404, 503
 */
export async function getUser({ services, users }: UsersContext, name: string, caller: Caller, signal: AbortSignal): Promise<UserRow> {
  await users.lister.whenUsable(signal);
  if (!isSelf(users.cache.get(name)?.account, caller)) {
    if (caller.mustChangePassword) throw passwordDue();
    await services.access.require(caller, { ...userResource, verb: 'get', name }, signal);
  }
  return users.get(name, signal);
}

/** Returns the caller's record. @throws StatusError 404 if it does not exist, 503 */
export async function getOwnUser({ users, accounts }: UsersContext, caller: Caller, signal: AbortSignal): Promise<UserRow> {
  await users.lister.whenUsable(signal);
  const name = caller.user ?? accounts.ofSubject(caller.identity.name)?.name ?? '';
  const row = users.cache.get(name);
  if (row === undefined || !isSelf(row.account, caller)) throw notFound(userResource, name);
  return row;
}
