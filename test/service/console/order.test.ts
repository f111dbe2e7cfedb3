import { expect } from 'chai';
import { orderOf } from '../../../web/src/pages/cluster/list/order.ts';

const sorted = (cells: readonly unknown[]) => cells.toSorted(orderOf(cells));

describe('the order of cells in the console', () => {
  it('cases/12 is that of quantities', () => {
    expect(sorted(['900Mi', '2Gi', '1Ti', '512Ki'])).to.deep.equal(['512Ki', '900Mi', '2Gi', '1Ti']);
    expect(sorted(['100m', '2', '1500m', '1'])).to.deep.equal(['100m', '1', '1500m', '2']);
    expect(sorted(['1G', '1Gi', '5e8', '.5', '-1', '12k', '3E', '100n', '20u'])).to.deep.equal([
      ...['-1', '100n', '20u', '.5', '12k', '5e8', '1G', '1Gi', '3E'],
    ]);
  });

  it('cases/12 is that of durations and ages', () => {
    expect(sorted(['3d4h', '59s', '2y10d', '12m', '5m30s', '<unknown>'])).to.deep.equal([
      ...['<unknown>', '59s', '5m30s', '12m', '3d4h', '2y10d'],
    ]);
    expect(sorted(['1h0m0s', '300ms', '1.5s', '90m', '-5s'])).to.deep.equal(['-5s', '300ms', '1.5s', '1h0m0s', '90m']);
  });

  it('cases/12 is the order of text where one cell is not a quantity', () => {
    expect(sorted(['1Gi', '900Mi', 'web-10', 'web-9'])).to.deep.equal(['1Gi', '900Mi', 'web-9', 'web-10']);
    expect(sorted(['4 (2m ago)', '12 (3h ago)', '0'])).to.deep.equal(['0', '4 (2m ago)', '12 (3h ago)']);
  });

  it('compares numbers, also beyond 2^53, and puts missing values first', () => {
    expect(sorted([10, 9, null, 9_007_199_254_740_993n, '<none>', 9_007_199_254_740_994n, ''])).to.deep.equal([
      ...[null, '<none>', '', 9, 10, 9_007_199_254_740_993n, 9_007_199_254_740_994n],
    ]);
  });
});
