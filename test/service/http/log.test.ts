import { expect } from 'chai';
import { createLog, GatheredLines } from '../../../src/telemetry/log.ts';

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

  it('ends with errors that cause each other, and takes causes that are none', () => {
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
