import { expect } from 'chai';
import { describe, it } from 'mocha';
import { shrink } from './shrink.ts';

describe('shrinking of a failing sequence', () => {
  const sequence = Array.from({ length: 100 }, (_, index) => index);
  const needs =
    (...needed: number[]) =>
    async (steps: readonly number[]) =>
      needed.every((step) => steps.includes(step));

  it('keeps the necessary steps in order', async () => {
    for (const needed of [[0], [99], [3, 4], [0, 50, 99], [10, 20, 30, 40, 50]])
      expect(await shrink(sequence, needs(...needed))).to.deep.equal(needed);
  });

  it('keeps the whole sequence if each step is necessary', async () => {
    expect(await shrink([1, 2, 3], needs(1, 2, 3))).to.deep.equal([1, 2, 3]);
  });
});
