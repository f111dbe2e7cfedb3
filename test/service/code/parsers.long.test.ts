import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';

const limitMs = 20;

const measured = z.object({ parser: z.string(), ms: z.number(), text: z.string(), length: z.number() });

describe('parsers of what callers send', () => {
  it('S1 hold the event loop for at most 20 ms, whatever the text is', async function () {
    // The test takes half a minute of CPU time, which can be minutes on a busy machine.
    this.timeout(900_000);
    const program = fileURLToPath(new URL('./parsers/measure.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program], { maxBuffer: 2 ** 24 });
    const all = stdout
      .trim()
      .split('\n')
      .map((line) => measured.parse(JSON.parse(line)));

    expect(all.length).to.be.greaterThan(150);
    const slow = all.filter(({ ms }) => ms > limitMs).map(({ parser, ms, text, length }) => `${parser}: ${ms} ms for ${length} of ${text}`);
    expect(slow).to.deep.equal([]);
  });
});
