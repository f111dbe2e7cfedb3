import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ChainedEvent, firstHash, hashOf } from '@atrium/audit-store/chain.ts';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { signedCheckpoint } from '@atrium/audit-store/signed-checkpoints.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { chainedEvent } from '@atrium/audit-store/store.ts';
import { expect } from 'chai';
import { exportJWK, generateKeyPair } from 'jose';
import { z } from 'zod';
import { checkpointList } from '../../../src/audit-chain/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aRole } from '../access/objects.ts';
import type { Machine } from '../kubectl-atrium/machine.ts';
import { machineOf, optionsFor } from '../kubectl-atrium/machine-of.ts';

const password = 'correct horse';
const [ada, noa] = ['ada@example.com', 'noa@example.com'] as const;

const anEvent = (number: number): AuditEvent => ({
  ...{ auditID: `e${number}`, cluster: 'local', source: 'door', verb: 'delete', user: { username: noa }, sourceIPs: ['192.0.2.1'] },
  objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: `cart-${number}` },
  requestReceivedTimestamp: new Date(Date.UTC(2026, 0, 12, 10, 0, number)).toISOString(),
  outcome: 'success',
});

async function startWithStore() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const databaseFile = join(directory, 'audit.db');
  const auditStore = await SqliteStore.open(databaseFile);
  await auditStore.append([1, 2, 3, 4, 5, 6].map(anEvent));
  const service = await startEmbeddedLogin({
    ...{ emails: [ada, noa], password, auditStore, login: { audiences: ['kubectl'] } },
    audit: { checkpointInterval: '1s' },
  });
  return {
    ...service,
    auditStore,
    databaseFile,
    async stop() {
      await service.stop();
      await auditStore.stop();
      await rm(directory, { recursive: true });
    },
  };
}

const headLine = z.looseObject({ checkpoints: z.array(z.string()), keys: z.array(z.looseObject({})), newest: z.number().optional() });
type Head = z.output<typeof headLine>;

/** A saved audit, whose parts a test changes. */
interface Saved {
  head: Head;
  events: ChainedEvent[];
}

const textOf = ({ head, events }: Saved, last = events.at(-1)?.sequence ?? 0) =>
  [head, ...events, { last }].map((line) => `${JSON.stringify(line)}\n`).join('');

const sequenceOf = (signed: string): number => JSON.parse(Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString()).sequence;

/** Returns the events with another verb in the second one, and with the hashes that a writer of the database would compute. */
function rewritten(events: readonly ChainedEvent[]): ChainedEvent[] {
  let hash = firstHash;
  return events.map(({ sequence, event }, index) => {
    const told = index === 1 ? { ...event, verb: 'get' } : event;
    hash = hashOf(hash, sequence, told);
    return { sequence, hash, event: told };
  });
}

describe('audit verify', () => {
  const service = forSuite(startWithStore);
  const [machine, other] = [machineOf(service, { email: ada, password }), machineOf(service, { email: noa, password })];
  const verifyService = (one: Machine) => one.run(['audit', 'verify', ...optionsFor(service)]);
  const read = async (path: string) => {
    const { tokens } = await machine.entry();
    const answer = await service.request(path, { headers: { authorization: `Bearer ${tokens.idToken}` } });
    expect(answer.status, path).to.equal(200);
    return answer.text();
  };
  async function save(): Promise<Saved> {
    const lines = (await read('/auth/v1/audit/chain')).trimEnd().split('\n').slice(0, -1);
    const [head, ...events] = lines.map((line) => JSON.parse(line) as unknown);
    return { head: headLine.parse(head), events: events.map((event) => chainedEvent.parse(event)) };
  }
  const verify = async (text: string, ...args: string[]) =>
    machine.run(['audit', 'verify', await machine.file('audit.ndjson', text), ...args]);
  let saved: Saved;

  before(async () => {
    await service.admin.apply(
      aRole('auditors', [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }]),
      clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: ada }),
    );
    saved = await eventually(save, ({ head }) => (head.newest ?? 0) >= 6);
  });

  it('prints the number of events, their times and the newest checkpoint of a saved audit without a gap', async () => {
    const { code, stdout, stderr } = await verify(textOf(saved));
    expect(code, stderr).to.equal(0);
    expect(stdout).to.match(
      new RegExp(`^Events: ${saved.events.length}, from 2026-01-12T10:00:01.000Z to \\S+Z\\nNewest checkpoint: event \\d+, \\S+Z\\n$`),
    );
    expect(stderr).to.match(/^The audit has no gap\./);
  });

  const line = (events: readonly ChainedEvent[], number: number) => events[number - 1] ?? expect.fail(`no event ${number}`);
  const tampered: Record<string, [tamper: (saved: Saved) => string, said: string]> = {
    'an event that was changed': [
      ({ head, events }) => {
        const { event, ...link } = line(events, 3);
        return textOf({ head, events: events.with(2, { ...link, event: { ...event, verb: 'get' } }) });
      },
      'Event 3 contradicts its hash or checkpoint: this event, or one before it, was changed.',
    ],
    'an event that was removed': [
      ({ head, events }) => textOf({ head, events: events.toSpliced(2, 1) }),
      'Event 3 is missing: events were removed or moved, and no checkpoint allows it.',
    ],
    'an event that was added': [
      ({ head, events }) => textOf({ head, events: events.toSpliced(3, 0, line(events, 3)) }),
      'A second event 3 follows: events were added or moved.',
    ],
    'events that were moved': [
      ({ head, events }) => textOf({ head, events: events.with(2, line(events, 4)).with(3, line(events, 3)) }),
      'Event 3 is missing: events were removed or moved, and no checkpoint allows it.',
    ],
    'an end that was cut off': [
      ({ head, events }) => textOf({ head, events: events.slice(0, 4) }),
      'Event 5 is missing: the newest events were removed.',
    ],
    'checkpoints that were rolled back': [
      ({ head, events }) => {
        const checkpoints = head.checkpoints.filter((signed) => sequenceOf(signed) < (head.newest ?? 0));
        return textOf({ head: { ...head, checkpoints }, events });
      },
      'or later is missing: newer checkpoints were removed.',
    ],
    'events that were changed with new hashes': [
      ({ head, events }) => textOf({ head, events: rewritten(events) }),
      'contradicts its hash or checkpoint: this event, or one before it, was changed.',
    ],
    'a checkpoint with a forged signature': [
      ({ head, events }) => {
        const [first = '', ...others] = head.checkpoints;
        return textOf({ head: { ...head, checkpoints: [`${first.slice(0, -8)}AAAAAAAA`, ...others] }, events });
      },
      'A checkpoint has no valid signature.',
    ],
    'a last line with an earlier number': [({ head, events }) => textOf({ head, events }, events.length - 1), 'A second event'],
  };
  for (const [what, [tamper, said]] of Object.entries(tampered))
    it(`finds ${what} in a saved audit`, async () => {
      const { code, stderr } = await verify(tamper(saved));
      expect(stderr).to.include(said);
      expect(code).to.equal(1);
    });

  it('finds an audit that was signed by another key, by a copy of the checkpoints', async () => {
    const copy = await machine.file('checkpoints.json', await read('/auth/v1/audit/checkpoints'));
    const events = rewritten(saved.events);
    const { sequence, hash } = line(events, events.length);
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const checkpoint = { sequence, hash, time: '2026-01-12T10:00:00.000Z', count: sequence };
    const signed = await signedCheckpoint(checkpoint, { ...(await exportJWK(privateKey)), kid: 'forged' });
    const head = { checkpoints: [signed], keys: [{ ...(await exportJWK(publicKey)), kid: 'forged' }], newest: sequence };
    expect(await verify(textOf({ head, events }))).to.include({ code: 0 });
    const { code, stderr } = await verify(textOf({ head, events }), '--checkpoints', copy);
    expect({ code, stderr }).to.deep.include({ code: 1 });
    expect(stderr).to.match(/^Event \d+ contradicts/);
    expect(await verify(textOf(saved), '--checkpoints', copy)).to.include({ code: 0 });
  });

  /** Signs checkpoints at events of the saved audit with a key of its writer. */
  async function forgedHead(...places: { at: ChainedEvent; removed?: ChainedEvent }[]): Promise<Head> {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const key = { ...(await exportJWK(privateKey)), kid: 'forged' };
    const checkpoints = places.map(({ at: { sequence, hash }, removed }) =>
      signedCheckpoint({ sequence, hash, time: '2026-01-12T10:00:00.000Z', count: sequence, removed }, key),
    );
    return { checkpoints: await Promise.all(checkpoints), keys: [{ ...(await exportJWK(publicKey)), kid: 'forged' }] };
  }

  it('prints the removals that checkpoints allow, and accepts with a copy only those that a key of the copy signed', async () => {
    const copy = await machine.file('checkpoints.json', await read('/auth/v1/audit/checkpoints'));
    const forged = await forgedHead({ at: line(saved.events, saved.events.length), removed: line(saved.events, 3) });
    const head = { checkpoints: [...saved.head.checkpoints, ...forged.checkpoints], keys: [...saved.head.keys, ...forged.keys] };
    const text = textOf({ head, events: saved.events.slice(3) });
    const { code, stdout, stderr } = await verify(text);
    expect(code, stderr).to.equal(0);
    expect(stdout).to.include('\nRemoved by the retention: events through 3, by a checkpoint of 2026-01-12T10:00:00.000Z\n');
    expect(await verify(text, '--checkpoints', copy)).to.deep.include({
      ...{ code: 1, stdout: '' },
      stderr: 'Event 1 is missing: events were removed or moved, and no checkpoint allows it.\n',
    });
  });

  it('says that checkpoints of earlier versions tell no removal', async () => {
    const [cut, end] = [line(saved.events, 3), line(saved.events, saved.events.length)];
    const events = saved.events.slice(3);
    const { code, stdout, stderr } = await verify(textOf({ head: await forgedHead({ at: cut }, { at: end }), events }));
    expect(code, stderr).to.equal(0);
    expect(stdout).to.match(/\nRemoved: events before 4\. The checkpoints are of an earlier version, [^\n]*\n$/);
    expect(await verify(textOf({ head: await forgedHead({ at: end }), events }))).to.include({ code: 1 });
  });

  it('tells an audit that cannot be checked from one with a gap', async () => {
    const whole = textOf(saved);
    const { head, events } = saved;
    const { newest: _newest, ...unsigned } = { ...head, checkpoints: [] };
    for (const [text, said] of [
      [whole.slice(0, whole.lastIndexOf('{')), `the audit breaks off after event ${events.length}, without its last line`],
      [`${JSON.stringify(head)}\nno JSON\n`, 'the line after event 0 is not one of GET /auth/v1/audit/chain'],
      [`${whole}{}\n`, `the line after event ${events.length} is not one of`],
      ['', 'the first line is not that of GET /auth/v1/audit/chain'],
      ['x'.repeat(2_000_000), 'a line that is too long'],
      [textOf({ head: unsigned, events }), 'there is no signed checkpoint yet'],
    ] as const) {
      const { code, stderr } = await verify(text);
      expect(stderr)
        .to.match(/^The audit could not be checked: /)
        .and.to.include(said);
      expect(code, said).to.equal(2);
    }
    expect(await machine.run(['audit', 'verify', join(machine.home, 'none')])).to.deep.include({ code: 2, stdout: '' });
    expect(await verify(textOf({ head: unsigned, events: [] }))).to.deep.include({
      ...{ code: 0, stdout: '', stderr: 'The audit has no events, and no gap.\n' },
    });
  });

  it('verifies the audit of the service, for callers who may list audits', async () => {
    const { code, stdout, stderr } = await verifyService(machine);
    expect(code, stderr).to.equal(0);
    expect(stdout).to.match(/^Events: \d+, from 2026-01-12T10:00:01.000Z to /);
    expect(await machine.run(['audit', 'verify'])).to.include({ code: 2 });
    const refused = await verifyService(other);
    expect(refused).to.include({ code: 2, stdout: '' });
    expect(refused.stderr).to.match(/^The audit could not be checked: audits\.auth\.platform\.io is forbidden/);
  });

  it('finds a row that was changed in the database of the service', async () => {
    const database = new DatabaseSync(service.databaseFile, { timeout: 5_000 });
    const change = (actor: string) => database.prepare('UPDATE events SET actor = ? WHERE sequence = 4').run(actor);
    change('eve');
    const { code, stderr } = await verifyService(machine);
    change(noa);
    database.close();
    expect(stderr).to.equal('Event 4 contradicts its hash or checkpoint: this event, or one before it, was changed.\n');
    expect(code).to.equal(1);
  });

  it('finds that the oldest rows were deleted in the database of the service', async () => {
    const { items } = checkpointList.parse(JSON.parse(await read('/auth/v1/audit/checkpoints')));
    const database = new DatabaseSync(service.databaseFile, { timeout: 5_000 });
    const through = items[0]?.sequence ?? expect.fail('no checkpoint');
    const rows = database.prepare('SELECT * FROM events WHERE sequence <= ? ORDER BY sequence').all(through);
    database.prepare('DELETE FROM events WHERE sequence <= ?').run(through);
    const { code, stderr } = await verifyService(machine);
    const columns = Object.keys(rows[0] ?? {});
    const insert = database.prepare(`INSERT INTO events (${columns.join()}) VALUES (${columns.map(() => '?').join()})`);
    for (const row of rows) insert.run(...columns.map((column) => row[column] ?? null));
    database.close();
    expect(stderr).to.equal('Event 1 is missing: events were removed or moved, and no checkpoint allows it.\n');
    expect(code).to.equal(1);
    expect(await verifyService(machine)).to.include({ code: 0 });
  });

  it('breaks off, and names no gap, where expired events were removed before they were read', async () => {
    const { auditStore } = service;
    const more = Array.from({ length: 1_200 }, (_, index) => anEvent(100 + index));
    await auditStore.append(more);
    const chain = auditStore.chain.bind(auditStore);
    let isFirst = true;
    auditStore.chain = async (after, limit) => {
      const part = await chain(after, limit);
      if (isFirst) {
        isFirst = false;
        await auditStore.propose([1_000]);
        await auditStore.remove(1_000);
      }
      return part;
    };
    const { code, stderr } = await verifyService(machine);
    Reflect.deleteProperty(auditStore, 'chain');
    expect(code, stderr).to.equal(2);
    expect(stderr).to.match(/^The audit could not be checked: the answer of the service broke off/);
  });
});
