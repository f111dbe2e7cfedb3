import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';

/** Names of types that the databases call differently. A primary key of SQLite is the row's own number if its type is `integer`. */
export interface ColumnTypes {
  bigint: 'integer' | 'bigint';
  bytes: 'blob' | 'bytea';
}

/** Returns the steps of the schema by name, in their order. A step that a release has is never changed. */
const migrations = ({ bigint, bytes }: ColumnTypes): Record<string, Migration> => ({
  '0001-events': {
    async up(db) {
      await db.schema
        .createTable('events')
        .addColumn('sequence', bigint, (column) => column.primaryKey())
        .addColumn('id', 'text', (column) => column.notNull().unique())
        .addColumn('time', bigint, (column) => column.notNull())
        .addColumn('cluster', 'text', (column) => column.notNull())
        .addColumn('actor', 'text', (column) => column.notNull())
        .addColumn('verb', 'text', (column) => column.notNull())
        .addColumn('api_group', 'text', (column) => column.notNull())
        .addColumn('resource', 'text', (column) => column.notNull())
        .addColumn('namespace', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('source', 'text', (column) => column.notNull())
        .addColumn('event', 'text', (column) => column.notNull())
        .addColumn('requester', 'text', (column) => column.notNull())
        .addColumn('outcome', 'text', (column) => column.notNull())
        .addColumn('session', 'text', (column) => column.notNull())
        .addColumn('request_id', 'text', (column) => column.notNull())
        .addColumn('rest', 'text', (column) => column.notNull())
        .addColumn('hash', bytes, (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('checkpoints')
        .addColumn('sequence', bigint, (column) => column.notNull())
        .execute();
      const index = (name: string, ...columns: string[]) =>
        db.schema
          .createIndex(name)
          .on('events')
          .columns([...columns, 'time', 'sequence'])
          .execute();
      await index('events_by_time');
      await index('events_by_actor', 'actor');
      await index('events_by_requester', 'requester');
      await index('events_by_object', 'resource', 'namespace', 'name');
      await index('events_by_namespace', 'namespace');
    },
  },
  '0002-segments': {
    async up(db) {
      for (const name of ['actor', 'requester', 'object', 'namespace']) await db.schema.dropIndex(`events_by_${name}`).execute();
      await db.schema
        .createTable('segments')
        .addColumn('first', bigint, (column) => column.primaryKey())
        .addColumn('last', bigint, (column) => column.notNull())
        .addColumn('oldest', bigint, (column) => column.notNull())
        .addColumn('newest', bigint, (column) => column.notNull())
        .addColumn('times', bytes, (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('postings')
        .addColumn('segment', bigint, (column) => column.notNull())
        .addColumn('key', bigint, (column) => column.notNull())
        .addColumn('places', bytes, (column) => column.notNull())
        .addPrimaryKeyConstraint('postings_by_key', ['segment', 'key'])
        .$call((table) => (bytes === 'blob' ? table.modifyEnd(sql`without rowid`) : table))
        .execute();
    },
  },
  '0003-exports': {
    async up(db) {
      await db.schema
        .createTable('exports')
        .addColumn('sequence', bigint, (column) => column.notNull())
        .execute();
    },
  },
  // Segments are made again when the store is opened. A step that adds values to the index removes them, too.
  '0004-buckets': {
    async up(db) {
      await db.schema.dropTable('postings').execute();
      await db.deleteFrom('segments').execute();
      await db.schema
        // SQLite keeps a quarter of a page in a row of a table without row numbers, and the rest of the row in pages of its own.
        .createTable('postings')
        .addColumn('segment', bigint, (column) => column.notNull())
        .addColumn('bucket', 'integer', (column) => column.notNull())
        .addColumn('postings', bytes, (column) => column.notNull())
        .addPrimaryKeyConstraint('postings_by_bucket', ['segment', 'bucket'])
        .execute();
      if (bytes === 'blob') return;
      // An index of hashes needs half as many bytes. The only writer looks for an id before it adds an event.
      await db.schema.alterTable('events').dropConstraint('events_id_key').execute();
      await db.schema.createIndex('events_by_id').on('events').using('hash').column('id').execute();
    },
  },
  '0005-joins': {
    async up(db) {
      await db.schema
        .createTable('joins')
        .addColumn('sequence', bigint, (column) => column.primaryKey())
        .addColumn('id', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('unjoined')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('door_id', 'text', (column) => column.notNull())
        .addColumn('time', bigint, (column) => column.notNull())
        .addColumn('event', 'text', (column) => column.notNull())
        .execute();
      await db.schema.createIndex('unjoined_by_door').on('unjoined').column('door_id').execute();
    },
  },
  '0006-recordings': {
    async up(db) {
      await db.schema
        .createTable('recordings')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('cluster', 'text', (column) => column.notNull())
        .addColumn('actor', 'text', (column) => column.notNull())
        .addColumn('namespace', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('started', bigint, (column) => column.notNull())
        .addColumn('changed', bigint, (column) => column.notNull())
        .addColumn('rest', 'text', (column) => column.notNull())
        .execute();
      await db.schema.createIndex('recordings_by_time').on('recordings').columns(['started', 'id']).execute();
      await db.schema.createIndex('recordings_by_actor').on('recordings').columns(['actor', 'started', 'id']).execute();
      await db.schema.createIndex('recordings_by_change').on('recordings').column('changed').execute();
      await db.schema
        .createTable('recording_parts')
        .addColumn('recording', 'text', (column) => column.notNull())
        .addColumn('number', bigint, (column) => column.notNull())
        .addColumn('lines', bytes, (column) => column.notNull())
        .addPrimaryKeyConstraint('recording_parts_by_number', ['recording', 'number'])
        .execute();
    },
  },
  // The postings of the segments that are there are merged while the store answers.
  '0007-groups': {
    async up(db) {
      await db.schema
        .createTable('segment_groups')
        .addColumn('first', bigint, (column) => column.primaryKey())
        .addColumn('last', bigint, (column) => column.notNull())
        .addColumn('oldest', bigint, (column) => column.notNull())
        .addColumn('newest', bigint, (column) => column.notNull())
        .addColumn('merged', 'integer', (column) => column.notNull())
        .execute();
      const segments = await db.selectFrom('segments').select(['first', 'last', 'oldest', 'newest']).orderBy('first').execute();
      for (let from = 0; from < segments.length; from += 32) {
        const group = segments.slice(from, from + 32);
        const { first, last } = segments[from] ?? {};
        await db
          .insertInto('segment_groups')
          .values({
            first,
            last: Math.max(first + 32 * (last - first + 1) - 1, ...group.map((segment) => segment.last)),
            oldest: Math.min(...group.map(({ oldest }) => oldest)),
            newest: Math.max(...group.map(({ newest }) => newest)),
            merged: 0,
          })
          .execute();
      }
    },
  },
  '0008-objects': {
    async up(db) {
      await db.schema
        .alterTable('recording_parts')
        .addColumn('object_bytes', bigint, (column) => column.notNull().defaultTo(0))
        .execute();
    },
  },
});

/** Brings the schema of a database up to date. @throws the error of the step that failed; the database is as before that step */
export async function migrate<Tables>(db: Kysely<Tables>, types: ColumnTypes): Promise<void> {
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations(types) } }).migrateToLatest();
  if (error !== undefined) throw error;
}
