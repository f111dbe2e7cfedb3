import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { asciicast } from '../../../src/recordings/asciicast.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { kubectlArguments } from '../../support/kubectl.ts';
import { startStreams } from './support.ts';

describe('recordings of kubectl, with a kubelet', () => {
  const suite = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const streams = await startStreams({ audit: { recordings: [{ mode: 'required' }] } }, { auditStore });
    return {
      ...streams,
      auditStore,
      async stop() {
        await streams.stop();
        await auditStore.stop();
      },
    };
  });
  let count = 0;

  /** Runs kubectl, and returns what it printed and what its recording has. */
  async function recorded(websockets: string, args: string[], input = '') {
    const child = spawn('kubectl', [...kubectlArguments(suite.target), ...args], {
      env: { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: websockets },
    });
    child.stdin.end(input);
    const [printed, exit] = await Promise.all([buffer(child.stdout), once(child, 'exit')]);
    expect(exit).to.deep.equal([0, null]);
    count += 1;
    const { recordings } = await eventually(
      () => suite.auditStore.recordings.list({}, { limit: 100 }),
      ({ recordings: found }) => found.length === count && found.every(({ endedAt }) => endedAt !== undefined),
    );
    const [newest] = recordings;
    if (newest === undefined) throw new Error('no recording');
    const [, ...lines] = (await buffer(asciicast(suite.auditStore.recordings, newest))).toString().trimEnd().split('\n');
    return { printed, kept: Buffer.from(lines.map((line) => (JSON.parse(line) as string[])[2]).join('')) };
  }

  for (const websockets of ['true', 'false']) {
    const protocol = websockets === 'true' ? 'WebSocket' : 'SPDY';

    it(`have the output of commands byte for byte, by ${protocol}`, async () => {
      const texts = ['', 'one line\n', 'née 管理 👍🏽\u0000\u001b[31mred\u001b[0m\r\n', 'ü'.repeat(300_001), 'y\n'.repeat(700_000)];
      for (const text of texts) {
        await writeFile(join(suite.node.directory, 'printed'), text);
        const { printed, kept } = await recorded(websockets, ['exec', 'shell', '--', 'cat', 'printed']);
        expect([printed.length, kept.equals(printed)]).to.deep.equal([Buffer.byteLength(text), true]);
      }
    });

    it(`have the output of attached containers, by ${protocol}`, async () => {
      const { printed, kept } = await recorded(websockets, ['attach', '-i', 'shell'], 'many words\n');
      expect([printed.toString(), kept.toString()]).to.deep.equal(['many words\n', 'many words\n']);
    });
  }
});
