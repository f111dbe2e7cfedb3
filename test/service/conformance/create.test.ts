import { expect } from 'chai';
import { failure, objectOf } from './api-client.ts';
import { aConfigMap, aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('create', () => {
  const { workspace, admin, widgets, configMaps } = suiteWorkspace();

  it('answers 201 with the object and the fields of the server', async () => {
    const answer = await admin.post(configMaps, aConfigMap('created'));

    expect(answer.status).to.equal(201);
    expect(answer.headers['content-type']).to.equal('application/json');
    expect(answer.body).to.deep.include({ apiVersion: 'v1', kind: 'ConfigMap', data: { key: 'value' } });
    const { metadata } = objectOf(answer);
    expect(metadata).to.include({ name: 'created', namespace: workspace.namespace });
    expect(metadata.uid).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(metadata.resourceVersion).to.match(/^[1-9][0-9]*$/);
    expect(metadata.creationTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('sets uid, resourceVersion, creationTimestamp and generation itself, whatever was sent', async () => {
    const forged = { uid: 'forged', creationTimestamp: '2001-01-01T00:00:00Z', generation: 7 };
    const { metadata } = objectOf(await admin.post(widgets, aWidget('forged', {}, forged)));

    expect(metadata.uid).not.to.equal('forged');
    expect(metadata.creationTimestamp).not.to.equal('2001-01-01T00:00:00Z');
    expect(metadata.generation).to.equal(1);
  });

  it('refuses a resourceVersion', async () => {
    const answer = await admin.post(configMaps, { metadata: { name: 'versioned', resourceVersion: '1' } });

    expect(answer.status).to.equal(500);
    expect(answer.body).to.have.property('message').that.includes('resourceVersion should not be set on objects to be created');
  });

  it('fills apiVersion and kind in where a built-in object leaves them out', async () => {
    const answer = await admin.post(configMaps, { metadata: { name: 'kindless' } });

    expect(answer.status).to.equal(201);
    expect(answer.body).to.include({ apiVersion: 'v1', kind: 'ConfigMap' });
  });

  it('makes a name of generateName and five characters', async () => {
    const first = await admin.create(configMaps, { metadata: { generateName: 'made-' } });
    const second = await admin.create(configMaps, { metadata: { generateName: 'made-' } });

    expect(first.metadata.name).to.match(/^made-[a-z0-9]{5}$/);
    expect(first.metadata.generateName).to.equal('made-');
    expect(second.metadata.name).not.to.equal(first.metadata.name);
  });

  it('refuses an object without a name', async () => {
    const answer = await admin.post(configMaps, { metadata: {} });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'metadata.name');
    expect(answer.body).to.have.nested.property('details.causes[0].reason', 'FieldValueRequired');
  });

  it('refuses a name that is not a DNS subdomain', async () => {
    const answer = await admin.post(configMaps, aConfigMap('Not_A_Name'));

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.property('reason', 'Invalid');
    expect(answer.body).to.have.nested.property('details.name', 'Not_A_Name');
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'metadata.name');
    expect(answer.body).to.have.nested.property('details.causes[0].reason', 'FieldValueInvalid');
  });

  it('refuses malformed labels', async () => {
    const answer = await admin.post(configMaps, { metadata: { name: 'labels', labels: { 'a b': 'x', ok: 'not ok!' } } });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'metadata.labels');
  });

  it('answers 409 AlreadyExists for a name that is taken', async () => {
    await admin.create(configMaps, aConfigMap('taken'));
    const answer = await admin.post(configMaps, aConfigMap('taken'));

    expect(answer.status).to.equal(409);
    expect(answer.body).to.deep.equal(
      failure(409, 'AlreadyExists', 'configmaps "taken" already exists', { name: 'taken', kind: 'configmaps' }),
    );
  });

  it('lets one of many win the same name', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => admin.post(configMaps, aConfigMap('raced'))));

    expect(answers.map((answer) => answer.status).toSorted()).to.deep.equal([201, ...Array(9).fill(409)]);
  });

  it('refuses an object of another namespace than the path', async () => {
    const answer = await admin.post(configMaps, { metadata: { name: 'elsewhere', namespace: 'default' } });

    expect(answer.status).to.equal(400);
    expect(answer.body).to.include({
      reason: 'BadRequest',
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    });
  });

  it('refuses an object of another kind than the path', async () => {
    const answer = await admin.post(configMaps, { ...aConfigMap('secret'), kind: 'Secret' });

    expect(answer.status).to.equal(400);
    expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
  });

  it('refuses an object in a namespace that is not there', async () => {
    const answer = await admin.post('/api/v1/namespaces/conformance-missing/configmaps', aConfigMap('homeless'));

    expect(answer.status).to.equal(404);
    expect(answer.body).to.deep.include({
      reason: 'NotFound',
      message: 'namespaces "conformance-missing" not found',
      details: { name: 'conformance-missing', kind: 'namespaces' },
    });
  });

  it('stores nothing with dryRun=All', async () => {
    const answer = await admin.post(configMaps, aConfigMap('rehearsed'), { dryRun: 'All' });

    expect(answer.status).to.equal(201);
    expect(answer.body).to.have.nested.property('metadata.name', 'rehearsed');
    expect((await admin.get(`${configMaps}/rehearsed`)).status).to.equal(404);
  });

  it('refuses another dryRun than All', async () => {
    const answer = await admin.post(configMaps, aConfigMap('rehearsed'), { dryRun: 'Some' });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.include({ reason: 'Invalid' });
  });
});
