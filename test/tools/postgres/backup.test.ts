/** Commands of "Back up" in docs/audit.md, with PostgreSQL. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresStore } from '@atrium/audit-store/postgres-store.ts';
import { expect } from 'chai';
import { anEvent } from '../../../packages/audit-store/test/support/store-suite.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Postgres } from './postgres.ts';

/** Returns the line of the page that begins with a program. */
async function documented(program: string): Promise<string> {
  const page = await readFile(new URL('../../../docs/audit.md', import.meta.url), 'utf8');
  const lines = page.split('\n').filter((line) => line.startsWith(`${program} `));
  expect(lines, program).to.have.length(1);
  return lines[0] ?? '';
}

describe('the documented backup of an audit store in PostgreSQL', () => {
  const postgres = forSuite(() => Postgres.start());
  const folder = forSuite(
    async () => ({ path: await mkdtemp(join(tmpdir(), 'atrium-backup-')) }),
    ({ path }) => rm(path, { recursive: true }),
  );

  const open = (connectionString: string) => PostgresStore.open({ connectionString }, () => undefined, 4);

  const run = async (program: string, database: string) =>
    postgres.shell((await documented(program)).replaceAll('/backup/', `${folder.path}/`), { DATABASE: database });

  it('has all events and their chain, forgets the checkpoints, and goes on in the database and in an empty one', async () => {
    const [database, empty] = [await postgres.database(), await postgres.database()];
    const before = await open(database);
    for (let number = 1; number <= 9; number += 1) await before.append([anEvent({ auditID: `event-${number}` })]);
    expect((await before.propose([])).end?.sequence).to.equal(9);
    await before.propose([9]);
    const { events, newest } = await before.chain(0, 100);
    expect(newest).to.equal(9);
    await run('pg_dump', database);
    await before.append([anEvent({ auditID: 'after-the-copy' })]);
    await before.stop();

    for (const restored of [database, empty]) {
      await run('pg_restore', restored);
      const store = await open(restored);
      try {
        expect(await store.chain(0, 100)).to.deep.equal({ events });
        expect((await store.list({ actor: anEvent().user?.username }, { limit: 50 })).events).to.have.length(9);
        await store.append([anEvent({ auditID: 'event-10' })]);
        expect((await store.propose([])).end?.sequence).to.equal(10);
      } finally {
        await store.stop();
      }
    }
  });
});
