/** Events on the disk of a replica, while the store does not have them. */
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditStore } from '@atrium/audit-store/store.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { AuditIntake } from '../../../src/audit/audit-intake.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { withAuditStore } from './installation.ts';

const configMaps = '/api/kubernetes/api/v1/namespaces/default/configmaps';

const anEvent = (auditID: string, outcome: AuditEvent['outcome'] = 'success'): AuditEvent => ({
  ...{ auditID, outcome, cluster: 'local', source: 'door', verb: 'patch', sourceIPs: [] },
  objectRef: { apiGroup: '', resource: 'pods' },
  requestReceivedTimestamp: '2026-01-12T10:00:00.000Z',
});

/** A store that a test makes unavailable. */
class Store implements Pick<AuditStore, 'append'> {
  isAway = false;
  readonly kept = new Map<string, AuditEvent['outcome']>();

  async append(events: readonly AuditEvent[]): Promise<void> {
    if (this.isAway) throw serviceUnavailable('the audit store');
    for (const { auditID, outcome } of events) if (!this.kept.has(auditID)) this.kept.set(auditID, outcome);
  }
}

async function aSpool() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-spool-'));
  const store = new Store();
  return {
    directory,
    store,
    /** Starts a replica, which has the spool for itself until its stop. */
    start({ maxBytes = 64 * 1024 * 1024, isRequired = false } = {}) {
      const metrics = new Metrics();
      const logLines: string[] = [];
      const log = createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) });
      const options = {
        store: store as unknown as AuditStore,
        spool: { directory, maxBytes },
        isRequired,
        metrics,
        log,
        now: () => new Date(),
      };
      const intake = new AuditIntake(options);
      intake.start();
      const metric = async (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await metrics.text())?.[1]);
      return { intake, metric, logLines };
    },
    /** Returns the files with events, and their content. */
    async files() {
      const names = (await readdir(directory)).filter((name) => name.endsWith('.jsonl')).sort();
      return Promise.all(names.map(async (name) => ({ file: join(directory, name), text: await readFile(join(directory, name), 'utf8') })));
    },
    stop: () => rm(directory, { recursive: true }),
  };
}

describe('the spool of audit events', () => {
  const spool = forSuite(aSpool);
  /** Stops a replica while the store is away, as a process that is killed leaves its files. */
  const interrupt = async ({ intake }: { intake: AuditIntake }) => {
    spool.store.isAway = true;
    await intake.stop();
    spool.store.isAway = false;
  };
  const has = (...ids: string[]) => eventually(() => ids.every((id) => spool.store.kept.has(id)), Boolean);
  const isEmpty = async () => {
    const texts = await eventually(
      async () => (await spool.files()).map(({ text }) => text).join(''),
      (text) => text === '',
    );
    expect(texts).to.equal('');
  };

  beforeEach(() => {
    spool.store.isAway = false;
    spool.store.kept.clear();
  });

  it('has an event until the store has it', async () => {
    const replica = spool.start();
    spool.store.isAway = true;
    replica.intake.record(anEvent('a'));
    expect((await spool.files()).map(({ text }) => text).join('')).to.include('"auditID":"a"');
    spool.store.isAway = false;
    await has('a');
    await isEmpty();
    await replica.intake.stop();
  });

  it('gives the next process the events that wait, in their order', async () => {
    const first = spool.start();
    spool.store.isAway = true;
    for (const id of ['a', 'b', 'c']) first.intake.record(anEvent(id));
    await interrupt(first);
    const second = spool.start();
    second.intake.record(anEvent('d'));
    await has('d');
    expect([...spool.store.kept.keys()]).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(await second.metric('atrium_audit_events_lost_total')).to.equal(0);
    await isEmpty();
    await second.intake.stop();
  });

  it('has events for which memory has no room, and the store gets all in their order', async () => {
    const replica = spool.start();
    spool.store.isAway = true;
    const ids = Array.from({ length: 12_000 }, (_, index) => `${index}`);
    for (const id of ids) replica.intake.record(anEvent(id));
    expect(await replica.metric('atrium_audit_events_waiting')).to.equal(10_000);
    expect((await spool.files()).length).to.be.greaterThan(2);
    spool.store.isAway = false;
    await has(...ids);
    expect([...spool.store.kept.keys()]).to.deep.equal(ids);
    await isEmpty();
    expect(await spool.files()).to.have.length(1);
    await replica.intake.stop();
  });

  it('counts damaged lines as lost, tells them, and gives the others', async () => {
    const first = spool.start();
    spool.store.isAway = true;
    for (const id of ['a', 'b', 'c']) first.intake.record(anEvent(id));
    await interrupt(first);
    const [written] = await spool.files();
    await writeFile(written?.file ?? '', (written?.text ?? '').replace('"auditID":"b"', '"auditID":"x"'));
    await appendFile(written?.file ?? '', '01234567 {"event":{"audi');
    const second = spool.start();
    await has('a', 'c');
    expect([...spool.store.kept.keys()]).to.deep.equal(['a', 'c']);
    expect(await second.metric('atrium_audit_events_lost_total')).to.equal(2);
    expect(second.logLines.join('')).to.include('"msg":"audit events are lost"');
    await second.intake.stop();
    // The number goes on in the next process.
    const third = spool.start();
    expect(await third.metric('atrium_audit_events_lost_total')).to.equal(2);
    await third.intake.stop();
    await rm(join(spool.directory, 'lost'));
  });

  it('turns intents of a process that was killed into events with an unknown outcome, once', async () => {
    const first = spool.start();
    spool.store.isAway = true;
    for (const id of ['a', 'b', 'c']) await first.intake.begin(anEvent(id, 'unknown'));
    first.intake.record(anEvent('b'));
    await interrupt(first);
    const second = spool.start();
    await has('a', 'b', 'c');
    expect(Object.fromEntries(spool.store.kept)).to.deep.equal({ a: 'unknown', b: 'success', c: 'unknown' });
    await isEmpty();
    await second.intake.stop();
    spool.store.kept.clear();
    const third = spool.start();
    third.intake.record(anEvent('d'));
    await has('d');
    expect([...spool.store.kept.keys()]).to.deep.equal(['d']);
    await third.intake.stop();
  });

  it('keeps intents while files end and are removed', async () => {
    const first = spool.start();
    await first.intake.begin(anEvent('open', 'unknown'));
    const ids = Array.from({ length: 12_000 }, (_, index) => `${index}`);
    for (const id of ids) first.intake.record(anEvent(id));
    await has(...ids);
    expect(await spool.files()).to.have.length(1);
    await interrupt(first);
    const second = spool.start();
    await has('open');
    expect(spool.store.kept.get('open')).to.equal('unknown');
    await second.intake.stop();
  });

  it('is bounded: further events are kept in memory while there is room, and told', async () => {
    const bound = 2 * 1024 * 1024;
    const replica = spool.start({ maxBytes: bound });
    spool.store.isAway = true;
    const ids = Array.from({ length: 15_000 }, (_, index) => `${index}`);
    for (const id of ids) replica.intake.record(anEvent(id));
    expect(await replica.metric('atrium_audit_spool_bytes')).to.be.within(bound - 1024, bound);
    expect(replica.intake.spoolFailure()).to.equal(`the spool is full: it has ${bound} bytes`);
    expect(replica.logLines.filter((line) => line.includes('"msg":"audit spool is not available"'))).to.have.length(1);
    const lost = await replica.metric('atrium_audit_events_lost_total');
    spool.store.isAway = false;
    await eventually(
      () => spool.store.kept.size,
      (size) => size === ids.length - lost,
    );
    expect(spool.store.kept.size + lost).to.equal(ids.length);
    expect(lost).to.equal(5_000);
    await isEmpty();
    expect(replica.intake.spoolFailure()).to.equal(undefined);
    await replica.intake.stop();
    await rm(join(spool.directory, 'lost'));
  });

  it('has room for the event of each intent that it has taken', async () => {
    const first = spool.start({ maxBytes: 2 * 1024 * 1024, isRequired: true });
    spool.store.isAway = true;
    const ids: string[] = [];
    const refusal = async () => {
      for (;;) {
        const id = `${ids.length}`;
        const refused = await first.intake.begin(anEvent(id, 'unknown')).catch((error: unknown) => error);
        if (refused !== undefined) return refused;
        ids.push(id);
      }
    };
    expect(await refusal())
      .to.be.instanceOf(StatusError)
      .with.nested.property('status.code', 503);
    expect(ids.length).to.be.greaterThan(100);
    for (const id of ids) first.intake.record(anEvent(id));
    await interrupt(first);
    const second = spool.start();
    await has(...ids);
    expect([...spool.store.kept.values()].every((outcome) => outcome === 'success')).to.equal(true);
    expect(await second.metric('atrium_audit_events_lost_total')).to.equal(0);
    await second.intake.stop();
  });

  it('belongs to one process: another one keeps its events in memory, and takes it over later', async () => {
    const first = spool.start();
    const second = spool.start();
    expect(second.intake.spoolFailure()).to.equal('the spool is used by another process: database is locked');
    spool.store.isAway = true;
    first.intake.record(anEvent('a'));
    second.intake.record(anEvent('b'));
    spool.store.isAway = false;
    await has('a', 'b');
    await first.intake.stop();
    await eventually(
      () => {
        second.intake.record(anEvent('c'));
        return second.intake.spoolFailure();
      },
      (failure) => failure === undefined,
    );
    await second.intake.stop();
  });
});

describe('a service with a spool', () => {
  const installation = forSuite(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-spool-'));
    const server = await withAuditStore({ config: { audit: { spool: { directory } } } });
    return {
      ...server,
      directory,
      async stop() {
        await server.stop();
        await rm(directory, { recursive: true });
      },
    };
  });

  it('hands the events of a replica that has stopped to the store, by the next replica', async () => {
    const { status } = await installation.request(configMaps, {
      method: 'POST',
      as: 'admin',
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'spooled' } },
    });
    expect(status).to.equal(201);
    await installation.stopFirst();
    await installation.startStore();
    const replica = await installation.replica();
    const names = async () => {
      const answer = await fetch(`${replica.url}/auth/v1/audit?resource=configmaps`, {
        headers: { authorization: `Bearer ${await installation.token('admin')}` },
      });
      return auditEventList.parse(await answer.json()).items.map(({ objectRef, outcome }) => `${objectRef.name} ${outcome}`);
    };
    expect(await eventually(names, (found) => found.length > 0)).to.deep.equal(['spooled success']);
    const readyz = await (await fetch(`${replica.metricsURL}/readyz?verbose`)).text();
    expect(readyz).to.include('[+]auditSpool ok');
  });
});
