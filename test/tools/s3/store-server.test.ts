/** `atrium audit-store` with a bucket, as a service behind it and its users see it. */
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { withAuditStore } from '../../service/audit-store/installation.ts';
import { ApiServerBetween } from '../../service/proxy/api-server-between.ts';
import { openUpgrade } from '../../service/proxy/support.ts';
import { accept, type Client, type Container, connect } from '../../service/recordings/shells.ts';
import { endEvent, ended, listRecordings, people, recordings, replay, shellIn } from '../../service/recordings/support.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { secretAccessKey, startS3 } from './s3-server.ts';

describe('atrium audit-store with a bucket', () => {
  const between = new ApiServerBetween();
  const s3 = forSuite(async () => startS3(await loopbackCertificates('bucket')));
  const service = forSuite(async () => {
    const audit = { recordings: [{ namespaces: ['shop'], mode: 'required' }, { mode: 'besteffort' }] };
    const started = await withAuditStore(
      { between: between.start, objects: people, config: { audit } },
      { recordings: { s3: s3.settings } },
    );
    await started.startStore();
    return started;
  });

  async function open(name: string, namespace = 'shop') {
    const accepted = Promise.withResolvers<Container>();
    between.upgrade = (request, socket) => accept(request, socket).then(accepted.resolve, accepted.reject);
    const path = shellIn(name, 'stdout=true', { namespace });
    const client = await connect('WebSocket', service, { token: await service.token('alice'), path });
    const container = await accepted.promise;
    return { client, print: (text: string) => container.socket.write(container.encode({ channel: 1, bytes: Buffer.from(text) })) };
  }
  const seen = (client: Client, text: string) =>
    eventually(
      () => client.seen().toString(),
      (found) => found.endsWith(text),
    );
  /** Records a shell. Returns the id of its recording. */
  async function record(name: string, namespace?: string): Promise<string> {
    const { client, print } = await open(name, namespace);
    print(name);
    await seen(client, name);
    client.close();
    await client.closed;
    return (await ended(service, 'alice', name)).id;
  }
  const objectsOf = async (id: string) => (await s3.objects()).filter((name) => name.startsWith(`atrium/${id}/`));
  const check = async (name: string) => {
    const text = await (await fetch(`${service.storeMetricsURL()}/readyz?verbose`)).text();
    return text.split('\n').find((line) => line.slice(3).startsWith(`${name} `));
  };
  const failures = async () => {
    const text = await (await fetch(`${service.storeMetricsURL()}/metrics`)).text();
    return Number(/^atrium_audit_store_bucket_requests_total\{outcome="failed"\} (.*)$/m.exec(text)?.[1] ?? 0);
  };

  it('keeps a recording as objects, which are listed, read and deleted with it', async () => {
    const id = await record('kept');
    expect(await objectsOf(id)).to.deep.equal([`atrium/${id}/00000001.gz`, `atrium/${id}/recording.json`]);
    expect((await listRecordings(service, 'alice', { name: 'kept' })).items.map((item) => item.id)).to.deep.equal([id]);
    expect((await replay(service, 'alice', id)).output.toString()).to.equal('kept');
    expect(await check('recordings')).to.equal('[+]recordings ok');
    expect((await service.request(`${recordings}/${id}`, { method: 'DELETE', as: 'carol' })).status).to.equal(204);
    expect(await objectsOf(id)).to.deep.equal([]);
  });

  it('refuses and ends shells that must be recorded while the bucket is away, and tells why', async () => {
    const { client, print } = await open('cut-off');
    const before = await failures();
    await s3.relay.cut();
    try {
      print('unseen by the bucket');
      await client.closed;
      expect((await endEvent(service, 'alice', 'cut-off')).reason).to.equal('RecordingNotStored');
      await eventually(
        () => check('recordings'),
        (line) => line?.startsWith('[-]recordings failed (not critical): connect ECONNREFUSED') === true,
      );
      expect(await failures()).to.be.greaterThan(before);
      const headers = { Authorization: `Bearer ${await service.token('alice')}` };
      expect((await openUpgrade(service, headers, { path: shellIn('refused') })).status).to.equal(503);
    } finally {
      await s3.relay.mend();
    }
    expect((await ended(service, 'alice', 'cut-off')).reason).to.equal('NotStored');
    expect(
      await eventually(
        () => check('recordings'),
        (line) => line === '[+]recordings ok',
      ),
    ).to.equal('[+]recordings ok');
    const told = service.storeLines.filter((line) => line.includes('"msg":"bucket of recordings is not available"'));
    expect(told).to.have.length(1);
  });

  it('goes on without the bucket where recordings may be lost, and has all output that fits when it is back', async () => {
    const { client, print } = await open('through', 'default');
    print('before ');
    await seen(client, 'before ');
    const before = await failures();
    await s3.relay.cut();
    print('meanwhile ');
    await seen(client, 'meanwhile ');
    await eventually(failures, (count) => count > before);
    await s3.relay.mend();
    print('after');
    await seen(client, 'after');
    client.close();
    await client.closed;
    const { id, lostBytes } = await ended(service, 'alice', 'through');
    expect([lostBytes, (await replay(service, 'alice', id)).output.toString()]).to.deep.equal([0, 'before meanwhile after']);
  });

  it('deletes nothing while the bucket is away, and all later', async () => {
    const id = await record('deleted');
    await s3.relay.cut();
    const remove = async () => (await service.request(`${recordings}/${id}`, { method: 'DELETE', as: 'carol' })).status;
    expect(await remove()).to.equal(503);
    expect((await listRecordings(service, 'alice', { name: 'deleted' })).items).to.have.length(1);
    await s3.relay.mend();
    expect((await replay(service, 'alice', id)).output.toString()).to.equal('deleted');
    expect(await remove()).to.equal(204);
    expect(await objectsOf(id)).to.deep.equal([]);
  });

  it('marks a part that is missing in the bucket', async () => {
    const id = await record('damaged');
    await s3.remove(`atrium/${id}/00000001.gz`);
    expect((await replay(service, 'alice', id)).markers).to.deep.equal(['part 1 of the recording is missing or damaged']);
  });

  it('has parts that gunzip reads', async () => {
    const id = await record('plain');
    const text = gunzipSync(await s3.read(`atrium/${id}/00000001.gz`)).toString();
    expect(text).to.match(/^\[\d+\.\d{6}, "o", "plain"\]\n$/);
  });

  it('reads what an earlier configuration keeps in the database', async () => {
    const inBucket = await record('in-bucket');
    await service.stopStore();
    await service.startStore({ recordings: {} });
    const inDatabase = await record('in-database');
    expect((await replay(service, 'alice', inBucket)).markers).to.deep.equal(['part 1 of the recording is missing or damaged']);
    await service.stopStore();
    await service.startStore();
    for (const [id, text] of [
      [inBucket, 'in-bucket'],
      [inDatabase, 'in-database'],
    ] as const)
      expect((await replay(service, 'alice', id)).output.toString()).to.equal(text);
  });

  it('tells refused credentials without a part of them, and takes changed ones', async () => {
    const id = await record('changed');
    const read = async () => await (await service.request(`${recordings}/${id}`, { as: 'alice' })).text().catch(() => '');
    const wrong = 'wrong/secret+key=of-the-tests';
    for (const [text, reason] of [
      [wrong, 'status 403 SignatureDoesNotMatch'],
      [`${wrong} \u00e9`, 'holds no credential: it must be one line of ASCII characters without blanks'],
    ] as const) {
      await s3.write('secret', text);
      await read();
      expect(await check('recordings')).to.include(reason);
    }
    await s3.write('secret', secretAccessKey);
    expect((await replay(service, 'alice', id)).output.toString()).to.equal('changed');
    for (const secret of [wrong, secretAccessKey, 'AKIATEST'])
      expect([...service.storeLines, ...service.logLines].join('')).not.to.include(secret);
  });
});
