import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SqliteStore } from '../src/sqlite-store.ts';
import { itIsAnAuditStore } from './support/store-suite.ts';

describe('the audit store in SQLite', () => {
  itIsAnAuditStore(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
    return {
      open: (segmentSize) => SqliteStore.open(join(directory, 'audit.db'), segmentSize),
      remove: () => rm(directory, { recursive: true }),
    };
  });

  it('refuses a path that SQLite cannot open', async () => {
    const opened = await SqliteStore.open(tmpdir()).then(
      () => 'opened',
      (error: Error) => error.message,
    );
    expect(opened).to.include('unable to open database file');
  });
});
