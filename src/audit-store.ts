/** `atrium audit-store`: owns the audit events of an installation, for the replicas of the service. */
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import type { Logger } from 'pino';
import { ConfigError } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { StoreServer } from './store-server/server.ts';

/** @throws ConfigError if no account may call the store, or its file cannot be opened */
export async function openStoreServer(options: { config: Config; connection: Connection; log: Logger }): Promise<StoreServer> {
  const { databaseFile: file, callers } = options.config.auditStore;
  if (callers.length === 0)
    throw new ConfigError([
      { path: 'auditStore.callers', message: 'is required: name the service account of Atrium, as system:serviceaccount:NAMESPACE:NAME' },
    ]);
  const store = await SqliteStore.open(file).catch((error: Error) => {
    throw new ConfigError([{ path: 'auditStore.databaseFile', message: `${file} cannot be opened (${error.message})` }]);
  });
  return new StoreServer({ ...options, store });
}
