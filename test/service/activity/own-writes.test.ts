/** Bodies in the events of the service's own operations, and of its kinds at the door. */
import { readdir, readFile } from 'node:fs/promises';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { shippedKinds } from '@atrium/kubernetes/manifests.ts';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { isKeptByDefault, keptText } from '../../../src/audit/kept-content.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { standardResources } from '../collection/standard-resources.ts';
import { nameOf } from '../users/a-user.ts';

const mergePatch = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const features = { userBindings: true, groups: true };

async function withStore(policy?: object) {
  const auditStore = await SqliteStore.open(':memory:');
  const server = await startServer({ auditStore, config: { features, ...(policy && { audit: { policy } }) } });
  return {
    ...server,
    async write(method: string, path: string, body: object, contentType = 'application/json') {
      const response = await server.request(path, { method, as: 'admin', body, headers: { 'content-type': contentType } });
      expect(response.status, await response.clone().text()).to.be.lessThan(300);
    },
    /** Returns the events about an object, oldest first, once there are that many. */
    async eventsOn(resource: string, name: string, count: number) {
      const { events } = await eventually(
        () => auditStore.list({ resource, name }, { limit: 100 }),
        ({ events: all }) => all.length >= count,
      );
      return events.toReversed();
    },
    async stop() {
      await server.stop();
      await auditStore.stop();
    },
  };
}

const email = 'ada@example.com';
const ada = nameOf(email);
const users = '/auth/v1/users';

describe('events of writes by the standard operations', () => {
  const server = forSuite(() => withStore());

  for (const { plural, path, spec, change } of standardResources)
    it(`tell what was written to ${plural}`, async () => {
      const name = `told-${plural}`;
      const body = { metadata: { name }, spec };
      await server.write('POST', path, body);
      if (change) {
        const operation = { op: 'replace', path: `/spec/${change.member}`, value: change.value };
        await server.write('PATCH', `${path}/${name}`, [operation], jsonPatch);
      }

      const events = await server.eventsOn(plural, name, change ? 2 : 1);
      expect(events.map(({ requestObject, patchType }) => [JSON.parse(requestObject ?? ''), patchType])).to.deep.equal([
        [{ metadata: { name }, spec }, undefined],
        ...(change ? [[{ spec: { [change.member]: change.value } }, mergePatch]] : []),
      ]);
      expect(events[0]?.requestBytes).to.equal(JSON.stringify(body).length);
    });

  it('tell who disabled and renamed a user, and no credential', async () => {
    const given = { email, username: 'Ada', is_disabled: true };
    await server.write('POST', `${users}?fieldValidation=Ignore`, {
      spec: { ...given, password: 'tell-tale horse battery', extra: { key: 'tell-tale' }, pin: 'tell-tale' },
    });
    await server.write('PATCH', `${users}/${ada}`, { spec: { username: 'Lovelace', password: 'tell-tale staple' } }, mergePatch);
    const operations = [{ op: 'replace', path: '/spec/is_disabled', value: false }];
    await server.write('PATCH', `${users}/${ada}`, operations, jsonPatch);

    const events = await server.eventsOn('users', ada, 4);
    expect(events.map(({ event, user, requestObject }) => [event, user?.username, requestObject])).to.deep.equal([
      ['UserCreated', 'admin', JSON.stringify({ spec: given })],
      ['UserPatched', 'admin', '{"spec":{"username":"Lovelace"}}'],
      ['PasswordReset', 'admin', undefined],
      ['UserPatched', 'admin', '{"spec":{"is_disabled":false}}'],
    ]);
    // The length of a password helps to guess it.
    expect(events.map(({ requestBytes }) => requestBytes)).to.deep.equal([
      undefined,
      undefined,
      undefined,
      JSON.stringify(operations).length,
    ]);
    expect(JSON.stringify(events)).not.to.include('tell-tale');
    expect(server.auditLines.join('')).not.to.include('Lovelace');
  });

  it('have no body that is too long', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`example.com/${index}`, 'x'.repeat(1_000)]));
    await server.write('POST', '/auth/v1/groups', { metadata: { name: 'long', annotations }, spec: {} });

    const [event] = await server.eventsOn('groups', 'long', 1);
    expect(event).not.to.have.property('requestObject');
  });

  it('tell at the door what was written to a user, and no credential', async () => {
    const door = '/api/kubernetes/apis/auth.platform.io/v1/users';
    const bob = { email: 'bob@example.com', username: 'Bob', connector_type: 'local', connector_id: 'local', connector_name: 'Local' };
    const name = nameOf(bob.email);
    const object = { apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: { name }, spec: { ...bob, is_admin: false } };
    await server.write('POST', door, {
      ...object,
      metadata: { name, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"spec":{"password":"tell-tale"}}' } },
      spec: { ...object.spec, extra: { key: 'tell-tale' }, password: 'tell-tale' },
    });
    const operations = [
      { op: 'add', path: '/spec/is_disabled', value: true },
      { op: 'add', path: '/spec/extra', value: { key: 'tell-tale' } },
    ];
    await server.write('PATCH', `${door}/${name}`, operations, jsonPatch);

    const events = await server.eventsOn('users', name, 2);
    expect(events.map(({ requestObject }) => JSON.parse(requestObject ?? ''))).to.deep.equal([
      { ...object, metadata: { name, annotations: {} } },
      [operations[0], { op: 'add', path: '/spec/extra' }],
    ]);
  });
});

describe('events of writes of plugins at the door', () => {
  const server = forSuite(() => withStore());

  it('tell who let a page reach a Service', async () => {
    const spec = { displayName: 'Logs', proxy: [{ alias: 'logs', service: { name: 'logs', namespace: 'default', port: 443 } }] };
    const object = { apiVersion: 'console.platform.io/v1', kind: 'ConsolePlugin', metadata: { name: 'logs' }, spec };
    await server.write('POST', '/api/kubernetes/apis/console.platform.io/v1/consoleplugins', object);

    const [event] = await server.eventsOn('consoleplugins', 'logs', 1);
    expect(JSON.parse(event?.requestObject ?? '')).to.deep.equal(object);
  });
});

describe('an audit policy and the operations of the service', () => {
  const server = forSuite(() =>
    withStore({
      apiVersion: 'audit.k8s.io/v1',
      kind: 'Policy',
      rules: [
        { level: 'Request', verbs: ['patch'], resources: [{ group: 'auth.platform.io', resources: ['groups'] }] },
        { level: 'Metadata', resources: [{ group: 'auth.platform.io', resources: ['groups'] }] },
        { level: 'None', resources: [{ group: 'auth.platform.io', resources: ['users'] }] },
      ],
    }),
  );

  it('decides which events keep a body, and never that an event is missing', async () => {
    await server.write('POST', '/auth/v1/groups', { metadata: { name: 'ops' }, spec: { displayName: 'Ops' } });
    await server.write('PATCH', '/auth/v1/groups/ops', { spec: { displayName: 'Operators' } }, mergePatch);
    await server.write('POST', users, { spec: { email, password: 'correct horse battery' } });

    const groups = await server.eventsOn('groups', 'ops', 2);
    expect(groups.map(({ verb, requestObject }) => [verb, requestObject])).to.deep.equal([
      ['create', undefined],
      ['patch', '{"spec":{"displayName":"Operators"}}'],
    ]);
    const [created] = await server.eventsOn('users', ada, 1);
    expect(created).to.include({ event: 'UserCreated' }).and.not.to.have.property('requestObject');
  });
});

interface Schema {
  properties?: Record<string, Schema> | undefined;
  items?: Schema | undefined;
}
const schema: z.ZodType<Schema> = z.lazy(() => z.object({ properties: z.record(z.string(), schema).optional(), items: schema.optional() }));
const definition = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ plural: z.string() }),
    versions: z.tuple([z.object({ schema: z.object({ openAPIV3Schema: schema }) })]),
  }),
});

describe('bodies of kinds of the service', () => {
  const definitions = new URL('../../../deploy/helm/atrium/files/crds/', import.meta.url);

  /** Returns a text at each field of a schema. */
  const filled = ({ properties, items }: Schema): unknown => {
    if (items) return [filled(items)];
    return properties ? Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, filled(one)])) : 'text';
  };

  it('have each field of kinds without credentials, and other kinds have none', async () => {
    const kept: Record<string, unknown> = {};
    for (const file of await readdir(definitions)) {
      if (file === 'kustomization.yaml') continue;
      const { group, names, versions } = definition.parse(parse(await readFile(new URL(file, definitions), 'utf8'))).spec;
      const spec = filled(versions[0].schema.openAPIV3Schema.properties?.spec ?? {});
      const kind = { group, resource: names.plural };
      expect(shippedKinds, 'npm run manifests').to.deep.include(kind);
      const text = keptText(kind, spec);
      expect(isKeptByDefault(kind), names.plural).to.equal(text !== undefined);
      if (text === undefined) continue;
      kept[names.plural] = Object.keys(z.looseObject({}).parse(spec)).filter((name) => !(name in JSON.parse(text)));
      if (names.plural !== 'users') expect(JSON.parse(text), names.plural).to.deep.equal(spec);
    }
    const none: string[] = [];
    expect(kept).to.deep.equal({
      ...{ accesspolicies: none, accessrequests: none, bindingreviews: none, consoleplugins: none, groups: none, userbindings: none },
      users: ['extra'],
    });
    expect(standardResources.map(({ plural }) => plural).filter((plural) => !(plural in kept))).to.deep.equal(none);
  });
});
