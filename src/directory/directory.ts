/**
 * Synchronises User records with the LDAP directories that users come from, and verifies passwords there. Permissions and all other changes
 * of records are left to other modules.
 */
import { auditCaller } from '../http/audit.ts';
import { type AnswerDescription, type Operation, operation } from '../http/operation.ts';
import { compressed, longRunning } from '../http/preparations.ts';
import type { Services } from '../services.ts';
import type { DirectoryPasswords } from '../users/passwords/directory-passwords.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { userResource } from '../users/record/schema.ts';
import { DirectoryUsers, type SeenRecords } from './directory-users.ts';
import { directoryPasswords } from './passwords.ts';
import { syncBody, syncQuery, syncResult } from './schema.ts';
import { UserSync } from './user-sync.ts';

/** The feature: operations, verification of passwords, and scheduled synchronisation. */
interface Directory {
  operations: Operation[];
  /** Undefined if no directory is configured. */
  passwords: DirectoryPasswords | undefined;
  start(): void;
  stop(): Promise<void>;
}

export function createDirectory(services: Services, accounts: AccountLookup, records: SeenRecords): Directory {
  const users = new DirectoryUsers(services, accounts, records);
  const sync = new UserSync(services, users, accounts);
  return {
    operations: [syncUsers(sync, services), lastSync(sync, services)],
    passwords: services.config.users.ldap.length === 0 ? undefined : directoryPasswords(services, users),
    start: () => sync.start(),
    stop: () => sync.stop(),
  };
}

const right = { ...userResource, subresource: 'sync' };
const forbidden: AnswerDescription = { description: 'The API server says no.' };
const content = { 'application/json': syncResult };

const syncUsers = (sync: UserSync, { access }: Services) =>
  operation({
    id: 'SyncUsers',
    method: 'PUT',
    paths: ['/auth/v1/users/sync'],
    tag: 'users',
    summary: 'Synchronises users with the directories that they come from',
    description:
      'Who is new there becomes a user, who is gone becomes invalid. A directory that cannot be read to its end changes nothing.',
    credential: 'required',
    before: [compressed, longRunning(() => true)],
    query: syncQuery,
    body: syncBody,
    answers: {
      200: { description: 'What became of it, per directory.', content },
      202: { description: 'It takes longer, and goes on.', content },
      403: forbidden,
      404: { description: 'There is no such connector.' },
      409: { description: 'Another synchronisation is running, here or on another replica.' },
    },
    async handle({ ctx, caller, query, body, signal }) {
      await access.require(caller, { ...right, verb: 'update' }, signal);
      const { connector_id: connectorID, dryRun: isDryRun = false, force: isForced = false } = body ?? {};
      const origin = auditCaller(ctx, caller);
      const timeoutMs = query.timeoutSeconds * 1000;
      const result = await sync.run({ connectorID, isDryRun, isForced, timeoutMs, origin }, signal);
      ctx.status = result.state === 'Running' ? 202 : 200;
      ctx.body = result;
    },
  });

const lastSync = (sync: UserSync, { access }: Services) =>
  operation({
    id: 'GetUsersSync',
    method: 'GET',
    paths: ['/auth/v1/users/sync'],
    tag: 'users',
    summary: 'Shows the synchronisation that runs, or the last one',
    credential: 'required',
    before: [compressed],
    answers: {
      200: { description: 'What became of it, as far as it is.', content },
      403: forbidden,
      404: { description: 'There was none yet.' },
    },
    async handle({ ctx, caller, signal }) {
      await access.require(caller, { ...right, verb: 'get' }, signal);
      ctx.body = await sync.last(signal);
    },
  });
