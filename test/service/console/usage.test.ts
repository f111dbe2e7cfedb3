import { expect } from 'chai';
import { inOrderOfUsage, usageKey, usagesOf } from '../../../web/src/pages/cluster/usage-amounts.ts';

const pod = (name: string, ...containers: [string, string][]) => ({
  metadata: { name, namespace: 'shop' },
  containers: containers.map(([cpu, memory], index) => ({ name: `c${index}`, usage: { cpu, memory } })),
});

describe('usage in the console', () => {
  it('sums the containers of a pod, whatever the unit of each', () => {
    const usage = usagesOf([pod('web', ['250m', '64Mi'], ['750000000n', '1Gi'])]).get('shop/web');
    expect(usage).to.include({ cpu: 1, memory: 1024 ** 3 + 64 * 1024 ** 2 });
    expect(usage?.containers.get('c1')).to.deep.equal({ cpu: 0.75, memory: 1024 ** 3 });
  });

  it('takes the figures of a node as they are, and none for nodes that are not measured', () => {
    const usages = usagesOf([{ metadata: { name: 'n1' }, usage: { cpu: '2', memory: '900Ki' } }]);
    expect(usages.get(usageKey({ name: 'n1' }))).to.include({ cpu: 2, memory: 921_600 });
    expect(usages.get(usageKey({ name: 'n2' }))).to.equal(undefined);
  });

  it('sorts by quantities, rows without figures first', () => {
    const items = [pod('a', ['900m', '1Gi']), pod('b', ['2', '900Mi']), pod('c', ['80000000n', '5Ki'])];
    const rows = [...items, pod('unmeasured')];
    const order = (by: 'cpu' | 'memory', isDescending: boolean) =>
      inOrderOfUsage(rows, usagesOf(items), { by, isDescending }).map(({ metadata }) => metadata.name);
    expect(order('cpu', false)).to.deep.equal(['unmeasured', 'c', 'a', 'b']);
    expect(order('memory', true)).to.deep.equal(['a', 'b', 'c', 'unmeasured']);
  });
});
