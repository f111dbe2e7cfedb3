import { quantityOf } from '@atrium/objects/quantity.ts';
import { expect } from 'chai';

describe('quantityOf', () => {
  it('reads quantities of Kubernetes, and no other text', () => {
    expect(['1Ki', '1K', '1ki', '1e3', '1E3', '1E', '1i', 'm', '1 Gi', '0x1', ''].map(quantityOf)).to.deep.equal([
      ...[1024, undefined, undefined, 1000, 1000, 1e18, undefined, undefined, undefined, undefined, undefined],
    ]);
  });

  it('refuses a text that is too large for a number, or longer than 64 characters', () => {
    expect(['1e400', `1${'0'.repeat(64)}`, `0.${'1'.repeat(1_000_000)}`].map(quantityOf)).to.deep.equal([undefined, undefined, undefined]);
  });
});
