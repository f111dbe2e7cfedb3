import { readFileSync } from 'node:fs';
import * as durations from '@atrium/objects/duration.ts';
import * as pods from '@atrium/objects/pod-state.ts';
import * as quantities from '@atrium/objects/quantity.ts';
import * as schedules from '@atrium/objects/schedule.ts';
import { expect } from 'chai';

describe('the example of the README', () => {
  it('returns what its comments say', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const [, example = ''] = /^```ts\n(.*?)^```/ms.exec(readme) ?? [];
    const lines = example.split('\n').filter((line) => line !== '' && !line.startsWith('import'));
    const results = lines.flatMap((line) => {
      const [code = '', comment] = line.split(' // ');
      return comment === undefined ? [code] : [`results.push([${code.replace(/;$/, '')}, ${comment}]);`];
    });
    const known = { ...durations, ...pods, ...quantities, ...schedules };
    const run = new Function(...Object.keys(known), `const results = []; ${results.join('\n')} return results;`);
    const pairs = run(...Object.values(known)) as [unknown, unknown][];
    expect(pairs).to.have.lengthOf(4);
    for (const [result, expected] of pairs) expect(result).to.deep.equal(expected);
  });
});
