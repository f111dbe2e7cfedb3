import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { Recording, RecordingPart } from '../../src/recording.ts';
import type { AuditDatabase } from '../../src/store.ts';

export const aRecording = (parts: Partial<Recording> = {}): Recording => ({
  id: 'r1',
  cluster: 'local',
  user: { username: 'ada@example.com', uid: 'u1' },
  objectRef: { namespace: 'shop', name: 'cart-0', subresource: 'exec' },
  container: 'web',
  command: ['sh', '-c', 'a\0b\\c\ud800'],
  tty: true,
  mode: 'required',
  startedAt: '2026-11-29T10:00:00.000Z',
  seconds: 0,
  width: 80,
  height: 24,
  bytes: 0,
  lostBytes: 0,
  ...parts,
});
const aPart = (number: number, text: string): RecordingPart => ({ number, lines: gzipSync(text).toString('base64') });
const textOf = ({ lines }: RecordingPart) => gunzipSync(Buffer.from(lines, 'base64')).toString();

/** Tests of recordings that hold on each database. */
export function itKeepsRecordings(opened: () => Pick<AuditDatabase, 'recordings'>): void {
  const all = async (...page: Parameters<AuditDatabase['recordings']['list']>) =>
    (await opened().recordings.list(...page)).recordings.map(({ id }) => id);
  const readAll = async (id: string) => (await opened().recordings.read(id, 0)).map(textOf);

  it('keeps a recording with its parts, each of which can be sent again', async () => {
    const store = opened();
    const first = { recording: aRecording(), isNew: true };
    expect([await store.recordings.keep(first), await store.recordings.keep(first)]).to.deep.equal([true, true]);
    const kept = aRecording({ bytes: 3, seconds: 1.5 });
    const step = { recording: kept, isNew: false, part: aPart(1, 'one') };
    expect([await store.recordings.keep(step), await store.recordings.keep(step)]).to.deep.equal([true, true]);
    const end = aRecording({ bytes: 6, seconds: 2, endedAt: '2026-11-29T10:00:02.000Z' });
    await store.recordings.keep({ recording: end, isNew: false, part: aPart(2, 'two\0') });
    expect(await store.recordings.get('r1')).to.deep.equal({ ...end, command: ['sh', '-c', 'a\0b\\c\ud800'] });
    expect(await readAll('r1')).to.deep.equal(['one', 'two\0']);
    expect((await store.recordings.read('r1', 1)).map(textOf)).to.deep.equal(['two\0']);
    expect(await store.recordings.read('r1', 2)).to.deep.equal([]);
  });

  it('lists recordings by user, pod and time, newest first and in pages', async () => {
    const store = opened();
    const others = [
      aRecording({ id: 'r2', user: { username: 'bob' }, startedAt: '2026-11-29T11:00:00.000Z' }),
      aRecording({ id: 'r3', startedAt: '2026-11-29T11:00:00.000Z', objectRef: { namespace: 'other', name: 'x', subresource: 'attach' } }),
    ];
    for (const recording of [aRecording(), ...others]) await store.recordings.keep({ recording, isNew: true });
    expect(await all({}, { limit: 10 })).to.deep.equal(['r3', 'r2', 'r1']);
    expect(await all({ actor: 'bob' }, { limit: 10 })).to.deep.equal(['r2']);
    expect(await all({ namespace: 'shop', name: 'cart-0', cluster: 'local' }, { limit: 10 })).to.deep.equal(['r2', 'r1']);
    const [ten, eleven] = [Date.parse('2026-11-29T10:00:00Z'), Date.parse('2026-11-29T11:00:00Z')];
    expect(await all({ from: ten, to: eleven }, { limit: 10 })).to.deep.equal(['r1']);
    const page = await store.recordings.list({}, { limit: 2 });
    expect(page.last).to.deep.equal({ started: eleven, id: 'r2' });
    expect(await all({}, { limit: 2, before: page.last })).to.deep.equal(['r1']);
  });

  it('deletes a recording with its parts, and takes no further ones', async () => {
    const store = opened();
    for (const id of ['r1', 'r2']) {
      await store.recordings.keep({ recording: aRecording({ id }), isNew: true });
      await store.recordings.keep({ recording: aRecording({ id }), isNew: false, part: aPart(1, id) });
    }
    expect([await store.recordings.delete('r1'), await store.recordings.delete('r1')]).to.deep.equal([true, false]);
    expect(await store.recordings.keep({ recording: aRecording(), isNew: false, part: aPart(2, 'later') })).to.equal(false);
    expect([await store.recordings.get('r1'), await readAll('r1'), await readAll('r2')]).to.deep.equal([undefined, [], ['r2']]);
  });

  it('names recordings whose last output is older than a time', async () => {
    const store = opened();
    const short = aRecording({ id: 'short' });
    await store.recordings.keep({ recording: short, isNew: true });
    await store.recordings.keep({ recording: aRecording({ id: 'long', seconds: 7200 }), isNew: true });
    const before = Date.parse('2026-11-29T11:00:00Z');
    const { id, cluster, user, objectRef } = short;
    expect(await store.recordings.expired({ before })).to.deep.equal([{ id, cluster, user, objectRef, reason: 'Age' }]);
    await store.recordings.delete('short');
    expect(await store.recordings.expired({ before })).to.deep.equal([]);
  });

  it('names the oldest recordings without which the others fit into the bound', async () => {
    const store = opened();
    const sizes = [];
    for (const [hour, id] of ['r1', 'r2', 'r3'].entries()) {
      const recording = aRecording({ id, startedAt: `2026-11-29T1${hour}:00:00.000Z` });
      const part = aPart(1, id);
      sizes.push(Buffer.from(part.lines, 'base64').length);
      await store.recordings.keep({ recording, isNew: true });
      await store.recordings.keep({ recording, isNew: false, part });
    }
    const [first = 0, second = 0, third = 0] = sizes;
    const expired = async (maxBytes: number) => (await store.recordings.expired({ maxBytes })).map(({ id, reason }) => [id, reason]);
    expect(await expired(first + second + third)).to.deep.equal([]);
    expect(await expired(second + third - 1)).to.deep.equal([
      ['r1', 'Size'],
      ['r2', 'Size'],
    ]);
    for (const id of ['r1', 'r2']) await store.recordings.delete(id);
    expect(await expired(second + third - 1)).to.deep.equal([]);
  });
}
