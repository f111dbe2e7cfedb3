import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { accept, type Container, connect, type Output, protocols } from './shells.ts';
import { endEvent, ended, type RecordingsIn, replay, shellIn, startRecordings } from './support.ts';

/** Mulberry32. */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const texts = [
  ...['$ ', 'ls -la\r\n', 'total 12\r\n', '\u001b[1;31mred\u001b[0m', '\u001b]0;title\u0007', '\u001b[2J\u001b[H', '\r', '\b \b', '\0'],
  ...['née', '管理', '👍🏽', '\ufeff', '\u2028', '"quoted" \\ back', '<script>alert(1)</script>', '\u009b31m', 'x'.repeat(300)],
];

/** Returns what a container prints: in pieces of characters, or of bytes for one channel alone. */
function session(random: (below: number) => number, isTerminal: boolean): Output[] {
  const outputs: Output[] = [];
  for (let left = random(60); left > 0; left -= 1) {
    const text = Array.from({ length: 1 + random(random(20) === 0 ? 4_000 : 12) }, () => texts[random(texts.length)] ?? '').join('');
    outputs.push({ channel: isTerminal || random(3) > 0 ? 1 : 2, bytes: Buffer.from(text) });
  }
  if (!isTerminal) return outputs;
  return outputs.flatMap(({ channel, bytes }) => {
    const at = random(bytes.length + 1);
    return [bytes.subarray(0, at), bytes.subarray(at)].map((part) => ({ channel, bytes: part }));
  });
}

/** Tests of the output of shells that hold in each place of recordings. */
export function itReplaysShells(recordingsIn?: RecordingsIn): void {
  const between = new ApiServerBetween();
  const server = forSuite(() => startRecordings(between, { recordings: [{ mode: 'besteffort' }] }, { recordingsIn }));

  for (const protocol of protocols)
    it(`replay the screen of the user byte for byte, in 25 random sessions by ${protocol}`, async () => {
      for (let seed = 1; seed <= 25; seed += 1) {
        const random = randomly(seed);
        const isTerminal = random(2) === 0;
        const outputs = session(random, isTerminal);
        between.upgrade = async (request, socket) => {
          const container = await accept(request, socket);
          const bytes = Buffer.concat(outputs.map(container.encode));
          // Frames end anywhere in what arrives.
          for (let at = 0; at < bytes.length; ) {
            const end = at + 1 + random(random(4) === 0 ? 100_000 : 50);
            socket.write(bytes.subarray(at, end));
            at = end;
            if (random(8) === 0) await new Promise((resolve) => setImmediate(resolve));
          }
        };
        const name = `${protocol.toLowerCase()}-${seed}`;
        const path = shellIn(name, isTerminal ? 'stdout=true&tty=true' : 'stdout=true&stderr=true');
        const client = await connect(protocol, server, { token: await server.token('alice'), path });
        const printed = Buffer.concat(outputs.map(({ bytes }) => bytes));
        await eventually(
          () => client.seen().length,
          (length) => length === printed.length,
        );
        client.close();
        await client.closed;

        const { id, lostBytes, user, objectRef } = await ended(server, 'alice', name);
        expect([user.username, objectRef, lostBytes]).to.deep.equal(['alice', { namespace: 'shop', name, subresource: 'exec' }, 0]);
        const { output, type, head, recorded } = await replay(server, 'alice', id);
        expect([type, head.version]).to.deep.equal(['application/x-asciicast', 2]);
        expect(output.equals(client.seen()), `seed ${seed}`).to.equal(true);
        expect(output.equals(printed), `seed ${seed}`).to.equal(true);
        expect((await endEvent(server, 'alice', name)).connection?.recorded).to.deep.equal(recorded);
      }
    });

  for (const protocol of protocols)
    it(`have the sizes of the terminal and nothing that was typed, by ${protocol}`, async () => {
      const accepted = Promise.withResolvers<Container>();
      between.upgrade = (request, socket) => accept(request, socket).then(accepted.resolve, accepted.reject);
      const name = `sizes-${protocol.toLowerCase()}`;
      const path = shellIn(name, 'stdout=true&stdin=true&tty=true');
      const client = await connect(protocol, server, { token: await server.token('alice'), path });
      const container = await accepted.promise;
      const arrived = (text: string) =>
        eventually(
          () => container.input(),
          (input) => input.includes(text),
        );
      const print = async (text: string) => {
        container.socket.write(container.encode({ channel: 1, bytes: Buffer.from(text) }));
        await eventually(
          () => client.seen().toString(),
          (seen) => seen.endsWith(text),
        );
      };
      client.resize(120, 40);
      client.type('a-password\r');
      await arrived('a-password');
      await print('one');
      for (const [columns, rows] of [
        [80, 24],
        [80, 24],
        [0, 24],
      ] as const)
        client.resize(columns, rows);
      client.type('last');
      await arrived('last');
      await print('two');
      client.close();
      await client.closed;

      const { id } = await ended(server, 'alice', name);
      const { head, sizes, output, events } = await replay(server, 'alice', id);
      expect([head.width, head.height, sizes, output.toString()]).to.deep.equal([120, 40, ['80x24'], 'onetwo']);
      expect(head.title).to.equal(`alice in shop/${name}`);
      expect(JSON.stringify(events)).to.not.include('a-password');
    });
}
