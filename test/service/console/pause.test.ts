import { expect } from 'chai';
import { describe, it } from 'mocha';
import { pauseAfter } from '../../../web/src/api/pause.ts';

describe('the pause of the console after a failure', () => {
  it('grows with each failure, to at most five seconds, and differs between pages', () => {
    for (let failures = 1; failures < 100; failures += 1) {
      const pauses = Array.from({ length: 100 }, () => pauseAfter(failures));
      expect(Math.min(...pauses), `${failures}`).to.be.at.least(750 * Math.min(2 ** (failures - 1), 4));
      expect(Math.max(...pauses), `${failures}`).to.be.at.most(5000);
      expect(new Set(pauses).size).to.be.above(50);
    }
  });
});
