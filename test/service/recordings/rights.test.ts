import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recording } from '@atrium/audit-store/recording.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { itGuardsRecordings } from './rights-suite.ts';
import { recordings, startRecordings } from './support.ts';

describe('recordings', () => itGuardsRecordings());

describe('the deletion of a recording', () => {
  const between = new ApiServerBetween();
  const directory = forSuite(
    async () => ({ path: await mkdtemp(join(tmpdir(), 'atrium-spool-')) }),
    ({ path }) => rm(path, { recursive: true, force: true }),
  );
  const server = forSuite(() => startRecordings(between, { spool: { directory: directory.path, maxBytes: '2MiB' } }));

  it('is announced with its user and the recording, for the case that its end is not seen', async () => {
    const kept = recording.parse({
      ...{ id: 'r1', cluster: 'local', user: { username: 'alice' }, mode: 'required', startedAt: '2026-01-12T10:00:00.000Z' },
      objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' },
      ...{ seconds: 1, width: 80, height: 24, bytes: 0, lostBytes: 0 },
    });
    await server.auditStore.recordings.keep({ recording: kept, isNew: true });
    const remove = server.auditStore.recordings.delete;
    const goOn = Promise.withResolvers<void>();
    server.auditStore.recordings.delete = async (id) => {
      await goOn.promise;
      return remove(id);
    };
    const answer = server.request(`${recordings}/r1`, { method: 'DELETE', as: 'carol' });
    const lines = await eventually(
      async () => {
        const files = await readdir(directory.path);
        return (await Promise.all(files.map((file) => readFile(join(directory.path, file), 'utf8')))).join('');
      },
      (text) => text.includes('DeleteRecording'),
    );
    goOn.resolve();
    expect((await answer).status).to.equal(204);
    const line = lines.split('\n').find((one) => one.includes('DeleteRecording')) ?? '';
    expect(line).to.include('"objectRef":{"apiGroup":"auth.platform.io","resource":"recordings","name":"r1"}').and.include('"carol"');
  });
});
