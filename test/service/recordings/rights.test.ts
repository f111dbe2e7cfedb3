import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { recording } from '@atrium/audit-store/recording.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { recordingList } from '../../../src/recordings/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { itGuardsRecordings } from './rights-suite.ts';
import { recordings, replay, startRecordings } from './support.ts';

const aRecording = (id: string, user: { username: string; uid?: string }) =>
  recording.parse({
    ...{ id, cluster: 'local', user, mode: 'required', startedAt: '2026-01-12T10:00:00.000Z' },
    objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' },
    ...{ seconds: 1, width: 80, height: 24, bytes: 0, lostBytes: 0 },
  });

describe('recordings', () => itGuardsRecordings());

describe('the deletion of a recording', () => {
  const between = new ApiServerBetween();
  const directory = forSuite(
    async () => ({ path: await mkdtemp(join(tmpdir(), 'atrium-spool-')) }),
    ({ path }) => rm(path, { recursive: true, force: true }),
  );
  const server = forSuite(() => startRecordings(between, { spool: { directory: directory.path, maxBytes: '2MiB' } }));

  it('is announced with its user and the recording, for the case that its end is not seen', async () => {
    await server.auditStore.recordings.keep({ recording: aRecording('r1', { username: 'alice' }), isNew: true });
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

describe('the file of a recording', () => {
  const server = forSuite(() => startRecordings(new ApiServerBetween(), {}));

  it('tells that the recording was removed while it was read', async () => {
    const store = server.auditStore.recordings;
    const part = { number: 1, lines: gzipSync('[0.5,"o","one"]\n').toString('base64') };
    await store.keep({ recording: aRecording('removed', { username: 'alice' }), isNew: true, part });
    const { read } = store;
    store.read = async (id, after) => {
      const parts = await read(id, after);
      await store.delete(id);
      return parts;
    };
    const { output, markers } = await replay(server, 'carol', 'removed');
    store.read = read;
    expect([output.toString(), markers]).to.deep.equal(['one', ['the recording was removed while it was read']]);
  });

  it('has no character that controls a terminal, also in the name of the user', async () => {
    const username = 'al\u009b31m\u202eice';
    await server.auditStore.recordings.keep({ recording: aRecording('hostile', { username }), isNew: true });
    const text = await (await server.request(`${recordings}/hostile`, { as: 'carol' })).text();
    expect(text.trimEnd()).not.to.match(/[\p{Cc}\p{Cf}]/u);
    expect((JSON.parse(text) as { title: string }).title).to.equal(`${username} in shop/cart-0`);
  });
});

describe('recordings of a service account', () => {
  const server = forSuite(() => startRecordings(new ApiServerBetween(), {}));

  it('are not shown to a later account of that name', async () => {
    const token = await server.kubernetes.serviceToken();
    const me = z.object({ status: z.object({ userInfo: z.object({ username: z.string(), uid: z.string() }) }) });
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/api/kubernetes/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const { username, uid } = me.parse(await (await server.request(path, { token, method: 'POST', body })).json()).status.userInfo;
    const { keep } = server.auditStore.recordings;
    await keep({ recording: aRecording('of-a-former-account', { username, uid: 'former' }), isNew: true });
    await keep({ recording: aRecording('own', { username, uid }), isNew: true });
    const { scope, items } = recordingList.parse(await (await server.request(recordings, { token })).json());
    expect([scope, ...items.map(({ id }) => id)]).to.deep.equal(['Own', 'own']);
    const statusOf = async (id: string) => (await server.request(`${recordings}/${id}`, { token })).status;
    expect([await statusOf('own'), await statusOf('of-a-former-account')]).to.deep.equal([200, 404]);
  });
});
