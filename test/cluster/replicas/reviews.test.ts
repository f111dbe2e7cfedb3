import { expect } from 'chai';
import { interleavedReviews } from './interleaved-reviews.ts';
import { installation } from './shared.ts';

const count = 20_000;
const atLeast = 5_000;

describe('access reviews of five callers on shared connections to two replicas', () => {
  it(`AUZ-01 get the answer of their own caller, ${count} times each, while bindings change`, async () => {
    const { asked, wrong, changes } = await interleavedReviews(await installation(), { count, atLeast, maxSeconds: 100 });

    expect(wrong).to.deep.equal([]);
    // A busy machine may not reach the end, but sends enough requests for a verdict.
    expect(asked).to.be.at.least(atLeast);
    expect(changes).to.be.above(0);
  });
});
