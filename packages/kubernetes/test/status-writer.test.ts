import { writeStatus } from '@atrium/kubernetes/controllers/status-writer.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { Condition } from '@atrium/kubernetes/object-status.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { expect } from 'chai';
import { clientOf, FakeApiServer, failureOf, forever, json, status, statusBody } from './fake-api-server.ts';

const kind: ResourceKind = { type: { group: 'example.org', version: 'v1', resource: 'things' }, kind: 'Thing' };
const path = '/apis/example.org/v1/things/a/status';
const events = '/api/v1/namespaces/default/events';

const ready = (members: Partial<Condition> = {}): Condition => ({
  type: 'Ready',
  status: 'False',
  reason: 'Broken',
  message: 'a part is missing',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
  ...members,
});

const thing = (before?: object): KubernetesObject => ({
  metadata: { name: 'a', uid: 'u', resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z' },
  ...(before && { status: before }),
});

describe('the status of a reconciled object', () => {
  let server: FakeApiServer;
  let client: KubernetesClient;
  let lost: string[];
  let answers: { patch: number; event: number };
  beforeEach(async () => {
    lost = [];
    answers = { patch: 200, event: 201 };
    server = await new FakeApiServer().start();
    server.answer(({ method, body }, response) => {
      const code = method === 'PATCH' ? answers.patch : answers.event;
      if (code >= 400) return status(response, code, code === 409 ? 'Conflict' : 'InternalError');
      const written = thing(JSON.parse(body).status);
      return json(response, code, { ...written, metadata: { ...written.metadata, resourceVersion: '8' } });
    });
    client = clientOf(server);
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const needs = (kubernetesEvents = true) => ({
    client: client.asService,
    log: { debug: (_fields: object, message: string) => lost.push(message) },
    now: () => new Date('2026-01-02T00:00:00Z'),
    config: { audit: { kubernetesEvents } },
  });
  const write = (object: KubernetesObject, conditions: readonly Condition[], members: object = {}, kubernetesEvents = true) =>
    writeStatus(
      needs(kubernetesEvents),
      { kind, object, wanted: { conditions, ...members }, troubles: conditions.filter((one) => one.status === 'False') },
      forever(),
    );
  const sent = () => server.requests.map(({ method, target, body }) => ({ method, path: target.split('?')[0], body: JSON.parse(body) }));
  const toldReasons = () => sent().flatMap(({ path: at, body }) => (at === events ? [`${body.type} ${body.reason}`] : []));

  it('is a patch of the members that differ, for the version that was read', async () => {
    const written = await write(thing({ count: 1, phase: 'Old' }), [ready({ status: 'True' })], { count: 1, phase: null });

    expect(written).to.have.nested.property('metadata.resourceVersion', '8');
    expect(sent()).to.deep.equal([
      {
        method: 'PATCH',
        path,
        body: { metadata: { resourceVersion: '7' }, status: { conditions: [ready({ status: 'True' })], phase: null } },
      },
    ]);
  });

  it('is not written again while nothing differs, and reports nothing', async () => {
    expect(await write(thing({ conditions: [ready()], count: 1 }), [ready()], { count: 1, phase: null })).to.equal('unchanged');
    expect(sent()).to.deep.equal([]);
  });

  it('is reconciled again after a conflict or a deletion, without an Event', async () => {
    for (const code of [409, 404]) {
      const body = { ...statusBody(code, code === 404 ? 'NotFound' : 'Conflict'), details: { name: 'a' } };
      server.answer((_request, response) => json(response, code, body));
      expect(await write(thing(), [ready()])).to.equal('again');
    }
    expect(sent().map(({ method }) => method)).to.deep.equal(['PATCH', 'PATCH']);
  });

  it('tells a new trouble as a Warning Event about the object', async () => {
    await write(thing(), [ready()]);

    expect(toldReasons()).to.deep.equal(['Warning Broken']);
    expect(sent().at(-1)?.body).to.deep.include({
      involvedObject: { apiVersion: 'example.org/v1', kind: 'Thing', name: 'a', uid: 'u' },
      message: 'a part is missing',
      action: 'Reconcile',
    });
  });

  it('tells a trouble again when its status or reason changes, or its message together with the spec', async () => {
    await write(thing({ conditions: [ready({ status: 'True' })] }), [ready()]);
    await write(thing({ conditions: [ready({ reason: 'Missing' })] }), [ready()]);
    await write(thing({ conditions: [ready({ message: 'two parts are missing', observedGeneration: 0 })] }), [ready()]);
    expect(toldReasons()).to.have.lengthOf(3);

    await write(thing({ conditions: [ready({ message: 'two parts are missing' })] }), [ready()]);
    await write(thing({ conditions: [ready({ observedGeneration: 0 })] }), [ready()]);
    expect(toldReasons()).to.have.lengthOf(3);
    expect(sent().filter(({ method }) => method === 'PATCH')).to.have.lengthOf(5);
  });

  it('is written although its Event is lost, and without Events where they are off', async () => {
    answers.event = 500;
    expect(await write(thing(), [ready()])).to.have.nested.property('metadata.resourceVersion', '8');
    expect(lost).to.deep.equal(['Event could not be written']);

    server.requests.length = 0;
    await write(thing(), [ready()], {}, false);
    expect(sent().map(({ method }) => method)).to.deep.equal(['PATCH']);
  });

  it('fails as the API server does, without an Event', async () => {
    answers.patch = 500;
    expect(await failureOf(write(thing(), [ready()]))).to.have.nested.property('status.code', 503);
    expect(toldReasons()).to.deep.equal([]);
  });

  it('may be written by the room, which knows further members', async () => {
    const members: unknown[] = [];
    const room = (answer: KubernetesObject | undefined) =>
      writeStatus(
        needs(),
        {
          kind,
          object: thing(),
          wanted: { phase: 'Ready' },
          async write(changed) {
            members.push(changed);
            return answer;
          },
        },
        forever(),
      );
    expect(await room(thing({ phase: 'Ready' }))).to.deep.equal(thing({ phase: 'Ready' }));
    expect(await room(undefined)).to.equal('again');
    expect(members).to.deep.equal([{ phase: 'Ready' }, { phase: 'Ready' }]);
    expect(sent()).to.deep.equal([]);
  });
});
