import type { KeepSession, StandardResource } from '../collection/resource-declaration.ts';
import type { UsersContext } from './context.ts';
import { UserDeleter } from './delete.ts';
import { userKind, userListSchema, userName, userSchema } from './record/schema.ts';
import { isSelf } from './record/subject-name.ts';
import { servedText, type UserRow, userProperties } from './row.ts';
import { userStrategy } from './strategy.ts';
import type { NewUser, UserPatch } from './user-body.ts';

/** Bound of concurrent deletions. Most of them wait for a write that removes many members from a group. */
const deletedAtOnce = 40;

const writeForbidden = {
  description: 'RBAC denies it, the caller would gain rights of another user, or an access token would set a password.',
};

/** Users as a resource with the standard operations. */
export const userDefinition = (context: UsersContext, keepSession: KeepSession): StandardResource<UserRow, NewUser, UserPatch> => ({
  kind: userKind,
  path: '/auth/v1/users',
  listPath: '/auth/v2/users',
  listSchema: userListSchema,
  tag: 'users',
  ids: { one: 'User', many: 'Users' },
  nouns: { one: 'user', many: 'users' },
  name: userName,
  schema: userSchema,
  properties: userProperties,
  textOf: servedText,
  strategy: userStrategy(context),
  deleter: new UserDeleter(context),
  isOwn: (row, caller) => isSelf(row?.account, caller),
  get: { summary: 'Shows a user: the caller, or a user that the caller may get', openToPasswordDue: true },
  create: {
    summary: 'Creates a local user, who can log in at once',
    answers: { 403: writeForbidden, 409: { description: 'A user with this e-mail address exists. Case is ignored.' } },
    audit: 'UserCreated',
  },
  patch: {
    summary: 'Changes a user: the own display name and password, or any field with the right to patch users',
    description:
      'A JSON Patch may add, replace and test. A new password and disabling end the sessions and tokens of the user. Users who change their own password keep their session.',
    openToPasswordDue: true,
    answers: {
      403: writeForbidden,
      409: { description: 'The version differs from the expected one, or the user is the last administrator.' },
    },
    audit: 'UserPatched',
    example: { op: 'replace', path: '/spec/username', value: 'Jane Roe' },
    keepSession,
  },
  delete: {
    summary: 'Deletes a user with sessions, tokens, password and memberships',
    description:
      'Role bindings that name the user stay, and a warning reports their number. A later user of that name would gain their roles.',
    answers: {
      204: { description: 'Gone.', headers: { Warning: 'Number of role bindings that still name the user.' } },
      403: { description: 'RBAC denies it, or the user is the caller.' },
      409: { description: 'The user is the last administrator, or does not match the preconditions.' },
    },
    audit: 'UserDeleted',
  },
  deleteMany: { summary: 'Deletes named or selected users', resultKind: 'UserDeleteResult', atOnce: deletedAtOnce },
});
