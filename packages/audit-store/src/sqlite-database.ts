import { DatabaseSync } from 'node:sqlite';
import { Kysely, SqliteDialect } from 'kysely';
import { migrate } from './migrations.ts';
import { type EventDatabase, readIndex } from './queries.ts';
import { usualSegmentSize } from './segments.ts';
import type { Tables } from './tables.ts';

const usedBytes = `select (page_count - freelist_count) * page_size as bytes
  from pragma_page_count, pragma_freelist_count, pragma_page_size`;

/** Bytes of recordings, which have an end of their own. The statement reads all their rows. */
const recordedBytes = 'select coalesce(sum(length(lines)), 0) as bytes from recording_parts';
const lookMs = 60_000;

/**
 * Opens a file of SQLite with the tables. Each transaction is on disk when it ends. Statements hold the thread: only a worker calls it.
 *
 * @throws Error if the file cannot be opened, or its schema cannot be brought up to date
 */
export async function openSqlite(file: string, segmentSize = usualSegmentSize): Promise<EventDatabase> {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  const db = new Kysely<Tables>({
    dialect: new SqliteDialect({
      database: {
        close: () => database.close(),
        prepare(sql) {
          // SQLite ends a transaction by itself when the disk is full. A rollback would fail then, and hide the reason.
          const statement = database.prepare(sql === 'rollback' && !database.isTransaction ? 'select 0' : sql);
          const values = (parameters: readonly unknown[]) => parameters as (string | number | Uint8Array)[];
          return {
            reader: statement.columns().length > 0,
            all: (parameters) => statement.all(...values(parameters)),
            run: (parameters) => statement.run(...values(parameters)),
            iterate: (parameters) => statement.iterate(...values(parameters)),
          };
        },
      },
    }),
  });
  await migrate(db, { bigint: 'integer', bytes: 'blob' });
  const [used, ofRecordings] = [database.prepare(usedBytes), database.prepare(recordedBytes)];
  let [recorded, lookedAt] = [0, Number.NEGATIVE_INFINITY];
  const bytes = () => {
    if (performance.now() - lookedAt >= lookMs) {
      recorded = Number(ofRecordings.get()?.bytes);
      lookedAt = performance.now();
    }
    return Number(used.get()?.bytes) - recorded;
  };
  // This thread is the only writer.
  const opened = { db, begin: async () => undefined, segmentSize, indexed: 0, isIndexing: false, bytes };
  await readIndex(opened);
  return opened;
}
