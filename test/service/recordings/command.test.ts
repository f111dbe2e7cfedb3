import { gzipSync } from 'node:zlib';
import type { Recording } from '@atrium/audit-store/recording.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aRole } from '../access/objects.ts';
import type { Machine } from '../kubectl-atrium/machine.ts';
import { machineOf, optionsFor } from '../kubectl-atrium/machine-of.ts';

const password = 'correct horse';
const [ada, noa] = ['ada@example.com', 'noa@example.com'] as const;

async function startWithStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const service = await startEmbeddedLogin({ emails: [ada, noa], password, auditStore, login: { audiences: ['kubectl'] } });
  return {
    ...service,
    auditStore,
    async stop() {
      await service.stop();
      await auditStore.stop();
    },
  };
}

const aRecording = (minute: number, username: string, parts: Partial<Recording> = {}): Recording => ({
  ...{ id: `r${minute}`, cluster: 'local', user: { username }, container: 'web', command: ['sh', '-c', 'ls'], tty: true },
  objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' },
  ...{ mode: 'required', seconds: 12.4, width: 80, height: 24, bytes: 10, lostBytes: 0 },
  startedAt: new Date(Date.UTC(2026, 0, 12, 10, minute)).toISOString(),
  endedAt: new Date(Date.UTC(2026, 0, 12, 10, minute, 13)).toISOString(),
  ...parts,
});

describe('kubectl atrium audit recordings', () => {
  const service = forSuite(startWithStore);
  const [machine, other] = [machineOf(service, { email: ada, password }), machineOf(service, { email: noa, password })];
  const ask = (one: Machine, ...args: string[]) => one.run(['audit', ...args, ...optionsFor(service)]);
  const rows = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {3,}/));
  const idsIn = (stdout: string) => (JSON.parse(stdout) as { items: Recording[] }).items.map(({ id }) => id);
  const lines = `[0.5, "o", "$ \\u001b[31mrot"]\n[1.25, "o", "\u009b2J née"]\n`;
  /** Glyphs of the font of a prompt, and a letter that Unicode may have one day. */
  const prompt = '[2, "o", "\ue0b0 main \u{f0001} \u{e07f0}"]\n';

  before(async () => {
    await service.admin.apply(
      aRole('watchers', [{ apiGroups: ['auth.platform.io'], resources: ['recordings'], verbs: ['get', 'list'] }]),
      clusterRoleBinding('watcher', 'watchers', { kind: 'User', name: ada }),
    );
    const { endedAt: _endedAt, ...running } = aRecording(3, noa);
    const kept = [
      aRecording(1, ada),
      aRecording(2, noa, { objectRef: { namespace: 'payments', name: 'db-0', subresource: 'attach' }, lostBytes: 7 }),
      running,
      aRecording(4, noa, { reason: 'TooLarge' }),
    ];
    for (const recording of kept) await service.auditStore.recordings.keep({ recording, isNew: true });
    const part = { number: 1, lines: gzipSync(lines + prompt).toString('base64') };
    await service.auditStore.recordings.keep({ recording: aRecording(1, ada), isNew: false, part });
    await eventually(
      () => ask(machine, 'recordings'),
      ({ stdout }) => stdout.includes(noa),
    );
  });

  it('prints a table, the newest last', async () => {
    const { code, stdout, stderr } = await ask(machine, 'recordings');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(rows(stdout)).to.deep.equal([
      ['ID', 'BEGIN', 'USER', 'NAMESPACE', 'POD', 'CONTAINER', 'COMMAND', 'SECONDS', 'STATE'],
      ['r1', '2026-01-12T10:01:00.000Z', ada, 'shop', 'cart-0', 'web', 'sh -c ls', '12', 'complete'],
      ['r2', '2026-01-12T10:02:00.000Z', noa, 'payments', 'db-0', 'web', 'attach', '12', '7 bytes missing'],
      ['r3', '2026-01-12T10:03:00.000Z', noa, 'shop', 'cart-0', 'web', 'sh -c ls', '12', 'no end'],
      ['r4', '2026-01-12T10:04:00.000Z', noa, 'shop', 'cart-0', 'web', 'sh -c ls', '12', 'TooLarge'],
    ]);
  });

  it('prints JSON of those that the options name', async () => {
    const asked = async (...args: string[]) => idsIn((await ask(machine, 'recordings', '-o', 'json', ...args)).stdout);
    expect(await asked('-n', 'shop', '--who', noa)).to.deep.equal(['r3', 'r4']);
    expect(await asked('-n', 'payments', '--pod', 'db-0')).to.deep.equal(['r2']);
    expect(await asked('--since', '1d')).to.deep.equal([]);
    expect(await asked('--until', '1d')).to.deep.equal(['r1', 'r2', 'r3', 'r4']);
  });

  it('tells of older ones, and whose they are', async () => {
    const part = await ask(machine, 'recordings', '--limit', '2', '-o', 'json');
    expect(idsIn(part.stdout)).to.deep.equal(['r3', 'r4']);
    expect(part.stderr).to.equal('There are older recordings: the list has the newest 2.\n');
    // Older ones are of a former user of that name.
    const startedAt = new Date().toISOString();
    await service.auditStore.recordings.keep({ recording: aRecording(5, noa, { startedAt, endedAt: startedAt }), isNew: true });
    const own = await ask(other, 'recordings', '-o', 'json');
    expect(idsIn(own.stdout)).to.deep.equal(['r5']);
    expect(own.stderr).to.equal('The list has your own shells only: you may not list recordings.auth.platform.io here.\n');
  });

  it('prints one as a file of asciinema, in which no character controls a terminal', async () => {
    const { code, stdout, stderr } = await ask(machine, 'recording', 'r1');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const [head, ...events] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(head).to.deep.include({ version: 2, width: 80, height: 24, title: `${ada} in shop/cart-0 (web)` });
    expect(events).to.deep.equal([
      [0.5, 'o', '$ \u001b[31mrot'],
      [1.25, 'o', '\u009b2J née'],
      [2, 'o', '\ue0b0 main \u{f0001} \u{e07f0}'],
    ]);
    expect(stdout).to.include('née');
    // The digest of the file is that of the event.
    expect(stdout.endsWith(prompt)).to.equal(true);
    expect(stdout.replaceAll('\n', '')).not.to.match(/\p{Cc}/u);
  });

  it('says why there is no recording', async () => {
    const refused = await ask(other, 'recording', 'r1');
    expect(refused).to.deep.include({ code: 1, stdout: '', stderr: 'recordings.auth.platform.io "r1" not found\n' });
    expect((await ask(machine, 'recordings', '--limit', '0')).code).to.not.equal(0);
  });
});
