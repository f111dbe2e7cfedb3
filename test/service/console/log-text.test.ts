import { expect } from 'chai';
import { LogText } from '../../../web/src/pages/cluster/logs/log-text.ts';

const bytes = (text: string) => new TextEncoder().encode(text).buffer;
/** Reads texts that arrive in a message each. */
const read = (log: LogText, ...texts: string[]) => texts.flatMap((text) => log.add(bytes(text)).map((line) => line.text));
const at = (second: number, fraction = '000000000') => `2026-11-26T10:00:${String(second).padStart(2, '0')}.${fraction}Z`;

describe('the text of a log in the console', () => {
  it('cases/21 shows the last state of a line with carriage returns, before its newline too', () => {
    const log = new LogText();

    expect(read(log, 'start\n', '\r0% downloading', '\r5% downloading')).to.deep.equal(['start']);
    expect(log.unfinished).to.equal('5% downloading');
    expect(read(log, '\r100% downloading\r', '\ndone\r\n')).to.deep.equal(['100% downloading', 'done']);
    expect(log.unfinished).to.equal('');
  });

  it('cases/21 shows an unfinished last line, and writes over it as a terminal does', () => {
    const log = new LogText();

    expect(read(log, 'line one\nEnter pass', 'word: ')).to.deep.equal(['line one']);
    expect(log.unfinished).to.equal('Enter password: ');
    expect(read(log, '\rab\n')).to.deep.equal(['abter password: ']);
    expect(read(log, 'long text\r\u001b[Kshort\n', '\u001b[3', '1mred\u001b[0m\n')).to.deep.equal(['short', 'red']);
    expect(read(log, 'last')).to.deep.equal([]);
    expect(log.end().map(({ text }) => text)).to.deep.equal(['last']);
  });

  it('keeps only the last state of a progress bar', () => {
    const log = new LogText();
    for (let percent = 0; percent < 100_000; percent += 1)
      read(log, `${at(1)} \r${percent} of 100000`.slice(percent === 0 ? 0 : at(1).length + 1));

    expect(log.unfinished).to.equal('99999 of 100000');
    expect(read(log, '\n')).to.deep.equal(['99999 of 100000']);
  });

  it('cases/09 takes each line once after the stream has begun again', () => {
    const log = new LogText();
    read(log, `${at(1)} one\n${at(2, '100000000')} two\n${at(2, '200000000')} three\n${at(2, '200000000')} four\n${at(3)} cut off`);

    expect(log.resume()).to.equal(at(2, '200000000'));
    expect(log.unfinished).to.equal('');
    const again = `${at(2, '100000000')} two\n2026-11-26T11:00:02.2+01:00 three\n${at(2, '200000000')} four\n${at(2, '200000000')} five\n`;
    expect(read(log, again, `${at(3)} cut off no longer\n`)).to.deep.equal(['five', 'cut off no longer']);
    expect(log.resume()).to.equal(at(3));
    expect(read(log, `${at(3)} cut off no longer\n${at(4)} six\n`)).to.deep.equal(['six']);
  });

  it('takes lines without a time as they are', () => {
    const log = new LogText();

    expect(read(log, 'plain\n\n2026-11-26 text\n')).to.deep.equal(['plain', '', '2026-11-26 text']);
    expect(log.resume()).to.equal(undefined);
  });
});
