/**
 * Directories that users come from (LDAP): synchronising the User records with them, and judging the passwords that are kept there. What
 * a user may, and what becomes of the record otherwise, others know.
 */
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { type AnswerDescription, type Caller, type Operation, operation } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import { LeaseLock } from '../kubernetes/lease-lock.ts';
import type { DirectoryPasswords } from '../users/passwords/directory-passwords.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { userResource } from '../users/record/resource.ts';
import { DirectoryUsers, type SeenRecords } from './directory-users.ts';
import { directoryPasswords } from './passwords.ts';
import { syncBody, syncQuery, syncResult } from './schema.ts';
import { UserSync } from './user-sync.ts';

export interface DirectoryOptions {
  config: Config;
  client: ServiceClient;
  /** `kubernetes.namespace` */
  namespace: string;
  access: AccessReviews;
  accounts: AccountLookup;
  records: SeenRecords;
  audit: Audit;
  log: Logger;
  now?: () => Date;
}

/** The feature: its operations, the judge of passwords, and what it does by the clock. */
export interface Directory {
  operations: Operation[];
  /** Left out if there is no directory. */
  passwords: DirectoryPasswords | undefined;
  start(): void;
  stop(): Promise<void>;
}

export function createDirectory({ now = () => new Date(), ...options }: DirectoryOptions): Directory {
  const { client, namespace, log } = options;
  const config = options.config.users;
  const users = new DirectoryUsers({ ...options, idleDays: config.idleDays, now });
  const lock = new LeaseLock({ client, namespace, name: 'atrium-user-sync', log, now });
  const sync = new UserSync({ ...options, config, users, lock, now });
  return {
    operations: [syncUsers(sync, options), lastSync(sync, options)],
    passwords:
      config.ldap.length === 0
        ? undefined
        : directoryPasswords({ connectors: config.ldap, users, autoProvision: config.autoProvision, log }),
    start: () => sync.start(),
    stop: () => sync.stop(),
  };
}

type Rights = Pick<DirectoryOptions, 'access'>;

const right = { ...userResource, subresource: 'sync' };
const forbidden: AnswerDescription = { description: 'The API server says no.' };
const content = { 'application/json': syncResult };

const syncUsers = (sync: UserSync, { access }: Rights) =>
  operation({
    id: 'SyncUsers',
    method: 'PUT',
    paths: ['/auth/v1/users/sync'],
    tag: 'users',
    summary: 'Synchronises users with the directories that they come from',
    description:
      'Who is new there becomes a user, who is gone becomes invalid. A directory that cannot be read to its end changes nothing.',
    credential: 'required',
    isCompressed: true,
    query: syncQuery,
    body: syncBody,
    isLongRunning: () => true,
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
      const origin = { ...auditOrigin(ctx), actor: actorOf(caller) };
      const timeoutMs = query.timeoutSeconds * 1000;
      const result = await sync.run({ connectorID, isDryRun, isForced, timeoutMs, origin }, signal);
      ctx.status = result.state === 'Running' ? 202 : 200;
      ctx.body = result;
    },
  });

const lastSync = (sync: UserSync, { access }: Rights) =>
  operation({
    id: 'GetUsersSync',
    method: 'GET',
    paths: ['/auth/v1/users/sync'],
    tag: 'users',
    summary: 'Shows the synchronisation that runs, or the last one',
    credential: 'required',
    isCompressed: true,
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

const actorOf = ({ identity: { name, uid } }: Caller) => ({ name, uid });
