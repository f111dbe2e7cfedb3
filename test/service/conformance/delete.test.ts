import { expect } from 'chai';
import { Writer } from 'protobufjs/minimal.js';
import { eventually } from './eventually.ts';
import { aConfigMap, aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

interface EncodedOptions {
  /** Group and version of the typed client. */
  apiVersion: string;
  uid?: string;
  propagationPolicy?: string;
  dryRun?: string;
}

/** Encodes DeleteOptions like client-go. Field numbers: generated.proto of k8s.io/apimachinery. */
function encoded({ apiVersion, uid, propagationPolicy, dryRun }: EncodedOptions): Buffer {
  const options = new Writer();
  if (uid !== undefined) options.uint32(0x12).fork().uint32(0x0a).string(uid).ldelim();
  if (propagationPolicy !== undefined) options.uint32(0x22).string(propagationPolicy);
  if (dryRun !== undefined) options.uint32(0x2a).string(dryRun);
  const unknown = new Writer();
  unknown.uint32(0x0a).fork().uint32(0x0a).string(apiVersion).uint32(0x12).string('DeleteOptions').ldelim();
  unknown.uint32(0x12).bytes(options.finish());
  return Buffer.concat([Buffer.from('k8s\0'), unknown.finish()]);
}

const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };

describe('delete', () => {
  const { admin, widgets, configMaps } = suiteWorkspace();

  it('answers 200 with a Status that names the deleted object, for a built-in kind', async () => {
    const { metadata } = await admin.create(configMaps, aConfigMap('doomed'));
    const answer = await admin.delete(`${configMaps}/doomed`);

    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.equal({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'doomed', kind: 'configmaps', uid: metadata.uid },
    });
    expect((await admin.get(`${configMaps}/doomed`)).status).to.equal(404);
  });

  it('names the group of a custom resource', async () => {
    const { metadata } = await admin.create(widgets, aWidget('doomed'));
    const answer = await admin.delete(`${widgets}/doomed`);

    expect(answer.body).to.deep.include({
      status: 'Success',
      details: { name: 'doomed', group: 'conformance.example.com', kind: 'widgets', uid: metadata.uid },
    });
  });

  it('answers 404 for an object that does not exist', async () => {
    expect((await admin.delete(`${configMaps}/missing`)).status).to.equal(404);
  });

  it('keeps an object whose preconditions do not hold', async () => {
    const { metadata } = await admin.create(configMaps, aConfigMap('guarded'));
    const byUid = await admin.delete(`${configMaps}/guarded`, { preconditions: { uid: 'other' } });
    const byVersion = await admin.delete(`${configMaps}/guarded`, { preconditions: { resourceVersion: '1' } });

    for (const answer of [byUid, byVersion]) {
      expect(answer.status).to.equal(409);
      expect(answer.body).to.have.property('reason', 'Conflict');
      expect(answer.body).to.have.property('message').that.includes('in the precondition');
    }
    const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    expect((await admin.delete(`${configMaps}/guarded`, { preconditions })).status).to.equal(200);
  });

  it('deletes nothing with dryRun', async () => {
    await admin.create(configMaps, aConfigMap('spared'));
    const answer = await admin.delete(`${configMaps}/spared`, { dryRun: ['All'] });

    expect(answer.status).to.equal(200);
    expect((await admin.get(`${configMaps}/spared`)).status).to.equal(200);
  });

  it('reads options in protobuf, as typed clients in Go send them', async () => {
    const { metadata } = await admin.create(configMaps, aConfigMap('encoded'));
    const path = `${configMaps}/encoded`;
    const send = (options: EncodedOptions) => admin.send('DELETE', path, { headers, body: encoded(options) });
    expect((await send({ apiVersion: 'v1', uid: 'other' })).status).to.equal(409);
    expect((await send({ apiVersion: 'v1', dryRun: 'All' })).status).to.equal(200);
    expect((await send({ apiVersion: 'v1', propagationPolicy: 'Sideways' })).status).to.equal(422);
    expect((await admin.get(path)).status).to.equal(200);
    const done = await send({ apiVersion: 'meta.k8s.io/v1', uid: metadata.uid, propagationPolicy: 'Background' });
    expect(done.status, done.text).to.equal(200);
    expect((await admin.get(path)).status).to.equal(404);
  });

  it('refuses bytes that are not a protobuf message', async () => {
    await admin.create(configMaps, aConfigMap('kept'));
    const answer = await admin.send('DELETE', `${configMaps}/kept`, { headers, body: Buffer.from('{}') });
    expect(answer.status).to.equal(400);
    expect((await admin.get(`${configMaps}/kept`)).status).to.equal(200);
  });

  it('ignores the query where there is a body', async () => {
    await admin.post(configMaps, aConfigMap('deleted'));
    const answer = await admin.delete(`${configMaps}/deleted?dryRun=All`, { kind: 'DeleteOptions', apiVersion: 'v1' });

    expect(answer.status).to.equal(200);
    expect((await admin.get(`${configMaps}/deleted`)).status).to.equal(404);
  });

  it('waits for finalizers: the object stays, marked, until the last one is taken off', async () => {
    await admin.create(widgets, aWidget('held', {}, { finalizers: ['conformance.example.com/hold'] }));
    const answer = await admin.delete(`${widgets}/held`);

    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('kind', 'Widget');
    const held = await admin.read(`${widgets}/held`);
    expect(held.metadata.deletionTimestamp).to.be.a('string');
    expect(held.metadata.deletionGracePeriodSeconds).to.equal(0);

    const released = await admin.patch(`${widgets}/held`, { metadata: { finalizers: null } });
    expect(released.status).to.equal(200);
    expect((await admin.get(`${widgets}/held`)).status).to.equal(404);
  });

  it('refuses a new finalizer once an object is being deleted', async () => {
    await admin.create(widgets, aWidget('leaving', {}, { finalizers: ['conformance.example.com/hold'] }));
    await admin.delete(`${widgets}/leaving`);
    const finalizers = ['conformance.example.com/hold', 'conformance.example.com/more'];
    const answer = await admin.patch(`${widgets}/leaving`, { metadata: { finalizers } });

    expect(answer.status).to.equal(422);
    await admin.patch(`${widgets}/leaving`, { metadata: { finalizers: [] } });
  });

  it('deletes a collection by label', async () => {
    for (const [name, group] of [
      ['one', 'go'],
      ['two', 'go'],
      ['three', 'stay'],
    ] as const) {
      await admin.create(widgets, aWidget(`many-${name}`, {}, { labels: { many: group } }));
    }
    const answer = await admin.send('DELETE', widgets, { query: { labelSelector: 'many=go' } });

    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('kind', 'WidgetList');
    await eventually(async () => expect((await admin.list(widgets, { labelSelector: 'many' })).items).to.have.length(1));
  });
});
