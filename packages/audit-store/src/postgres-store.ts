import { Kysely, PostgresDialect, sql } from 'kysely';
import { Pool, type PoolConfig, types } from 'pg';
import { migrate } from './migrations.ts';
import { type EventDatabase, readIndex } from './queries.ts';
import { usualSegmentSize } from './segments.ts';
import { SqlStore } from './sql-store.ts';
import type { Tables } from './tables.ts';

/** Number of the lock that one writer holds at a time; any number that nothing else in the database uses. */
const writerLock = 5_315_315;

const connections = {
  max: 4,
  connectionTimeoutMillis: 5_000,
  /** A server that does not answer must not hold a batch for ever. */
  query_timeout: 30_000,
  keepAlive: true,
} satisfies PoolConfig;

/** Address of a server, whole or in parts. */
export type PostgresServer = Pick<PoolConfig, 'connectionString' | 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'>;

/** Events in PostgreSQL. */
export class PostgresStore extends SqlStore {
  /**
   * Connects, and brings the schema up to date.
   *
   * @param onIdleError called when a connection breaks while nothing uses it; the next call connects again
   * @throws Error if the server cannot be reached, or the schema cannot be brought up to date
   */
  static async open(server: PostgresServer, onIdleError: (error: Error) => void, segmentSize = usualSegmentSize): Promise<PostgresStore> {
    // Numbers of 64 bits arrive as text; times and sequences fit into a double.
    const typed = {
      getTypeParser: ((oid: number) => (oid === types.builtins.INT8 ? Number : types.getTypeParser(oid))) as typeof types.getTypeParser,
    };
    const pool = new Pool({ ...connections, ...server, types: typed });
    pool.on('error', onIdleError);
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    const opened: EventDatabase = {
      db,
      begin: (transaction) =>
        // A server that is set to `off` answers before the disk has a transaction. A table that has grown since its last statistics would
        // be read whole for the ids of a batch. All other settings stay.
        sql`select pg_advisory_xact_lock(${writerLock}), set_config('enable_seqscan', 'off', true), set_config('synchronous_commit',
          replace(current_setting('synchronous_commit'), 'off', 'on'), true)`.execute(transaction),
      segmentSize,
      indexed: 0,
      isIndexing: false,
    };
    try {
      await migrate(db, { bigint: 'bigint', bytes: 'bytea' });
      await readIndex(opened);
    } catch (error) {
      await db.destroy();
      throw error;
    }
    return new PostgresStore(opened);
  }
}
