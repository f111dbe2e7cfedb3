import { JsonLines } from '@atrium/kubernetes/list-watch.ts';
import { expect } from 'chai';

const values = [{ name: 'zürich 🏔' }, { name: 'a\nb', n: 1.5 }, [], 'x'];
const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));

describe('JSON lines', () => {
  it('are the same however the stream is cut, also within a character', () => {
    for (let size = 1; size <= bytes.length; size += 1) {
      const lines = new JsonLines(1000);
      const read: unknown[] = [];
      for (let start = 0; start < bytes.length; start += size) read.push(...lines.push(bytes.subarray(start, start + size)));

      expect(read, `chunks of ${size}`).to.deep.equal(values);
    }
  });

  it('give nothing of one that lacks its end', () => {
    const lines = new JsonLines(1000);

    expect([...lines.push(Buffer.from('1\n{"half":'))]).to.deep.equal([1]);
    expect([...lines.push(Buffer.from('true}\n'))]).to.deep.equal([{ half: true }]);
  });

  it('yield the lines before a broken line, and never quote it', () => {
    const lines = new JsonLines(1000);
    const read: unknown[] = [];
    const push = () => {
      for (const value of lines.push(Buffer.from('1\n{"password":"s3cret"\n2\n'))) read.push(value);
    };

    expect(push).to.throw(/^a line is not JSON$/);
    expect(read).to.deep.equal([1]);
  });

  it('refuse bytes that are not UTF-8', () => {
    expect(() => [...new JsonLines(1000).push(Buffer.from([0x22, 0xff, 0x22, 0x0a]))]).to.throw('not JSON');
  });

  it('are bounded, also before their end has come', () => {
    const lines = new JsonLines(10);

    expect([...lines.push(Buffer.from('"12345678"\n"1234'))]).to.deep.equal(['12345678']);
    expect(() => [...lines.push(Buffer.from('567890'))]).to.throw('longer than 10 bytes');
  });
});
