import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TrustingAgent } from '@atrium/http/outgoing.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AwsClient } from 'aws4fetch';
import { pino } from 'pino';
import { parseConfig } from '../../../src/config/load.ts';
import { Bucket } from '../../../src/store-server/bucket.ts';
import { recordingsInBucket } from '../../../src/store-server/recordings-in-bucket.ts';
import { s3Program } from '../../cluster/build.ts';
import type { KeyPair } from '../../cluster/certificates.ts';
import { Program } from '../../cluster/program.ts';
import type { RecordingsIn } from '../../service/recordings/support.ts';
import { freePort } from '../../support/free-port.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const accessKeyID = 'AKIATESTTESTTESTTEST';
const bucket = 'recordings';
export const secretAccessKey = 'a/secret+key=of-the-tests';

/** An S3 server as a child process with a bucket, behind a relay that a test can cut. */
export async function startS3(tls?: { authority: KeyPair; serving: KeyPair }) {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-s3-'));
  const write = async (name: string, text: string) => {
    await writeFile(join(directory, name), text);
    return join(directory, name);
  };
  const address = `127.0.0.1:${await freePort()}`;
  const flags = {
    ...{ address, bucket, 'access-key-id': accessKeyID, 'secret-access-key': secretAccessKey },
    ...(tls && { certificate: await write('tls.crt', tls.serving.certificate), key: await write('tls.key', tls.serving.key) }),
  };
  const scheme = tls ? 'https' : 'http';
  const relay = new TcpProxy(`${scheme}://${address}`);
  const isReady = () =>
    // The server answers a request in clear text, too: with 400.
    fetch(`http://${address}`).then(
      () => true,
      () => false,
    );
  const program = new Program(await s3Program(), flags, { directory, isReady });
  await program.start();
  await relay.start();
  const client = new AwsClient({ accessKeyId: accessKeyID, secretAccessKey, service: 's3', region: 'us-east-1' });
  const agent = new TrustingAgent({
    caFile: tls && (await write('ca.crt', tls.authority.certificate)),
    connections: 1,
    connectTimeoutMs: 10_000,
  });
  /** Calls the server past the relay and the code that is tested. */
  const call = async (method: string, path: string) => {
    const { url, headers } = await client.sign(`${scheme}://${address}/${bucket}${path}`, { method });
    const answer = await agent.request(url, { method, headers: Object.fromEntries(headers), signal: AbortSignal.timeout(10_000) });
    return Buffer.from(await answer.body.arrayBuffer());
  };
  const settings = {
    ...{ endpoint: relay.url, bucket, prefix: 'atrium/' },
    ...(tls && { caFile: await write('ca.crt', tls.authority.certificate) }),
    accessKeyIDFile: await write('id', `${accessKeyID}\n`),
    secretAccessKeyFile: await write('secret', `${secretAccessKey}\n`),
  };
  return {
    ...{ relay, settings, write },
    /** Returns the names of all objects. */
    async objects(): Promise<string[]> {
      return [...(await call('GET', '?list-type=2')).toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name = '']) => name);
    },
    read: (object: string) => call('GET', `/${object}`),
    remove: (object: string) => call('DELETE', `/${object}`),
    async stop() {
      await agent.stop();
      await relay.cut();
      await program.kill();
      await rm(directory, { recursive: true });
    },
  };
}

type S3 = Awaited<ReturnType<typeof startS3>>;

/** Returns a place of recordings in the bucket of a server that has started when recordings are opened. */
export const inBucketOf =
  (s3: () => S3): RecordingsIn =>
  (database) => {
    const { settings } = s3();
    const { auditStore } = parseConfig({ yaml: JSON.stringify({ auditStore: { recordings: { s3: settings } } }) });
    if (auditStore.recordings.s3 === undefined) throw new Error('the settings name no bucket');
    const log = pino({ level: 'silent' });
    return recordingsInBucket(database, new Bucket({ settings: auditStore.recordings.s3, metrics: new Metrics(), log }));
  };
