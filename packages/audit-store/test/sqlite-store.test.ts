import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
    await store.propose([cut?.sequence ?? 0, 2_000]);
    const expired = await store.expired({ maxBytes: bytes / 2, removable: 2_000 });
    expect(expired).to.deep.equal({ first: 1, last: cut?.sequence, reason: 'Size' });
    expect(await store.remove(expired?.last ?? 0)).to.equal(expired?.last);
    expect(await store.bytes()).to.be.below(bytes * 0.7);
    await store.stop();
    await rm(directory, { recursive: true });
  });

  it('goes on with the segments that a killed process has made', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
    const file = join(directory, 'audit.db');
    const before = await SqliteStore.open(file, 1_000_000);
    await before.append(Array.from({ length: 4_000 }, (_none, index) => anEvent({ auditID: `e${index}` })));
    await before.stop();
    const child = spawn(process.execPath, [join(import.meta.dirname, 'support/indexing-process.ts'), file, '16'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    const [line] = await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await ended;
    expect(`${line}`).to.equal('indexing\n');

    const store = await SqliteStore.open(file, 16);
    let { left } = await store.indexing();
    expect(left).to.be.below(4_000);
    while (left > 0) ({ left } = await store.indexing());
    const found: string[] = [];
    for (let page = await store.list({ actor: 'ada@example.com' }, { limit: 1_000 }); ; ) {
      found.push(...page.events.map(({ auditID }) => auditID));
      if (page.last === undefined) break;
      page = await store.list({ actor: 'ada@example.com' }, { limit: 1_000, before: page.last });
    }
    expect(new Set(found).size).to.equal(4_000);
    expect(found).to.have.length(4_000);
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
