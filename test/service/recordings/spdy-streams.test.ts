import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { accept, connect, headerBlock, type Opened, streams, uint32 } from './shells.ts';
import { endEvent, ended, replay, shellIn, startRecordings } from './support.ts';

const secret = 'the content of a file';
/** Begin of a second block of headers, whose last value is the block that follows in its frame. */
const begun = (next: Buffer) =>
  Buffer.concat([headerBlock(['streamtype', 'stdout'], ['x', '']).fill(2, 3, 4).subarray(0, -4), uint32(next.length)]);

/** Replaces the stream of the output. */
const stdoutAs =
  (...blocks: Buffer[]) =>
  (usual: readonly Opened[]): readonly Opened[] =>
    usual.flatMap((opened) => (opened.stream === streams.stdout ? blocks.map((block) => ({ ...opened, block })) : opened));

/** Streams whose type is `stdout` for the code of Kubernetes (moby/spdystream), and is another one for a reader that is less exact. */
const disguises: Record<string, (usual: readonly Opened[]) => readonly Opened[]> = {
  'a type with two values': stdoutAs(headerBlock(['streamtype', 'stdout\0resize'])),
  'the header of the type twice': stdoutAs(headerBlock(['streamtype', 'stdout'], ['streamtype', 'resize'])),
  'a second stream with its number': stdoutAs(headerBlock(['streamtype', 'stdout']), headerBlock(['streamtype', 'resize'])),
  'headers behind those of the stream before': (usual) => {
    const disguised = headerBlock(['streamtype', 'resize']);
    return stdoutAs(disguised)(usual).map((opened) =>
      opened.stream === streams.stdin ? { ...opened, block: Buffer.concat([opened.block, begun(disguised)]) } : opened,
    );
  },
  'no type that Kubernetes knows': stdoutAs(headerBlock(['streamtype', 'output'])),
};

describe('shells over SPDY with a disguised output', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() =>
    startRecordings(between, {
      recordings: [
        { namespaces: ['shop'], mode: 'required' },
        { namespaces: ['default'], mode: 'besteffort' },
      ],
    }),
  );

  async function open(name: string, opening: (usual: readonly Opened[]) => readonly Opened[], namespace = 'shop') {
    between.upgrade = async (request, socket) => {
      const container = await accept(request, socket);
      socket.end(container.encode({ channel: 1, bytes: Buffer.from(secret) }));
    };
    return await connect('SPDY', server, {
      token: await server.token('alice'),
      path: shellIn(name, 'stdout=true', { namespace }),
      opening,
    });
  }

  for (const [index, [what, opening]] of Object.entries(disguises).entries())
    it(`end if they must be recorded: ${what}`, async () => {
      const client = await open(`disguised-${index}`, opening);
      await client.closed;
      const { outcome, reason } = await endEvent(server, 'alice', `disguised-${index}`);
      expect([outcome, reason]).to.deep.equal(['failure', 'RecordingNotStored']);
      expect((await ended(server, 'alice', `disguised-${index}`)).reason).to.equal('NotStored');
    });

  it('go on elsewhere, and their recording says that it ends', async () => {
    const client = await open('disguised', disguises['a type with two values'] ?? expect.fail(), 'default');
    await eventually(
      () => client.seen().toString(),
      (seen) => seen === secret,
    );
    await client.closed;
    const { id, reason } = await ended(server, 'alice', 'disguised');
    expect([reason, (await replay(server, 'alice', id)).output.toString()]).to.deep.equal(['NotStored', '']);
  });
});
