import { expect } from 'chai';
import type { KubernetesObject } from './api-client.ts';
import { eventually } from './eventually.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const ownedBy = (...owners: KubernetesObject[]) => ({
  ownerReferences: owners.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, name: metadata.name, uid: metadata.uid })),
});

const blocking = (owner: KubernetesObject) => ({
  ownerReferences: ownedBy(owner).ownerReferences.map((reference) => ({ ...reference, blockOwnerDeletion: true })),
});

describe('owner references', () => {
  const { admin, widgets, configMaps } = suiteWorkspace();

  const gone = (path: string) => eventually(async () => expect((await admin.get(path)).status).to.equal(404));

  it('delete dependents after their owner, and the dependents of these', async () => {
    const owner = await admin.create(widgets, aWidget('grandparent'));
    const parent = await admin.create(configMaps, { metadata: { name: 'parent', ...ownedBy(owner) } });
    await admin.create(widgets, aWidget('child', {}, ownedBy(parent)));
    await admin.create(configMaps, { metadata: { name: 'bystander' } });
    await admin.delete(`${widgets}/grandparent`);

    await gone(`${configMaps}/parent`);
    await gone(`${widgets}/child`);
    expect((await admin.get(`${configMaps}/bystander`)).status).to.equal(200);
  });

  it('delete objects of a namespace after their cluster-wide owner', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const owner = await admin.create(roles, { metadata: { generateName: 'conformance-' }, rules: [] });
    await admin.create(configMaps, { metadata: { name: 'subordinate', ...ownedBy(owner) } });
    await admin.delete(`${roles}/${owner.metadata.name}`);

    await gone(`${configMaps}/subordinate`);
  });

  it('keep an object that another owner still holds', async () => {
    const first = await admin.create(configMaps, { metadata: { name: 'first' } });
    const second = await admin.create(configMaps, { metadata: { name: 'second' } });
    await admin.create(configMaps, { metadata: { name: 'shared', ...ownedBy(first, second) } });
    await admin.create(configMaps, { metadata: { name: 'exclusive', ...ownedBy(first) } });
    await admin.delete(`${configMaps}/first`);

    await gone(`${configMaps}/exclusive`);
    expect((await admin.get(`${configMaps}/shared`)).status).to.equal(200);
    await admin.delete(`${configMaps}/second`);
    await gone(`${configMaps}/shared`);
  });

  it('keep orphaned objects, without the reference', async () => {
    const owner = await admin.create(configMaps, { metadata: { name: 'left' } });
    await admin.create(configMaps, { metadata: { name: 'orphan', ...ownedBy(owner) } });
    await admin.delete(`${configMaps}/left`, { propagationPolicy: 'Orphan' });

    await gone(`${configMaps}/left`);
    const orphan = await admin.read(`${configMaps}/orphan`);
    expect(orphan.metadata).not.to.have.property('ownerReferences');
  });

  it('let the owner wait for them with foreground deletion', async () => {
    const owner = await admin.create(configMaps, { metadata: { name: 'waiting' } });
    await admin.create(configMaps, { metadata: { name: 'awaited', ...blocking(owner) } });
    const answer = await admin.delete(`${configMaps}/waiting`, { propagationPolicy: 'Foreground' });

    expect(answer.status).to.equal(200);
    await gone(`${configMaps}/waiting`);
    expect((await admin.get(`${configMaps}/awaited`)).status).to.equal(404);
  });

  it('do not hold on an owner of the same name with another uid', async () => {
    const former = await admin.create(configMaps, { metadata: { name: 'namesake' } });
    await admin.delete(`${configMaps}/namesake`);
    await admin.create(configMaps, { metadata: { name: 'namesake' } });
    await admin.create(configMaps, { metadata: { name: 'left-behind', ...ownedBy(former) } });

    await gone(`${configMaps}/left-behind`);
    expect((await admin.get(`${configMaps}/namesake`)).status).to.equal(200);
  });

  it('need apiVersion, kind, name and uid', async () => {
    const answer = await admin.post(configMaps, { metadata: { name: 'odd', ownerReferences: [{ kind: 'ConfigMap', name: 'x' }] } });

    expect(answer.status).to.equal(422);
    expect(answer.text).to.include('metadata.ownerReferences.apiVersion').and.include('metadata.ownerReferences.uid');
  });
});
