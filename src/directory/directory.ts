/**
 * Synchronises User records with the LDAP directories that users come from, and verifies passwords there. Permissions and all other changes
 * of records are left to other modules.
 */
import { type AnswerDescription, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { auditCaller } from '../audit/audit.ts';
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
const forbidden: AnswerDescription = { description: 'RBAC denies it.' };
const content = { 'application/json': syncResult };

const syncUsers = (sync: UserSync, { access }: Services) =>
  operation({
    id: 'SyncUsers',
    method: 'PUT',
    paths: ['/auth/v1/users/sync'],
    tag: 'users',
    summary: 'Synchronises users with their directories',
    description:
      'New entries become users, and users without an entry become invalid. A directory that cannot be read completely changes nothing.',
    credential: 'required',
    before: [compressed, longRunning(() => true)],
    query: syncQuery,
    body: syncBody,
    answers: {
      200: { description: 'The results by directory.', content },
      202: { description: 'The synchronisation is still running.', content },
      403: forbidden,
      404: { description: 'The directory does not exist.' },
      409: { description: 'Another synchronisation is running.' },
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
    summary: 'Shows the running or the last synchronisation',
    credential: 'required',
    before: [compressed],
    answers: {
      200: { description: 'The results so far.', content },
      403: forbidden,
      404: { description: 'No synchronisation has run yet.' },
    },
    async handle({ ctx, caller, signal }) {
      await access.require(caller, { ...right, verb: 'get' }, signal);
      ctx.body = await sync.last(signal);
    },
  });
