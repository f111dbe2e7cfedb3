import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aRole } from '../access/objects.ts';
import { letManagerExplore, rulesOf, simulations, whoCan } from './support.ts';

const count = 20;
const rules = Array.from({ length: 10_000 }, (_, index) => ({
  apiGroups: [`g${index}`],
  resources: [`r${index}`],
  verbs: ['get', 'list'],
}));

describe('the explorer of a cluster with 20 roles of 10,000 rules', () => {
  const server = forSuite(() => startServer());

  it('answers who can, pages rules, and refuses simulations with 422 (SIM-04)', async () => {
    for (let index = 0; index < count; index += 1)
      await server.kubernetes.apply(aRole(`huge-${index}`, rules), aBinding(`huge-${index}`, { role: `huge-${index}`, to: 'Group:huge' }));
    await letManagerExplore(server);
    await eventually(
      () => whoCan(server, 'verb=get&group=g9999&resource=r9999'),
      ({ items }) => items.filter(({ subject }) => subject.name === 'huge').length === count,
    );
    const first = await rulesOf(server, 'group=huge');
    expect(first.items).to.have.lengthOf(500);
    expect(first.metadata.continue).to.be.a('string');
    const body = { changes: [{ type: 'delete', kind: 'ClusterRoleBinding', name: 'huge-1' }] };
    const refused = await server.request(simulations, { method: 'POST', as: 'manager', body });
    expect(refused.status).to.equal(422);
    expect(await refused.text()).to.contain('name fewer subjects');
  });
});
