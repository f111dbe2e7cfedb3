import { Readable } from 'node:stream';
import { readAtMost } from '@atrium/http/outgoing.ts';
import { expect } from 'chai';

describe('a body of bounded length', () => {
  it('is read up to its bound, and ended beyond it', async () => {
    const of = (...parts: string[]) => Readable.from(parts.map((part) => Buffer.from(part)));
    expect((await readAtMost(of('ab', 'cd'), 4))?.toString()).to.equal('abcd');
    const long = of('ab', 'cde', 'never read');
    expect(await readAtMost(long, 4)).to.equal(undefined);
    expect(long.destroyed).to.equal(true);
  });
});
