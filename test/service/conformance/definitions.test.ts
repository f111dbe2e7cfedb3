import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { suiteWorkspace } from './workspace.ts';

describe('a custom resource definition', () => {
  const { workspace, admin } = suiteWorkspace();
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

  const aDefinition = (plural: string, group: string, spec: Record<string, unknown> = {}) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { kind: 'Gadget', plural },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      ...spec,
    },
  });

  it('is established, serves its resource, and stops when it is deleted', async () => {
    const group = `${workspace.namespace}.example.com`;
    await admin.create(definitions, aDefinition('gadgets', group));
    await eventually(async () => {
      const { status } = await admin.read(`${definitions}/gadgets.${group}`);
      expect(status?.conditions).to.satisfy((conditions: unknown) => JSON.stringify(conditions).includes('"Established"'));
    });
    const gadgets = `/apis/${group}/v1/gadgets`;
    await eventually(() => admin.create(gadgets, { apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name: 'one' } }));
    const { status } = await admin.read(`${definitions}/gadgets.${group}`);

    expect(status?.acceptedNames).to.deep.equal({ kind: 'Gadget', listKind: 'GadgetList', plural: 'gadgets', singular: 'gadget' });
    expect(status?.storedVersions).to.deep.equal(['v1']);
    await admin.delete(`${definitions}/gadgets.${group}`);
    await eventually(async () => expect((await admin.get(gadgets)).status).to.equal(404));
  });

  it('decides which objects are accepted and shown as soon as it changes', async () => {
    const group = `changing-${workspace.namespace}.example.com`;
    const definition = `${definitions}/gadgets.${group}`;
    const gadgets = `/apis/${group}/v1/gadgets`;
    const schema = { type: 'object', properties: { size: { type: 'integer', maximum: 5 } } };
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
    const gadget = (name: string, size: number) => ({ apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name }, size });
    await admin.create(definitions, aDefinition('gadgets', group, { versions: [version] }));
    await eventually(() => admin.create(gadgets, gadget('small', 5)));
    expect((await admin.post(gadgets, gadget('large', 6))).status).to.equal(422);

    schema.properties.size.maximum = 10;
    const changed = { ...version, additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.size' }] };
    await admin.patch(definition, { spec: { versions: [changed] } });
    await eventually(() => admin.create(gadgets, gadget('large', 6)));
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    await eventually(async () => {
      const table = await admin.send('GET', `${gadgets}/large`, { headers });
      expect(table.body).to.have.nested.property('rows[0].cells').that.deep.equals(['large', 6]);
    });
    await admin.delete(definition);
  });

  it('takes its objects along', async () => {
    const group = `passing-${workspace.namespace}.example.com`;
    const definition = `${definitions}/gadgets.${group}`;
    const gadgets = `/apis/${group}/v1/gadgets`;
    await admin.create(definitions, aDefinition('gadgets', group));
    await eventually(() => admin.create(gadgets, { apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name: 'lost' } }));
    await admin.delete(definition);
    await eventually(async () => expect((await admin.get(definition)).status).to.equal(404));
    await eventually(() => admin.create(definitions, aDefinition('gadgets', group)));

    await eventually(async () => expect((await admin.list(gadgets)).items).to.deep.equal([]));
    await admin.delete(definition);
  });

  it('must be named plural.group', async () => {
    const answer = await admin.post(definitions, {
      ...aDefinition('gadgets', 'a.example.com'),
      metadata: { name: 'gadgets.b.example.com' },
    });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'metadata.name');
  });

  it('must have a schema', async () => {
    const versions = [{ name: 'v1', served: true, storage: true }];
    const answer = await admin.post(definitions, aDefinition('gadgets', 'c.example.com', { versions }));

    expect(answer.status).to.equal(422);
    expect(answer.text).to.include('spec.versions[0].schema');
  });

  it('must have rules that compile', async () => {
    const rule = { 'x-kubernetes-validations': [{ rule: 'self.nothing ==' }] };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', ...rule } } }];
    const answer = await admin.post(definitions, aDefinition('gadgets', 'd.example.com', { versions }));

    expect(answer.status).to.equal(422);
    expect(answer.body)
      .to.have.nested.property('details.causes[0].field')
      .that.includes('openAPIV3Schema.x-kubernetes-validations[0].rule');
  });
});
