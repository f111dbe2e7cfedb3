/** Reads of a question: rows that the database answers. Their number grows with the groups of segments, and not with the segments. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { KyselyPlugin } from 'kysely';
import type { AuditEvent } from '../src/event.ts';
import { appendEvents } from '../src/joins.ts';
import { type EventDatabase, indexEvents, listEvents } from '../src/queries.ts';
import { openSqlite } from '../src/sqlite-database.ts';
import type { AuditFilter } from '../src/store.ts';
import { anEvent } from './support/store-suite.ts';

const segmentSize = 16;
const groupSize = 32;
const eventsOfGroup = segmentSize * groupSize;

/** Ada and the namespace payments are in each segment, and never in one event. Each 300th event is of a rare user. */
const eventAt = (index: number): AuditEvent =>
  anEvent({
    auditID: `e${index}`,
    user: { username: index % 300 === 7 ? 'rare' : index % 2 === 0 ? 'ada' : 'noa' },
    objectRef: { apiGroup: '', resource: 'pods', namespace: index % 2 === 0 ? 'shop' : 'payments', name: `pod-${index % 50}` },
    requestReceivedTimestamp: new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString(),
  });

async function append(database: EventDatabase, from: number, to: number): Promise<void> {
  for (let begin = from; begin < to; begin += 500)
    await appendEvents(
      database,
      Array.from({ length: Math.min(500, to - begin) }, (_none, index) => eventAt(begin + index)),
    );
}

/** Returns the ids of the newest 50 events, and the number of the rows that were read for them. */
async function read(database: EventDatabase, filter: AuditFilter): Promise<{ ids: string[]; rows: number }> {
  let rows = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      rows += result.rows.length;
      return result;
    },
  };
  const { events } = await listEvents({ ...database, db: database.db.withPlugin(counting) }, filter, { limit: 50 });
  return { ids: events.map(({ auditID }) => auditID), rows };
}

const expected = (count: number, isAsked: (event: AuditEvent) => boolean) =>
  Array.from({ length: count }, (_none, index) => eventAt(count - 1 - index))
    .filter(isAsked)
    .slice(0, 50)
    .map(({ auditID }) => auditID);

describe('groups of segments', () => {
  let directory: string;
  let file: string;
  let database: EventDatabase;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
    file = join(directory, 'audit.db');
    database = await openSqlite(file, segmentSize);
  });
  afterEach(async () => {
    await database.db.destroy();
    await rm(directory, { recursive: true });
  });

  type Question = [filter: AuditFilter, isAsked: (event: AuditEvent) => boolean];
  const frequent: Question = [{ actor: 'ada' }, ({ user }) => user?.username === 'ada'];
  const questions: Record<string, Question> = {
    'a rare pair': [{ actor: 'rare', name: 'pod-7' }, ({ user, objectRef }) => user?.username === 'rare' && objectRef.name === 'pod-7'],
    'frequent values that no event has together': [{ actor: 'ada', namespace: 'payments' }, () => false],
    'a value that no event has': [{ actor: 'ada', name: 'none' }, () => false],
  };
  for (const [what, [filter, isAsked]] of Object.entries({ ...questions, 'a frequent value': frequent }))
    it(`reads three rows of each further group for ${what}`, async () => {
      const reads: { rows: number; found: number }[] = [];
      for (const [groups, from] of [
        [2, 0],
        [6, 3 * eventsOfGroup - 1],
      ] as const) {
        // All of these groups are merged, and the next one is open.
        const count = (groups + 1) * eventsOfGroup - 1;
        await append(database, from, count);
        const { ids, rows } = await read(database, filter);
        expect(ids).to.deep.equal(expected(count, isAsked));
        reads.push({ rows, found: ids.length });
      }
      const [few = { rows: 0, found: 0 }, many = few] = reads;
      // The place and the row of an event are read; 4 groups have 128 segments.
      expect(many.rows - few.rows).to.be.at.most(3 * 4 + 2 * (many.found - few.found));
    });

  it('merges the segments of an earlier version', async () => {
    await append(database, 0, 20 * segmentSize);
    await database.db.destroy();
    const before = new DatabaseSync(file);
    before.exec('DROP TABLE segment_groups; ALTER TABLE recording_parts DROP COLUMN object_bytes');
    before.exec("DELETE FROM kysely_migration WHERE name >= '0007-groups'");
    before.close();
    database = await openSqlite(file, segmentSize);
    await append(database, 20 * segmentSize, 3 * eventsOfGroup);
    for (const [filter, isAsked] of Object.values(questions))
      expect((await read(database, filter)).ids).to.deep.equal(expected(3 * eventsOfGroup, isAsked));
  });

  it('merges the groups that wait for it after an update, a step in each transaction', async () => {
    await database.db.destroy();
    database = await openSqlite(file, Number.MAX_SAFE_INTEGER);
    await append(database, 0, 4 * eventsOfGroup);
    await database.db.destroy();
    database = await openSqlite(file, segmentSize);
    expect(database.isIndexing).to.equal(true);
    await indexEvents(database, () => false);
    const merged = await database.db.selectFrom('segment_groups').select('merged').execute();
    expect(merged.map((group) => group.merged)).to.deep.equal([256, 256, 256, 256]);
    const ofSegments = await database.db.selectFrom('postings').selectAll().where('bucket', '<', 256).execute();
    expect(ofSegments).to.have.length(0);
    for (const [filter, isAsked] of Object.values(questions))
      expect((await read(database, filter)).ids).to.deep.equal(expected(4 * eventsOfGroup, isAsked));
  });
});
