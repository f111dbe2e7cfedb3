import { expect } from 'chai';
import { isFinal, isTransient } from '../../../web/src/api/lost.ts';

describe('a failed watch in the console', () => {
  it('ends at a refusal of the API server', () => {
    for (const [status, reason] of [
      [401, 'Unauthorized'],
      [403, 'Forbidden'],
      [404, 'NotFound'],
    ] as const)
      expect(isFinal({ status, reason }), reason).to.equal(true);
  });

  it('is retried after an answer that is not a Status, such as the 404 page of a proxy', () => {
    for (const status of [0, 403, 404, 502]) expect(isTransient({ status, reason: '' }), String(status)).to.equal(true);
  });

  it('is retried if it is too old, or one of too many', () => {
    for (const [status, reason] of [
      [410, 'Expired'],
      [429, 'TooManyRequests'],
    ] as const)
      expect(isTransient({ status, reason }), reason).to.equal(true);
    expect(isTransient(undefined)).to.equal(false);
  });
});
