import { PassThrough } from 'node:stream';
import { createLog, GatheredLines } from '@atrium/http/telemetry/log.ts';
import { expect } from 'chai';
import pretty from 'pino-pretty';
import { Audit } from '../../../src/audit/audit.ts';

const lineOf = (error: unknown): { err: unknown } => {
  const lines: string[] = [];
  createLog({ level: 'info', format: 'json' }, { write: (line) => lines.push(line) }).warn({ err: error }, 'failed');
  return JSON.parse(lines[0] ?? '');
};

describe('the log', () => {
  it('records an error with its causes, and no further members of either', () => {
    const refusal = Object.assign(new TypeError('users "atrium" cannot list resource "accesstokens"'), { body: 'secret', code: 'E' });
    const { err } = lineOf(Object.assign(new Error('not available', { cause: refusal }), { request: 'secret' }));

    expect(err).to.have.keys('type', 'message', 'stack', 'cause');
    expect(err).to.deep.include({ type: 'Error', message: 'not available' });
    expect(err).to.have.nested.property('cause.message', refusal.message);
    expect(err).to.have.property('cause').with.keys('type', 'message', 'stack', 'code');
  });

  it('ends with errors that cause each other, and takes causes that are not errors', () => {
    const [one, other] = [new Error('one'), new Error('other')];
    one.cause = other;
    other.cause = one;

    expect(JSON.stringify(lineOf(one)).match(/"message":"one"/g)).to.have.length(3);
    expect(lineOf(new Error('text', { cause: 'why' }))).to.have.nested.property('err.cause', 'why');
  });
});

describe('the lines of the process log', () => {
  it('are written together once a turn of the event loop, and at once after an error', async () => {
    const written: string[] = [];
    const log = createLog({ level: 'info', format: 'json' }, new GatheredLines({ write: (lines) => written.push(lines) }));
    const messages = () => written.map((lines) => lines.match(/"msg":"\w+"/g)?.join());

    log.info('one');
    log.info('two');
    expect(written).to.be.empty;
    await new Promise((resolve) => setImmediate(resolve));
    expect(messages()).to.deep.equal(['"msg":"one","msg":"two"']);

    log.info('three');
    log.warn('four');
    expect(messages()[1]).to.equal('"msg":"three","msg":"four"');
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).to.have.length(2);
  });

  it('are written when the process ends, too', () => {
    const written: string[] = [];
    const lines = new GatheredLines({ write: (text) => written.push(text) });

    lines.write('{"level":"info"}\n');
    lines.flush();
    lines.flush();
    expect(written).to.deep.equal(['{"level":"info"}\n']);
  });
});

/** Characters that a terminal obeys, or that change how a line reads. A header can carry all up to U+00FF. */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const characters = [
  ...Array.from({ length: 32 }, (_, code) => code),
  ...Array.from({ length: 33 }, (_, code) => code + 0x7f),
  ...[0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069],
].map((code) => String.fromCharCode(code));

describe('a line of the log that a terminal shows', () => {
  for (const character of characters)
    it(`escapes ${JSON.stringify(character)}`, () => {
      const given = `\\u001b[31m a${character}b\\${character}`;
      const lines: string[] = [];
      createLog({ level: 'info', format: 'json' }, { write: (line) => lines.push(line) }).info({ userAgent: given, [given]: 1 }, given);
      new Audit({ write: (line) => lines.push(line), log: createLog({ level: 'silent', format: 'json' }), now: () => new Date() }).record({
        ...{ audit: 'LoggedOut', outcome: 'success', requestId: '1', source: '127.0.0.1', userAgent: given },
        actor: { name: given, uid: '' },
      });

      expect(lines).to.have.lengthOf(2);
      for (const line of lines) expect(line.slice(0, -1)).not.to.match(unsafe);
      expect(JSON.parse(lines[0] ?? '')).to.include({ userAgent: given, msg: given });
      expect(JSON.parse(lines[1] ?? '')).to.deep.include({ userAgent: given, actor: { name: given, uid: '' } });

      const stream = new PassThrough({ encoding: 'utf8' });
      const log = createLog({ level: 'info', format: 'pretty' }, pretty({ destination: stream, sync: true, singleLine: true }));
      log.info({ userAgent: given }, given);
      // Stacks of errors have line breaks and tabs.
      expect(
        stream
          .read()
          .trimEnd()
          .replaceAll(/[\n\t]/g, ''),
      ).not.to.match(unsafe);
    });
});
