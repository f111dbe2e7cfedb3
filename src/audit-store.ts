/** `atrium audit-store`: owns the audit events of an installation, for the replicas of the service. */
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import type { AuditDatabase } from '@atrium/audit-store/store.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import type { Logger } from 'pino';
import { ConfigError } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { StoreServer } from './store-server/server.ts';

/** @throws ConfigError if no account may call the store, or its database cannot be opened */
export async function openStoreServer(options: { config: Config; connection: Connection; log: Logger }): Promise<StoreServer> {
  const { auditStore } = options.config;
  if (auditStore.callers.length === 0)
    throw new ConfigError([
      { path: 'auditStore.callers', message: 'is required: name the service account of Atrium, as system:serviceaccount:NAMESPACE:NAME' },
    ]);
  return new StoreServer({ ...options, store: await openDatabase(auditStore, options.log) });
}

async function openDatabase({ databaseFile: file, postgres }: Config['auditStore'], log: Logger): Promise<AuditDatabase> {
  if (postgres === undefined)
    return await SqliteStore.open(file).catch((error: Error) => {
      throw new ConfigError([{ path: 'auditStore.databaseFile', message: `${file} cannot be opened (${error.message})` }]);
    });
  // A store in a file needs no driver.
  const [{ PostgresStore }, { postgresServer }] = await Promise.all([
    import('@atrium/audit-store/postgres-store.ts'),
    import('./store-server/postgres-server.ts'),
  ]);
  const server = await postgresServer(postgres).catch((error: Error) => {
    throw new ConfigError([{ path: 'auditStore.postgres', message: error.message }]);
  });
  // The error of a connection has the whole client beside its message.
  return await PostgresStore.open(server, (error) => log.warn({ reason: error.message }, 'connection to PostgreSQL has ended')).catch(
    (error: Error) => {
      const { host, port, database } = server;
      const message = `the database ${database} at ${host}:${port} cannot be opened (${reasonOf(error)})`;
      throw new ConfigError([{ path: 'auditStore.postgres', message }]);
    },
  );
}

/** A name with several addresses has an error for each, and no message. */
const reasonOf = (error: Error): string => (error instanceof AggregateError ? reasonOf(error.errors[0]) : error.message);
