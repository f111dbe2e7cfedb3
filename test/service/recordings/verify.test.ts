import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { Recording } from '@atrium/audit-store/recording.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aRole } from '../access/objects.ts';
import { machineOf, optionsFor } from '../kubectl-atrium/machine-of.ts';

const password = 'correct horse';
const [ada, noa] = ['ada@example.com', 'noa@example.com'] as const;
const startedAt = '2026-01-12T10:00:00.000Z';
const endedAt = '2026-01-12T10:00:09.000Z';
const aLine = (text: string) => `${JSON.stringify([1, 'o', text])}\n`;
const compressed = (text: string) => gzipSync(text);

async function startWithStore() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const databaseFile = join(directory, 'audit.db');
  const auditStore = await SqliteStore.open(databaseFile);
  const service = await startEmbeddedLogin({
    ...{ emails: [ada, noa], password, auditStore, login: { audiences: ['kubectl'] } },
    audit: { checkpointInterval: '1s' },
  });
  const database = new DatabaseSync(databaseFile, { timeout: 5_000 });
  return {
    ...service,
    auditStore,
    database,
    async stop() {
      database.close();
      await service.stop();
      await auditStore.stop();
      await rm(directory, { recursive: true });
    },
  };
}

describe('audit verify --recordings', () => {
  const service = forSuite(startWithStore);
  const [machine, other] = [machineOf(service, { email: ada, password }), machineOf(service, { email: noa, password })];
  const verify = (one = machine, ...args: string[]) => one.run(['audit', 'verify', '--recordings', ...args, ...optionsFor(service)]);

  const eventOf = (id: string, user: string, parts: Partial<AuditEvent>): AuditEvent => ({
    ...{
      auditID: `${id}-${parts.stage ?? 'removal'}`,
      cluster: 'local',
      source: 'door',
      verb: 'create',
      sourceIPs: [],
      requestID: `q-${id}`,
    },
    ...{ user: { username: user }, outcome: 'success', requestReceivedTimestamp: startedAt },
    objectRef: { apiGroup: '', resource: 'pods', subresource: 'exec', namespace: 'shop', name: 'cart-0' },
    ...parts,
  });

  /** Keeps a recording of two parts, and the events of its shell. */
  async function record(id: string, user: string, isEnded = true) {
    const { auditStore } = service;
    const recording: Recording = {
      ...{ id, cluster: 'local', user: { username: user }, mode: 'required', startedAt, command: ['sh'], requestID: `q-${id}` },
      objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' },
      ...{ seconds: 9, width: 80, height: 24, bytes: 0, lostBytes: 0, ...(isEnded && { endedAt }) },
    };
    const texts = [aLine(`first of ${id}`), aLine(`second of ${id}`)];
    for (const [index, text] of texts.entries()) {
      const part = { number: index + 1, lines: compressed(text).toString('base64') };
      await auditStore.recordings.keep({ recording, isNew: index === 0, part });
    }
    const all = texts.join('');
    const recorded = { sha256: createHash('sha256').update(all).digest('hex'), bytes: all.length, lines: texts.length };
    const connection = { recording: id, command: ['sh'] };
    await auditStore.append([eventOf(id, user, { stage: 'ResponseStarted', connection })]);
    if (isEnded) await auditStore.append([eventOf(id, user, { stage: 'ResponseComplete', connection: { ...connection, recorded } })]);
  }

  before(async () => {
    await service.admin.apply(
      aRole('auditors', [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }]),
      aRole('watchers', [{ apiGroups: ['auth.platform.io'], resources: ['recordings'], verbs: ['get', 'list', 'delete'] }]),
      clusterRoleBinding('ada-audits', 'auditors', { kind: 'User', name: ada }),
      clusterRoleBinding('noa-audits', 'auditors', { kind: 'User', name: noa }),
      clusterRoleBinding('ada-recordings', 'watchers', { kind: 'User', name: ada }),
    );
    for (const [id, user] of [
      ['r1', ada],
      ['r2', noa],
      ['r3', noa],
    ] as const)
      await record(id, user);
    await eventually(verify, ({ code }) => code === 0);
  });

  it('finds recordings as the events of their ends describe them', async () => {
    const { code, stdout } = await verify();
    expect(code).to.equal(0);
    expect(stdout).to.match(/\nRecordings: 3 unchanged\n$/);
  });

  const changes: Record<string, [sql: string, said: RegExp]> = {
    'output that was changed': [
      `UPDATE recording_parts SET lines = x'${compressed(aLine('fir5t of r1')).toString('hex')}' WHERE recording = 'r1' AND number = 1`,
      /^Recording r1 of ada@example\.com in shop\/cart-0: was changed$/m,
    ],
    'an end that was cut off': [
      `DELETE FROM recording_parts WHERE recording = 'r1' AND number = 2`,
      /^Recording r1 .*: has \d+ of \d+ bytes: it was cut, or the audit store does not have all of it$/m,
    ],
    'a part that is missing': [`DELETE FROM recording_parts WHERE recording = 'r1' AND number = 1`, /^Recording r1 /m],
    'bytes that are no gzip': [`UPDATE recording_parts SET lines = x'00' WHERE recording = 'r1' AND number = 1`, /^Recording r1 /m],
    'output that was exchanged': [
      `UPDATE recording_parts SET recording = CASE recording WHEN 'r2' THEN 'r3' WHEN 'r3' THEN 'r2' ELSE recording END,
        number = CASE recording WHEN 'r2' THEN number + 10 ELSE number END WHERE recording IN ('r2', 'r3');
        UPDATE recording_parts SET number = number - 10 WHERE number > 10`,
      /^Recording r2 .*: was changed\nRecording r3 .*: was changed$/m,
    ],
    'another user': [
      `UPDATE recordings SET rest = replace(rest, '${noa}', '${ada}') WHERE id = 'r2'`,
      /^Recording r2 of noa@example\.com in shop\/cart-0: belongs to another shell than its event says$/m,
    ],
    'an end that was cut off with its time': [
      `DELETE FROM recording_parts WHERE recording = 'r1' AND number = 2;
        UPDATE recordings SET rest = replace(rest, ',"endedAt":"${endedAt}"', '') WHERE id = 'r1'`,
      /^Recording r1 .*: has \d+ of \d+ bytes/m,
    ],
    'a recording that was removed': [
      `DELETE FROM recordings WHERE id = 'r1'`,
      /^Recording r1 .*: is missing, and no event tells of its deletion$/m,
    ],
  };
  for (const [what, [sql, said]] of Object.entries(changes))
    it(`finds ${what}`, async () => {
      const { database } = service;
      database.exec('CREATE TABLE r AS SELECT * FROM recordings; CREATE TABLE p AS SELECT * FROM recording_parts');
      database.exec(sql);
      const { code, stdout, stderr } = await verify();
      database.exec('DELETE FROM recordings; DELETE FROM recording_parts');
      database.exec('INSERT INTO recordings SELECT * FROM r; INSERT INTO recording_parts SELECT * FROM p; DROP TABLE r; DROP TABLE p');
      expect(stdout).to.match(said);
      expect(stderr).to.match(/Recordings of shells contradict their events: \d\.\n$/);
      expect(code).to.equal(1);
    });

  it('tells who deleted a recording, which ones expired, and which have no end or no event', async () => {
    const { tokens } = await machine.entry();
    await record('deleted', noa);
    const headers = { authorization: `Bearer ${tokens.idToken}` };
    expect((await service.request('/auth/v1/audit/recordings/deleted', { method: 'DELETE', headers })).status).to.equal(204);
    await record('expired', noa);
    const expiry = {
      source: 'service',
      event: 'RecordingExpired',
      objectRef: { apiGroup: 'auth.platform.io', resource: 'recordings' },
    } as const;
    await service.auditStore.append([eventOf('expired', noa, { ...expiry, objectRef: { ...expiry.objectRef, name: 'expired' } })]);
    await service.auditStore.recordings.delete('expired');
    await record('asked', noa);
    const intent = { ...expiry, event: 'DeleteRecording', outcome: 'unknown' } as const;
    await service.auditStore.append([
      { ...eventOf('asked', ada, { ...intent, objectRef: { ...expiry.objectRef, name: 'asked' } }), auditID: 'asked-intent' },
    ]);
    await service.auditStore.recordings.delete('asked');
    await record('killed', noa, false);
    const { recordings } = await service.auditStore.recordings.list({}, { limit: 10 });
    const [one] = recordings;
    if (one === undefined) throw new Error('no recording');
    await service.auditStore.recordings.keep({ recording: { ...one, id: 'unknown', endedAt }, isNew: true });
    const { code, stdout } = await eventually(verify, (result) => result.stdout.includes('2 deleted'));
    expect(stdout).to.match(/^Recording asked .*: is missing since ada@example\.com asked for its deletion, \S+Z$/m);
    expect(stdout).to.match(/^Recording deleted of noa@example\.com in shop\/cart-0: was deleted by ada@example\.com, \S+Z$/m);
    expect(stdout).to.match(/^Recording killed .*: has no end: its shell runs, or its replica was killed$/m);
    expect(stdout).to.match(/^Recording unknown .*: has no event that tells its digest$/m);
    expect(stdout).to.match(
      /\nRecordings: 3 unchanged, 1 without an end, 1 without an event of their end, 2 deleted, 1 removed by the retention\n$/,
    );
    expect(code).to.equal(0);
  });

  it('finds a recording that is there again after its deletion', async () => {
    const { recordings } = await service.auditStore.recordings.list({}, { limit: 10 });
    const [one] = recordings;
    if (one === undefined) throw new Error('no recording');
    await service.auditStore.recordings.keep({ recording: { ...one, id: 'deleted' }, isNew: true });
    const { code, stdout } = await verify();
    expect(stdout).to.match(/^Recording deleted .*: is there, although it was deleted by ada@example\.com, /m);
    expect(code).to.equal(1);
    await service.auditStore.recordings.delete('deleted');
  });

  it('takes no shell and no removal during the check for a contradiction', async () => {
    const { recordings } = service.auditStore;
    const { list, read } = recordings;
    const expire = async (id: string) => {
      const objectRef = { apiGroup: 'auth.platform.io', resource: 'recordings', name: id };
      await service.auditStore.append([eventOf(id, noa, { source: 'service', event: 'RecordingExpired', objectRef })]);
      await recordings.delete(id);
    };
    for (const id of ['expires', 'cut', 'vanishes']) await record(id, noa);
    recordings.list = async (...query) => {
      recordings.list = list;
      const page = await list(...query);
      await record('begins', noa);
      await expire('expires');
      return page;
    };
    recordings.read = async (id, after) => {
      const parts = await read(id, after);
      if (id !== 'cut' || after > 0) return parts;
      await Promise.all(['cut', 'vanishes'].map((one) => recordings.delete(one)));
      return parts.slice(0, 1);
    };
    const { code, stdout } = await verify();
    Object.assign(recordings, { list, read });
    expect(stdout).to.match(/^Recording cut of noa@example\.com in shop\/cart-0: was removed during the check: check again for/m);
    expect(stdout).to.match(/^Recording vanishes of .*: was removed during the check: check again for the event of it$/m);
    expect(stdout).to.match(/\nRecordings: 4 unchanged, .* 2 removed by the retention, 2 removed during the check\n$/);
    expect(stdout).not.to.match(/^Recording (?:begins|expires) /m);
    expect(code).to.equal(0);
    const later = await verify();
    expect(later.stdout).to.match(/^Recording cut .*: is missing, and no event tells of its deletion$/m);
    expect(later.code).to.equal(1);
  });

  it('tells that recordings cannot be checked without the right to list them, and in a saved audit', async () => {
    const refused = await verify(other);
    expect(refused).to.include({ code: 2, stdout: '' });
    expect(refused.stderr).to.equal('The audit could not be checked: you may not list recordings.auth.platform.io\n');
    expect(await verify(machine, await machine.file('audit.ndjson', ''))).to.include({ code: 2 });
  });
});
