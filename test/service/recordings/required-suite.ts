import { expect } from 'chai';
import { banner } from '../../../src/recordings/shell-recording.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { openUpgrade } from '../proxy/support.ts';
import { accept, type Container, connect, type Protocol, protocols } from './shells.ts';
import { endEvent, ended, listRecordings, type RecordingsIn, replay, shellIn, startRecordings } from './support.ts';

const terminal = 'stdout=true&stdin=true&tty=true';
const megabyte = Buffer.alloc(1024 * 1024, 'y');

/** A place of recordings that a test takes away. */
interface Place {
  recordingsIn?: RecordingsIn;
  /** Takes the place away, or brings it back. */
  setAway(isAway: boolean): Promise<void>;
}

/** Tests of shells and the place of their recordings that hold in each place. */
export function itRequiresRecordings({ recordingsIn, setAway }: Place): void {
  const between = new ApiServerBetween();
  const server = forSuite(async () => {
    const rules = [
      { namespaces: ['shop'], mode: 'required' },
      { namespaces: ['default'], mode: 'besteffort' },
    ];
    const started = await startRecordings(between, { recordings: rules, maxRecordingBytes: '3MiB' }, { recordingsIn });
    let isAway = false;
    return {
      ...started,
      async setAway(value: boolean) {
        if (isAway !== value) await setAway(value);
        isAway = value;
      },
    };
  });
  afterEach(() => server.setAway(false));

  async function open(protocol: Protocol, name: string, query = terminal, namespace = 'shop') {
    const accepted = Promise.withResolvers<Container>();
    between.upgrade = (request, socket) => accept(request, socket).then(accepted.resolve, accepted.reject);
    const client = await connect(protocol, server, { token: await server.token('alice'), path: shellIn(name, query, { namespace }) });
    const container = await accepted.promise;
    return { client, print: (bytes: Buffer) => container.socket.write(container.encode({ channel: 1, bytes })) };
  }
  const seen = (client: Awaited<ReturnType<typeof connect>>, length: number) =>
    eventually(
      () => client.seen().length,
      (now) => now >= length,
    );
  for (const protocol of protocols) {
    it(`tell the user in the terminal, and keep the banner in the recording, by ${protocol}`, async () => {
      const name = `banner-${protocol.toLowerCase()}`;
      const { client, print } = await open(protocol, name);
      await seen(client, banner.length);
      print(Buffer.from('$ '));
      await seen(client, banner.length + 2);
      client.close();
      await client.closed;
      expect(client.seen().toString()).to.equal(`${banner}$ `);
      const { id, mode } = await ended(server, 'alice', name);
      expect([mode, (await replay(server, 'alice', id)).output.toString()]).to.deep.equal(['required', `${banner}$ `]);
      const event = await endEvent(server, 'alice', name);
      expect([event.connection?.recording, event.outcome, event.reason]).to.deep.equal([id, 'success', undefined]);
    });

    it(`leave the output of a command without a terminal as it is, by ${protocol}`, async () => {
      const name = `plain-${protocol.toLowerCase()}`;
      const { client, print } = await open(protocol, name, 'stdout=true');
      print(Buffer.from('file'));
      await seen(client, 4);
      client.close();
      await client.closed;
      expect(client.seen().toString()).to.equal('file');
    });

    it(`end with their reason while nothing can be stored, by ${protocol}`, async () => {
      const name = `away-${protocol.toLowerCase()}`;
      const { client, print } = await open(protocol, name);
      await seen(client, banner.length);
      await server.setAway(true);
      print(Buffer.from('rm -rf /\r\n'));
      await client.closed;
      const event = await endEvent(server, 'alice', name);
      expect([event.outcome, event.reason]).to.deep.equal(['failure', 'RecordingNotStored']);
      if (protocol === 'WebSocket')
        expect(client.status()?.message).to.equal('the shell must be recorded, and the audit store does not take the recording');
      await server.setAway(false);
      const { reason } = await ended(server, 'alice', name);
      expect(reason).to.equal('NotStored');
    });
  }

  it('are refused before the API server is asked, if nothing can be stored at their begin', async () => {
    await server.setAway(true);
    between.received.length = 0;
    const { status, body } = await openUpgrade(
      server,
      { Authorization: `Bearer ${await server.token('alice')}` },
      { path: shellIn('refused') },
    );
    const { reason, details } = JSON.parse(body) as { reason: string; details: { causes: { reason: string }[] } };
    expect([status, reason, details.causes[0]?.reason]).to.deep.equal([503, 'ServiceUnavailable', 'RecordingNotStored']);
    expect(between.received).to.deep.equal([]);
  });

  it('leave no recording when the API server refuses them', async () => {
    between.upgrade = (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    const { status } = await openUpgrade(
      server,
      { Authorization: `Bearer ${await server.token('alice')}` },
      { path: shellIn('forbidden') },
    );
    expect(status).to.equal(403);
    await eventually(
      () => listRecordings(server, 'alice', { name: 'forbidden' }),
      ({ items }) => items.length === 0,
    );
  });

  it('end when their recording reaches its bound', async () => {
    const { client, print } = await open('WebSocket', 'long');
    for (let count = 0; count < 4; count += 1) print(megabyte);
    await client.closed;
    expect((await endEvent(server, 'alice', 'long')).reason).to.equal('RecordingTooLarge');
    const { id, reason } = await ended(server, 'alice', 'long');
    expect(reason).to.equal('TooLarge');
    expect((await replay(server, 'alice', id)).markers).to.deep.equal(['the recording has reached its bound and ends here']);
  });

  it('wait for a slow store, and lose nothing', async () => {
    const { client, print } = await open('WebSocket', 'slow');
    const printed = Buffer.alloc(2 * 1024 * 1024, 'z');
    for (let at = 0; at < printed.length; at += 10_000) print(printed.subarray(at, at + 10_000));
    await seen(client, banner.length + printed.length);
    client.close();
    await client.closed;
    const { id, lostBytes } = await ended(server, 'alice', 'slow');
    const { output } = await replay(server, 'alice', id);
    expect([lostBytes, output.length]).to.deep.equal([0, banner.length + printed.length]);
  });

  it('are others that go on without the store, which tells what it lacks', async () => {
    const { client, print } = await open('WebSocket', 'gap', terminal, 'default');
    print(Buffer.from('begin'));
    await seen(client, 5);
    await server.setAway(true);
    for (let count = 0; count < 8; count += 1) print(megabyte);
    await seen(client, 5 + 8 * megabyte.length);
    expect(client.seen().toString().startsWith('beginy')).to.equal(true);
    await server.setAway(false);
    const metric = async () =>
      Number(/^atrium_recordings_lost_bytes_total (.*)$/m.exec(await (await fetch(`${server.metricsURL}/metrics`)).text())?.[1]);
    const lost = await metric();
    expect(lost).to.be.greaterThan(6 * megabyte.length);
    client.close();
    await client.closed;
    const { id, lostBytes, mode } = await ended(server, 'alice', 'gap');
    expect([lostBytes, mode]).to.deep.equal([lost, 'besteffort']);
    const { output, markers } = await replay(server, 'alice', id);
    expect([output.length, markers]).to.deep.equal([5 + 8 * megabyte.length - lost, [`${lost} bytes of output are missing`]]);
  });
}
