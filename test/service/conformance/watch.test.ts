import { once } from 'node:events';
import { expect } from 'chai';
import { WebSocket } from 'ws';
import { eventually } from './eventually.ts';
import { label, type WatchStream } from './watch-stream.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

describe('watch', () => {
  const { workspace, admin, widgets } = suiteWorkspace();
  const open: WatchStream[] = [];
  after(async () => {
    for (const stream of open) stream.close();
  });

  const watch = async (query: Record<string, string | number | boolean> = {}, headers: Record<string, string> = {}) => {
    const stream = await admin.watch(widgets, query, headers);
    open.push(stream);
    return stream;
  };
  const versionNow = async () => (await admin.list(widgets)).metadata.resourceVersion;
  const create = (name: string, metadata: Record<string, unknown> = {}) => admin.create(widgets, aWidget(name, {}, metadata));

  it('reports changes after a version: added, modified, deleted', async () => {
    const stream = await watch({ resourceVersion: await versionNow() });
    await create('told');
    await admin.patch(`${widgets}/told`, { spec: { size: 2 } });
    await admin.delete(`${widgets}/told`);
    const events = [await stream.next(), await stream.next(), await stream.next()];

    expect(events.map(label)).to.deep.equal(['ADDED told', 'MODIFIED told', 'DELETED told']);
    const versions = events.map((event) => Number(event?.object.metadata.resourceVersion));
    expect(versions).to.deep.equal(versions.toSorted((a, b) => a - b));
    expect(new Set(versions).size).to.equal(3);
    expect(events[1]?.object).to.deep.include({ apiVersion: 'conformance.example.com/v1', kind: 'Widget' });
    expect(events[2]?.object).to.have.nested.property('spec.size', 2);
  });

  it('sends each event as a message over a WebSocket', async () => {
    const { url, certificateAuthority: ca } = workspace.server;
    const headers = { authorization: `Bearer ${await workspace.server.token('admin')}` };
    const query = `watch=true&resourceVersion=${await versionNow()}`;
    // kube-apiserver answers 403 to a WebSocket for a watch without an Origin (golang.org/x/net/websocket).
    const socket = new WebSocket(`${url.replace('https', 'wss')}${widgets}?${query}`, { headers, ca, origin: url });
    const messages: string[] = [];
    socket.on('message', (data, isBinary) => messages.push(`${isBinary ? 'binary' : 'text'} ${label(JSON.parse(String(data)))}`));
    await once(socket, 'open');
    await create('sent');
    await admin.delete(`${widgets}/sent`);

    await eventually(async () => expect(messages).to.deep.equal(['text ADDED sent', 'text DELETED sent']));
    socket.close();
    await once(socket, 'close');
  });

  it('reports changes between the version and the start of the watch', async () => {
    const resourceVersion = await versionNow();
    await create('before');
    await admin.delete(`${widgets}/before`);
    const stream = await watch({ resourceVersion });

    expect(label(await stream.next())).to.equal('ADDED before');
    expect(label(await stream.next())).to.equal('DELETED before');
  });

  it('begins with the existing objects when no version is given', async () => {
    await create('there');
    for (const query of [{}, { resourceVersion: '0' }]) {
      const stream = await watch({ ...query, fieldSelector: 'metadata.name=there' });

      expect(label(await stream.next())).to.equal('ADDED there');
    }
  });

  it('takes a selector: an object that leaves it is DELETED, an object that enters it ADDED', async () => {
    const stream = await watch({ resourceVersion: await versionNow(), labelSelector: 'team=x' });
    await create('mover', { labels: { team: 'y' } });
    await admin.patch(`${widgets}/mover`, { metadata: { labels: { team: 'x' } } });
    await admin.patch(`${widgets}/mover`, { spec: { size: 3 } });
    await admin.patch(`${widgets}/mover`, { metadata: { labels: { team: 'y' } }, spec: { size: 4 } });
    const events = [await stream.next(), await stream.next(), await stream.next()];

    expect(events.map(label)).to.deep.equal(['ADDED mover', 'MODIFIED mover', 'DELETED mover']);
    expect(events[2]?.object, 'as it was before it left').to.have.nested.property('metadata.labels.team', 'x');
    expect(events[2]?.object).to.have.nested.property('spec.size', 3);
  });

  it('takes a field selector', async () => {
    const resourceVersion = await versionNow();
    await create('red-one');
    await admin.create(widgets, aWidget('blue-one', { color: 'blue' }));
    const stream = await watch({ resourceVersion, fieldSelector: 'spec.color=blue' });

    expect(label(await stream.next())).to.equal('ADDED blue-one');
  });

  it('watches one object by its name in the path', async () => {
    const { metadata } = await create('single');
    const stream = await admin.watch(widgets, { resourceVersion: metadata.resourceVersion, fieldSelector: 'metadata.name=single' });
    open.push(stream);
    await create('another');
    await admin.patch(`${widgets}/single`, { spec: { size: 5 } });

    expect(label(await stream.next())).to.equal('MODIFIED single');
  });

  it('ends cleanly after timeoutSeconds', async () => {
    const stream = await watch({ resourceVersion: await versionNow(), timeoutSeconds: 1 });

    expect(stream.status).to.equal(200);
    expect(await stream.next()).to.equal(undefined);
  });

  it('sends the initial events and then a bookmark that ends them', async () => {
    await create('initial');
    const stream = await watch({ sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'NotOlderThan' });
    const events = await stream.until((event) => event.type === 'BOOKMARK');

    expect(events.map(label)).to.include('ADDED initial');
    const bookmark = events.at(-1)?.object;
    expect(bookmark).to.have.property('kind', 'Widget');
    expect(bookmark?.metadata.annotations).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
    expect(Number(bookmark?.metadata.resourceVersion)).to.be.at.least(Number(events.at(-2)?.object.metadata.resourceVersion));

    await create('after-initial');
    expect((await stream.until((event) => event.type !== 'BOOKMARK')).map(label)).to.include('ADDED after-initial');
  });

  it('sends a bookmark before the timeout to clients that allow them', async () => {
    const { metadata } = await create('marked');
    const query = { allowWatchBookmarks: true, timeoutSeconds: 4, fieldSelector: 'metadata.name=marked' };
    let others = 0;
    // A busy server may end the watch within these seconds without a bookmark.
    const bookmark = await eventually(async () => {
      const stream = await watch({ resourceVersion: metadata.resourceVersion, ...query });
      // kube-apiserver sends no bookmark of the version with which the watch began.
      others += 1;
      await create(`unrelated-${others}`);
      return (await stream.until((event) => event.type === 'BOOKMARK')).at(-1)?.object;
    });

    expect(bookmark).to.include({ kind: 'Widget', apiVersion: 'conformance.example.com/v1' });
    expect(Number(bookmark?.metadata.resourceVersion)).to.be.at.least(Number(metadata.resourceVersion));
    expect(bookmark?.metadata).not.to.have.any.keys('name', 'annotations');
  });

  it('refuses sendInitialEvents without its resourceVersionMatch', async () => {
    const answer = await admin.get(widgets, { watch: true, sendInitialEvents: true, allowWatchBookmarks: true });

    expect(answer.status).to.equal(422);
    expect(answer.body).to.have.nested.property('details.causes[0].field', 'resourceVersionMatch');
  });

  it('resumes from the version of the last event', async () => {
    const first = await watch({ resourceVersion: await versionNow() });
    await create('resume-1');
    await create('resume-2');
    const seen = await first.next();
    first.close();
    const second = await watch({ resourceVersion: seen?.object.metadata.resourceVersion ?? '' });

    expect(label(await second.next())).to.equal('ADDED resume-2');
  });

  it('answers a version that is too old with an ERROR event of 410 Expired, and ends', async () => {
    const stream = await watch({ resourceVersion: '1' });
    const event = await stream.next();

    expect(stream.status).to.equal(200);
    expect(event?.type).to.equal('ERROR');
    expect(event?.object).to.include({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 });
    expect(event?.object.message).to.match(/^too old resource version: 1 \(\d+\)$/);
    expect(await stream.next()).to.equal(undefined);
  });

  it('answers a list where watch is false', async () => {
    expect((await admin.get(widgets, { watch: false })).body).to.have.property('kind', 'WidgetList');
  });

  it('sends a Table to clients that ask for one, the columns with the first event only', async () => {
    const resourceVersion = await versionNow();
    await create('row-1');
    await create('row-2');
    const stream = await watch({ resourceVersion }, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    const [first, second] = [await stream.next(), await stream.next()];

    expect(first?.object).to.include({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(first?.object).to.have.nested.property('rows[0].object.metadata.name', 'row-1');
    expect(first?.object.columnDefinitions).to.be.an('array').that.is.not.empty;
    expect(second?.object).to.have.nested.property('rows[0].object.metadata.name', 'row-2');
    expect(second?.object).not.to.have.nested.property('columnDefinitions[0]');
  });
});
