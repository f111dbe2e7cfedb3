/** 2,000 questions, and 1,000 about changes (SIM-01); `npm run soak:rbac` asks 100,000 of each of the real API server. */

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { AgreementCheck } from './agreement.ts';

describe('the answer of the watched roles', () => {
  const cluster = forSuite(() => apiServer());
  const check = forSuite(() => AgreementCheck.start(cluster));

  for (const seed of [1, Math.floor(Math.random() * 1_000_000)]) {
    it(`is that of the API server, to 1,000 random questions (seed ${seed})`, async () => {
      const { asked, allowed, disagreements, forecasts } = await check.run({ seed, round: seed, questions: 1_000 });

      expect(disagreements).to.deep.equal([]);
      expect(asked).to.equal(1_000);
      // Both answers must be frequent for a meaningful result: with 400 seeds, 223 to 506 are allowed.
      expect(allowed).to.be.within(50, 950);
      expect(forecasts.wrong).to.equal(0);
      expect(forecasts.asked).to.be.above(3_000);
    });

    it(`is that of the API server before and after a change that was simulated, to 500 questions (SIM-01, seed ${seed})`, async () => {
      const { asked, gained, lost, disagreements } = await check.runChange({
        seed: seed + 1_000_000,
        round: seed + 1_000_000,
        questions: 500,
      });

      expect(disagreements).to.deep.equal([]);
      expect(asked).to.equal(500);
      // Other seeds may change little.
      if (seed === 1) expect(gained + lost).to.be.above(0);
    });
  }
});
