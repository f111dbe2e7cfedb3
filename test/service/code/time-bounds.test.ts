import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

/** Ways to assert how fast a machine is. */
const bounds = [
  /\b(?:monitorEventLoopDelay|eventLoopUtilization|cpuUsage|threadCpuUsage)\(/,
  /expect\([^;]*(?:performance\.now\(\)|\b(?:elapsed|took|lasted|duration)\w*)[^;]*\)[^;]*\.(?:below|lessThan|lt|most|within)\(/,
];
/** Measured for `bench/parsers.ts`; no test uses it. */
const measured = ['test/service/code/parsers/measure.ts'];

describe('tests of the service', () => {
  it('assert no time: a bound is counted work, or a figure of `bench`', () => {
    const files = globSync('test/service/**/*.ts').filter((file) => !measured.includes(file) && !file.endsWith('time-bounds.test.ts'));
    expect(files.length).to.be.above(300);
    const wrong = files.filter((file) => bounds.some((bound) => bound.test(readFileSync(file, 'utf8'))));
    expect(wrong).to.deep.equal([]);
  });
});
