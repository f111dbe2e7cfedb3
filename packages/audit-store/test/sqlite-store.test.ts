import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SqliteStore } from '../src/sqlite-store.ts';
import { anEvent, itIsAnAuditStore } from './support/store-suite.ts';

describe('the audit store in SQLite', () => {
  itIsAnAuditStore(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
    return {
      open: (segmentSize) => SqliteStore.open(join(directory, 'audit.db'), segmentSize),
      remove: () => rm(directory, { recursive: true }),
    };
  });

  it('proposes to remove the oldest events above a size', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
    const store = await SqliteStore.open(join(directory, 'audit.db'));
    await store.append(Array.from({ length: 2_000 }, (_none, index) => anEvent({ auditID: `e${index}` })));
    const bytes = (await store.bytes()) ?? 0;
    expect((await store.propose([], { maxBytes: bytes })).cut).to.equal(undefined);
    const { cut } = await store.propose([], { maxBytes: bytes / 2 });
    expect(cut?.sequence).to.be.within(999, 1_001);
    await store.propose([cut?.sequence ?? 0]);
    const through = await store.expired({ maxBytes: bytes / 2 });
    expect(await store.remove(through ?? 0)).to.equal(through);
    expect(await store.bytes()).to.be.below(bytes * 0.7);
    await store.stop();
    await rm(directory, { recursive: true });
  });

  it('refuses a path that SQLite cannot open', async () => {
    const opened = await SqliteStore.open(tmpdir()).then(
      () => 'opened',
      (error: Error) => error.message,
    );
    expect(opened).to.include('unable to open database file');
  });
});
