import { expect } from 'chai';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const asTable = {
  accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
};
const asMetadata = { accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json' };

describe('tables and metadata', () => {
  const { workspace, admin, widgets } = suiteWorkspace();
  before(async () => {
    await admin.create(widgets, aWidget('plain', {}, { labels: { a: 'b' } }));
    await admin.create(widgets, aWidget('seen', { color: 'blue', size: 4, seen: '2020-01-01T00:00:00Z' }));
  });

  it('have the columns of the definition in a list', async () => {
    const answer = await admin.send('GET', widgets, { headers: asTable });

    expect(answer.status).to.equal(200);
    expect(answer.body).to.include({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(answer.body).to.have.nested.property('metadata.resourceVersion');
    const columns = [
      ['Name', 'string', 'name', 0],
      ['Color', 'string', '', 0],
      ['Seen', 'date', '', 0],
      ['Size', 'integer', '', 1],
      ['Age', 'date', '', 0],
    ] as const;
    for (const [index, [name, type, format, priority]] of columns.entries()) {
      expect(answer.body).to.have.nested.property(`columnDefinitions[${index}]`).that.includes({ name, type, format, priority });
    }
    expect(answer.body).to.have.nested.property('columnDefinitions[1].description', 'What it looks like.');
  });

  it('have the cells of the columns and the metadata of the object in a row', async () => {
    const answer = await admin.send('GET', widgets, { headers: asTable });

    expect(answer.body).to.have.property('rows').that.has.length(2);
    expect(answer.body).to.have.nested.property('rows[0].cells').that.includes.ordered.members(['plain', 'red', null, 1]);
    expect(answer.body).to.have.nested.property('rows[1].cells[2]').that.matches(/^\d+y/);
    expect(answer.body)
      .to.have.nested.property('rows[1].cells[4]')
      .that.matches(/^\d+(s|m(\d+s)?)$/);
    expect(answer.body)
      .to.have.nested.property('rows[0].object')
      .that.includes({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' });
    expect(answer.body).to.have.nested.property('rows[0].object.metadata.name', 'plain');
    expect(answer.body).not.to.have.nested.property('rows[0].object.spec');
  });

  it('have the whole object in a row, or none, on demand', async () => {
    const whole = await admin.send('GET', widgets, { headers: asTable, query: { includeObject: 'Object' } });
    const none = await admin.send('GET', widgets, { headers: asTable, query: { includeObject: 'None' } });

    expect(whole.body).to.have.nested.property('rows[0].object.spec.color', 'red');
    expect(none.body).not.to.have.nested.property('rows[0].object.metadata');
  });

  it('have one row for one object', async () => {
    const answer = await admin.send('GET', `${widgets}/seen`, { headers: asTable });

    expect(answer.body).to.have.property('kind', 'Table');
    expect(answer.body).to.have.property('rows').that.has.length(1);
  });

  it('have the continue token of a page', async () => {
    const answer = await admin.send('GET', widgets, { headers: asTable, query: { limit: 1 } });

    expect(answer.body).to.have.nested.property('metadata.continue').that.is.a('string');
    expect(answer.body).to.have.nested.property('metadata.remainingItemCount', 1);
    expect(answer.body).to.have.property('rows').that.has.length(1);
  });

  it('have columns for built-in resources too', async () => {
    await admin.create(workspace.configMaps, { metadata: { name: 'two-keys' }, data: { a: '1', b: '2' } });
    const answer = await admin.send('GET', `${workspace.configMaps}/two-keys`, { headers: asTable });

    expect(answer.body).to.have.nested.property('columnDefinitions[0].name', 'Name');
    expect(answer.body).to.have.nested.property('columnDefinitions[1].name', 'Data');
    expect(answer.body).to.have.nested.property('rows[0].cells').that.includes.ordered.members(['two-keys', 2]);
  });

  it('are not made of an error, which stays a Status', async () => {
    const answer = await admin.send('GET', `${widgets}/missing`, { headers: asTable });

    expect(answer.status).to.equal(404);
    expect(answer.body).to.include({ kind: 'Status', reason: 'NotFound' });
  });

  it('have no spec in the metadata of a list', async () => {
    const answer = await admin.send('GET', widgets, { headers: asMetadata });

    expect(answer.body).to.include({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
    expect(answer.body).to.have.nested.property('items[0].metadata.labels.a', 'b');
    expect(answer.body).to.have.nested.property('items[0].kind', 'PartialObjectMetadata');
    expect(answer.body).not.to.have.nested.property('items[0].spec');
  });

  it('have no spec in the metadata of one object', async () => {
    const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
    const answer = await admin.send('GET', `${widgets}/plain`, { headers: { accept } });

    expect(answer.body).to.include({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' });
    expect(answer.body).not.to.have.property('spec');
  });

  it('are answered 406 where no accepted form can be served', async () => {
    const answer = await admin.send('GET', widgets, { headers: { accept: 'image/png' } });

    expect(answer.status).to.equal(406);
    expect(answer.body).to.include({ kind: 'Status', reason: 'NotAcceptable' });
  });
});
