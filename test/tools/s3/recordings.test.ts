/** Recordings in a bucket of an S3 server. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import type { RecordingDatabase } from '../../../packages/audit-store/src/recording.ts';
import { aRecording, itKeepsRecordings } from '../../../packages/audit-store/test/support/recordings-suite.ts';
import { itReplaysShells } from '../../service/recordings/replay-suite.ts';
import { itRequiresRecordings } from '../../service/recordings/required-suite.ts';
import { itGuardsRecordings } from '../../service/recordings/rights-suite.ts';
import { forSuite } from '../../support/for-suite.ts';
import { inBucketOf, startS3 } from './s3-server.ts';

describe('recordings in a bucket', () => {
  const s3 = forSuite(() => startS3());
  const inBucket = inBucketOf(() => s3);

  describe('in their store', () => {
    let database: SqliteStore;
    let recordings: RecordingDatabase;
    beforeEach(async () => {
      database = await SqliteStore.open(':memory:');
      recordings = inBucket(database.recordings);
    });
    afterEach(() => database.stop());

    itKeepsRecordings(() => ({ recordings }));

    it('never replaces a part, and refuses ids that lead out of the folder', async () => {
      const part = (text: string) => ({ number: 1, lines: gzipSync(text).toString('base64') });
      const recording = aRecording({ id: 'twice' });
      await recordings.keep({ recording, isNew: true, part: part('first') });
      await recordings.keep({ recording, isNew: false, part: part('second') });
      expect(gunzipSync(await s3.read('atrium/twice/00000001.gz')).toString()).to.equal('first');
      for (const id of ['../x', 'a/b', 'a?delete', ''])
        await recordings.keep({ recording: aRecording({ id }), isNew: true }).then(
          () => expect.fail(id),
          (error: Error) => expect(error.message).to.equal('the id of a recording must have letters, digits and hyphens alone'),
        );
      expect((await recordings.list({}, { limit: 10 })).recordings.map(({ id }) => id)).to.deep.equal(['twice']);
    });
  });

  describe('of shells', () => itReplaysShells(inBucket));

  describe('and rights', () => itGuardsRecordings(inBucket));

  describe('of shells that must be recorded', () =>
    itRequiresRecordings({ recordingsIn: inBucket, setAway: (isAway) => (isAway ? s3.relay.cut() : s3.relay.mend()) }));

  describe('of shells that must be recorded, by a server that does not answer', () => {
    itRequiresRecordings({
      recordingsIn: inBucket,
      async setAway(isAway) {
        if (isAway) return s3.relay.fallSilent();
        await s3.relay.cut();
        await s3.relay.mend();
      },
    });
  });
});
