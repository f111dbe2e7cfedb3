import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { CallerResource, type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { expect } from 'chai';
import { type Answer, bearer, clientOf, FakeApiServer, failureOf, forever, json, statusBody } from './fake-api-server.ts';

const things: ResourceKind = { type: { group: 'example.org', version: 'v1', resource: 'things' }, kind: 'Thing', namespace: 'shop' };
const path = '/apis/example.org/v1/namespaces/shop/things';
const thing = { metadata: { name: 'a', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' }, data: 1 };

describe('the client of a resource', () => {
  let server: FakeApiServer;
  let client: KubernetesClient;
  let asService: ServiceResource;
  let asCaller: CallerResource;
  beforeEach(async () => {
    server = await new FakeApiServer().start();
    client = clientOf(server);
    asService = new ServiceResource(client.asService, things);
    asCaller = new CallerResource(client.asCaller(bearer('token')), things);
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const signal = forever();
  const refused =
    (code: number, name?: string): Answer =>
    (_request, response) =>
      json(response, code, {
        ...statusBody(code, code === 404 ? 'NotFound' : 'Refused'),
        ...(name !== undefined && { details: { name } }),
      });
  const answered =
    (object: unknown): Answer =>
    (_request, response) =>
      json(response, 200, object);
  const seen = () =>
    server.requests.map(({ method, target, headers, body }) => [method, target, headers['content-type'], body && JSON.parse(body)]);
  const codeOf = async (work: Promise<unknown>) => ((await failureOf(work)) as { status: { code: number } }).status.code;

  it('sends the members that the API server needs, with either account', async () => {
    server.answer(answered(thing));
    const writes = { signal, isDryRun: true };
    const deletion = { ...writes, preconditions: { uid: 'u' }, propagationPolicy: 'Background' as const };
    for (const resource of [asService, asCaller]) {
      server.requests.length = 0;
      expect(await resource.create({ metadata: { name: 'a' } }, { signal })).to.deep.equal(thing);
      expect(await resource.patch('a', { data: null }, writes)).to.deep.equal(thing);
      expect(await resource.delete('a', deletion)).to.equal('u');

      expect(seen()).to.deep.equal([
        ['POST', `${path}?fieldManager=atrium`, 'application/json', { metadata: { name: 'a' } }],
        ['PATCH', `${path}/a?fieldManager=atrium&dryRun=All`, 'application/merge-patch+json', { data: null }],
        [
          'DELETE',
          `${path}/a`,
          'application/json',
          { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' }, propagationPolicy: 'Background', dryRun: ['All'] },
        ],
      ]);
    }
  });

  it('gets an object by a list that selects its name and labels', async () => {
    server.answer(answered({ metadata: { resourceVersion: '8' }, items: [thing] }));
    expect(await asService.getByList('a', signal, { labelSelector: 'team=dev' })).to.deep.equal(thing);
    const [{ target } = { target: '' }] = server.requests;
    expect(Object.fromEntries(new URL(target, 'http://localhost').searchParams)).to.include({
      fieldSelector: 'metadata.name=a',
      labelSelector: 'team=dev',
    });
    server.answer(answered({ metadata: { resourceVersion: '8' }, items: [] }));
    expect(await asService.getByList('a', signal)).to.equal(undefined);
    server.answer(refused(403));
    expect(await codeOf(asService.getByList('a', signal))).to.equal(503);
  });

  it('reads by name, in lists, and writes a status', async () => {
    server.answer(answered(thing));
    expect(await asService.get('a', signal)).to.deep.equal(thing);
    expect(await asService.patchStatus('a', { status: {} }, { signal })).to.deep.equal(thing);
    server.answer(answered({ metadata: { resourceVersion: '8' }, items: [thing] }));
    const listed = [];
    for await (const object of asService.list({ fieldSelector: 'metadata.name=a' }, signal)) listed.push(object);

    expect(listed).to.deep.equal([thing]);
    expect(server.requests.map(({ target }) => target)).to.deep.equal([
      `${path}/a`,
      `${path}/a/status?fieldManager=atrium`,
      `${path}?fieldSelector=metadata.name%3Da&limit=500`,
    ]);
  });

  it('gives the object of a dry run a version, because it has none', async () => {
    const { resourceVersion: _none, ...metadata } = thing.metadata;
    server.answer(answered({ ...thing, metadata }));

    expect(await asCaller.create(thing, { signal, isDryRun: true })).to.deep.equal({
      ...thing,
      metadata: { ...metadata, resourceVersion: '-' },
    });
    expect(await codeOf(asCaller.create(thing, { signal }))).to.equal(503);
  });

  it('knows by the name whether the object is missing or the resource', async () => {
    server.answer(refused(404, 'a'));
    expect(await asService.get('a', signal)).to.equal(undefined);
    expect(await asService.find('a', signal)).to.equal(undefined);
    server.answer(refused(404));
    expect(await asService.find('a', signal)).to.equal('notInstalled');
    expect(await codeOf(asService.get('a', signal))).to.equal(503);
  });

  it('tells the service of conflicts by a word, and keeps other refusals from callers', async () => {
    const words = async () => [
      await asService.create(thing, { signal }).catch(() => 503),
      await asService.patch('a', {}, { signal }).catch(() => 503),
      await asService.patchStatus('a', {}, { signal }).catch(() => 503),
      await asService.remove('a', { signal }).catch(() => 503),
    ];
    server.answer(refused(409));
    expect(await words()).to.deep.equal(['conflict', 'conflict', 'conflict', false]);
    server.answer(refused(404, 'a'));
    expect(await words()).to.deep.equal([503, 'gone', 'gone', false]);
    server.answer(refused(404, 'another'));
    expect(await words()).to.deep.equal([503, 503, 503, 503]);
    server.answer(refused(422));
    expect(await words()).to.deep.equal([503, 503, 503, 503]);
    expect(await codeOf(asService.patch('a', {}, { signal }))).to.equal(503);
  });

  it('leaves callers the words of the API server', async () => {
    for (const code of [403, 404, 409, 422]) {
      server.answer(refused(code, 'a'));
      for (const work of [asCaller.create(thing, { signal }), asCaller.patch('a', {}, { signal }), asCaller.delete('a', { signal })])
        expect(await codeOf(work)).to.equal(code);
    }
  });

  it('finds the uid of a deleted object in a Status, too', async () => {
    server.answer(answered({ kind: 'Status', status: 'Success', details: { uid: 'v' } }));

    expect(await asCaller.delete('a', { signal })).to.equal('v');
  });
});
