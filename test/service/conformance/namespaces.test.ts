import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { aWidget, widgetsIn } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('the API of namespaces', () => {
  const { admin } = suiteWorkspace();

  it('has default and kube-system from the start', async () => {
    for (const name of ['default', 'kube-system']) {
      expect((await admin.read(`/api/v1/namespaces/${name}`)).status).to.deep.equal({ phase: 'Active' });
    }
  });

  it('makes one active, with its name as a label', async () => {
    const namespace = await admin.create('/api/v1/namespaces', { metadata: { generateName: 'conformance-' } });

    expect(namespace.status).to.deep.equal({ phase: 'Active' });
    expect(namespace.spec).to.deep.equal({ finalizers: ['kubernetes'] });
    expect(namespace.metadata.labels).to.deep.equal({ 'kubernetes.io/metadata.name': namespace.metadata.name });
    await admin.delete(`/api/v1/namespaces/${namespace.metadata.name}`);
  });

  it('refuses a name that is not a DNS label', async () => {
    const answer = await admin.post('/api/v1/namespaces', { metadata: { name: 'a.b' } });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'metadata.name');
  });

  it('takes everything in it along when it is deleted', async () => {
    const { metadata } = await admin.create('/api/v1/namespaces', { metadata: { generateName: 'conformance-' } });
    await admin.create(`/api/v1/namespaces/${metadata.name}/configmaps`, { metadata: { name: 'inside' } });
    await admin.create(widgetsIn(metadata.name), aWidget('inside'));
    const answer = await admin.delete(`/api/v1/namespaces/${metadata.name}`);

    expect(answer.status).to.equal(200);
    await eventually(async () => {
      expect((await admin.get(`/api/v1/namespaces/${metadata.name}`)).status).to.equal(404);
    });
    expect((await admin.get(`/api/v1/namespaces/${metadata.name}/configmaps/inside`)).status).to.equal(404);
    expect((await admin.get(`${widgetsIn(metadata.name)}/inside`)).status).to.equal(404);
  });

  it('answers 405 to the deletion of all', async () => {
    expect((await admin.delete('/api/v1/namespaces')).status).to.equal(405);
  });
});
