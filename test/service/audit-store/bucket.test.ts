import { expect } from 'chai';
import { parseConfig } from '../../../src/config/load.ts';
import { addressOf } from '../../../src/store-server/bucket.ts';

const valid = { endpoint: 'https://s3.example.com:9000/', bucket: 'recordings', accessKeyIDFile: '/id', secretAccessKeyFile: '/secret' };
const settingsOf = (changed: object) =>
  parseConfig({ yaml: JSON.stringify({ auditStore: { recordings: { s3: { ...valid, ...changed } } } }) }).auditStore.recordings.s3;

describe('the bucket of recordings', () => {
  it('is the first segment of the path, or a part of the host name', () => {
    const settings = settingsOf({}) ?? expect.fail('no bucket');
    expect(addressOf(settings)).to.equal('https://s3.example.com:9000/recordings');
    expect(addressOf({ ...settings, pathStyle: false })).to.equal('https://recordings.s3.example.com:9000');
  });

  it('has names of objects that begin with folders', () => {
    for (const prefix of ['', 'atrium/', 'a.b/c_d/e-f/']) expect(settingsOf({ prefix })?.prefix).to.equal(prefix);
    for (const prefix of ['atrium', '/atrium/', '../', 'a//b/', 'a b/', '<a>/', 'a?/'])
      expect(() => settingsOf({ prefix }), prefix).to.throw(
        'auditStore.recordings.s3.prefix: must be folders with a slash at the end of each',
      );
  });

  it('is refused with invalid names of buckets and regions, and with a user in the address', () => {
    expect(() => settingsOf({ bucket: 'Recordings' })).to.throw('auditStore.recordings.s3.bucket: must be the name of a bucket');
    expect(() => settingsOf({ region: 'eu central' })).to.throw('auditStore.recordings.s3.region: must be a region such as eu-central-1');
    expect(() => settingsOf({ endpoint: 'https://id:secret@s3.example.com' })).to.throw('auditStore.recordings.s3.endpoint: ');
  });
});
