import { expect } from 'chai';
import { objectOf } from './api-client.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('the status subresource', () => {
  const { workspace, admin, widgets } = suiteWorkspace();

  it('drops a status sent at creation', async () => {
    const widget = await admin.create(widgets, { ...aWidget('fresh'), status: { phase: 'Ready' } });

    expect(widget).not.to.have.property('status');
  });

  it('is unchanged by an update of the object', async () => {
    await admin.create(widgets, aWidget('kept'));
    await admin.patch(`${widgets}/kept/status`, { status: { phase: 'Ready' } });
    const current = await admin.read(`${widgets}/kept`);
    const updated = objectOf(await admin.put(`${widgets}/kept`, { ...current, status: { phase: 'Pending' }, spec: { size: 9 } }));
    const patched = objectOf(await admin.patch(`${widgets}/kept`, { status: { phase: 'Pending' } }));

    for (const widget of [updated, patched]) {
      expect(widget.status).to.deep.equal({ phase: 'Ready' });
      expect(widget.spec).to.have.property('size', 9);
    }
  });

  it('changes the status only: spec and labels stay', async () => {
    const created = await admin.create(widgets, aWidget('told', {}, { labels: { a: 'b' } }));
    const answer = await admin.put(`${widgets}/told/status`, {
      ...created,
      metadata: { ...created.metadata, labels: { a: 'changed' } },
      spec: { size: 7 },
      status: { phase: 'Pending' },
    });

    expect(answer.status).to.equal(200);
    const widget = objectOf(answer);
    expect(widget.status).to.deep.equal({ phase: 'Pending' });
    expect(widget.spec).to.deep.equal(created.spec);
    expect(widget.metadata.labels).to.deep.equal({ a: 'b' });
  });

  it('answers the whole object', async () => {
    const created = await admin.create(widgets, aWidget('whole'));

    expect(await admin.read(`${widgets}/whole/status`)).to.deep.equal(created);
  });

  it('is validated by the schema', async () => {
    await admin.create(widgets, aWidget('checked'));
    const answer = await admin.patch(`${widgets}/checked/status`, { status: { phase: 'Lost' } });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'status.phase');
    expect(answer.body).to.have.nested.property('details.causes[0].reason', 'FieldValueNotSupported');
  });

  it('answers 409 for a stale resourceVersion', async () => {
    const created = await admin.create(widgets, aWidget('contended'));
    await admin.patch(`${widgets}/contended/status`, { status: { phase: 'Ready' } });
    const answer = await admin.put(`${widgets}/contended/status`, { ...created, status: { phase: 'Pending' } });

    expect(answer.status).to.equal(409);
  });

  it('moves generation with the spec, not with status, labels or nothing at all', async () => {
    const path = `${widgets}/counted`;
    expect((await admin.create(widgets, aWidget('counted'))).metadata.generation).to.equal(1);
    expect(objectOf(await admin.patch(path, { spec: { size: 2 } })).metadata.generation).to.equal(2);
    expect(objectOf(await admin.patch(path, { spec: { size: 2 } })).metadata.generation).to.equal(2);
    expect(objectOf(await admin.patch(path, { metadata: { labels: { a: 'b' } } })).metadata.generation).to.equal(2);
    expect(objectOf(await admin.patch(`${path}/status`, { status: { phase: 'Ready' } })).metadata.generation).to.equal(2);
  });

  it('is not there for an object or a resource without one', async () => {
    await admin.create(workspace.configMaps, { metadata: { name: 'plain' } });

    expect((await admin.get(`${workspace.configMaps}/plain/status`)).status).to.equal(404);
    expect((await admin.get(`${widgets}/missing/status`)).status).to.equal(404);
  });
});
