import { expect } from 'chai';
import { z } from 'zod';
import type { Answer, Query } from './api-client.ts';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const managed = z.looseObject({
  metadata: z.looseObject({
    managedFields: z
      .array(
        z.looseObject({
          manager: z.string(),
          operation: z.string(),
          apiVersion: z.string(),
          fieldsType: z.string(),
          fieldsV1: z.unknown(),
        }),
      )
      .default([]),
  }),
});
const conflictBody = z.looseObject({
  reason: z.string(),
  message: z.string(),
  details: z.object({ causes: z.array(z.object({ reason: z.string(), message: z.string(), field: z.string() })) }),
});

/** Managers with their operation and their fields, by name. */
const managersIn = ({ body }: Answer) =>
  managed
    .parse(body)
    .metadata.managedFields.map(({ manager, operation, fieldsV1 }) => ({ manager, operation, fieldsV1 }))
    .toSorted((one, other) => one.manager.localeCompare(other.manager));

const dataOf = ({ body }: Answer) => z.looseObject({ data: z.record(z.string(), z.string()).optional() }).parse(body).data;

describe('server-side apply', () => {
  const { admin, configMaps, widgets, workspace } = suiteWorkspace();

  const apply = (path: string, manager: string, body: unknown, query: Query = {}) =>
    admin.send('PATCH', path, {
      query: { ...(manager && { fieldManager: manager }), ...query },
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body,
    });
  const configMap = (name: string, data?: Record<string, string>) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });
  const done = (answer: Answer, status = 200) => expect(answer.status, answer.text).to.equal(status);

  it('creates an object, and records the manager of its fields', async () => {
    const path = `${configMaps}/applied`;
    const made = await apply(path, 'one', configMap('applied', { a: '1' }));
    done(made, 201);
    expect(managersIn(made)).to.deep.equal([{ manager: 'one', operation: 'Apply', fieldsV1: { 'f:data': { 'f:a': {} } } }]);
    const again = await apply(path, 'one', configMap('applied', { a: '1' }));
    done(again);
    expect(z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) }).parse(again.body).metadata.resourceVersion).to.equal(
      z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) }).parse(made.body).metadata.resourceVersion,
    );
  });

  it('reads YAML', async () => {
    const made = await apply(
      `${configMaps}/written`,
      'one',
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: written\ndata:\n  a: "1"\n',
    );
    done(made, 201);
    expect(dataOf(made)).to.deep.equal({ a: '1' });
  });

  it('refuses a value that another manager has set, and changes nothing', async () => {
    const path = `${configMaps}/contested`;
    done(await apply(path, 'one', configMap('contested', { a: '1', b: '1' })), 201);
    const refused = await apply(path, 'two', configMap('contested', { a: '2', c: '2' }));
    done(refused, 409);
    const { reason, message, details } = conflictBody.parse(refused.body);
    expect({ reason, message, details }).to.deep.equal({
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }] },
    });
    expect(dataOf(await admin.get(path))).to.deep.equal({ a: '1', b: '1' });
  });

  it('takes fields over by force, and shares those of equal value', async () => {
    const path = `${configMaps}/shared`;
    done(await apply(path, 'one', configMap('shared', { a: '1', b: '1' })), 201);
    const forced = await apply(path, 'two', configMap('shared', { a: '2', b: '1' }), { force: true });
    done(forced);
    expect(dataOf(forced)).to.deep.equal({ a: '2', b: '1' });
    expect(managersIn(forced)).to.deep.equal([
      { manager: 'one', operation: 'Apply', fieldsV1: { 'f:data': { 'f:b': {} } } },
      { manager: 'two', operation: 'Apply', fieldsV1: { 'f:data': { 'f:a': {}, 'f:b': {} } } },
    ]);
  });

  it('removes fields that a manager no longer applies, unless another manager has them', async () => {
    const path = `${configMaps}/shrunk`;
    done(await apply(path, 'one', configMap('shrunk', { a: '1', b: '1', c: '1' })), 201);
    done(await apply(path, 'two', configMap('shrunk', { b: '1' })));
    const shrunk = await apply(path, 'one', configMap('shrunk', { a: '1' }));
    done(shrunk);
    expect(dataOf(shrunk)).to.deep.equal({ a: '1', b: '1' });
  });

  it('conflicts with clients that create and update under a name', async () => {
    const path = `${configMaps}/edited`;
    done(await admin.post(configMaps, configMap('edited', { a: '1' }), { fieldManager: 'maker' }), 201);
    const merge = { 'content-type': 'application/merge-patch+json' };
    done(await admin.send('PATCH', path, { query: { fieldManager: 'editor' }, headers: merge, body: { data: { b: '1' } } }));
    const refused = await apply(path, 'one', configMap('edited', { a: '2', b: '2' }));
    done(refused, 409);
    const { causes } = conflictBody.parse(refused.body).details;
    expect(causes.map(({ message, field }) => `${message.replace(/ at .*/, '')} ${field}`).toSorted()).to.deep.equal([
      'conflict with "editor" using v1 .data.b',
      'conflict with "maker" using v1 .data.a',
    ]);
    done(await apply(path, 'one', configMap('edited', { a: '1', b: '1' })));
  });

  it('moves a field to the client that updates it', async () => {
    const path = `${configMaps}/moved`;
    done(await apply(path, 'one', configMap('moved', { a: '1', b: '1' })), 201);
    const merge = { 'content-type': 'application/merge-patch+json' };
    done(await admin.send('PATCH', path, { query: { fieldManager: 'editor' }, headers: merge, body: { data: { a: '2' } } }));
    expect(managersIn(await admin.get(path))).to.deep.equal([
      { manager: 'editor', operation: 'Update', fieldsV1: { 'f:data': { 'f:a': {} } } },
      { manager: 'one', operation: 'Apply', fieldsV1: { 'f:data': { 'f:b': {} } } },
    ]);
    done(await apply(path, 'one', configMap('moved', { a: '1', b: '1' })), 409);
  });

  it('merges lists of named items by their names', async () => {
    const path = `/api/v1/namespaces/${workspace.namespace}/serviceaccounts/listed`;
    const account = (...names: string[]) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'listed' },
      secrets: names.map((name) => ({ name })),
    });
    const namesIn = ({ body }: Answer) =>
      z
        .looseObject({ secrets: z.array(z.object({ name: z.string() })).default([]) })
        .parse(body)
        .secrets.map(({ name }) => name)
        .toSorted();
    const made = await apply(path, 'one', account('a', 'b'));
    done(made, 201);
    expect(managersIn(made)).to.deep.equal([
      {
        manager: 'one',
        operation: 'Apply',
        fieldsV1: {
          'f:secrets': Object.fromEntries(['a', 'b'].map((name) => [`k:${JSON.stringify({ name })}`, {}])),
        },
      },
    ]);
    expect(namesIn(await apply(path, 'two', account('c')))).to.deep.equal(['a', 'b', 'c']);
    expect(namesIn(await apply(path, 'one', account('b')))).to.deep.equal(['b', 'c']);
  });

  it('applies custom resources', async () => {
    const made = await apply(`${widgets}/applied`, 'one', aWidget('applied'));
    done(made, 201);
    expect(managersIn(made)).to.have.length(1);
    done(await apply(`${widgets}/applied`, 'one', aWidget('applied')));
  });

  it('refuses a request without a manager, with managed fields or of another object', async () => {
    const path = `${configMaps}/refused`;
    done(await apply(path, '', configMap('refused')), 422);
    done(await apply(path, 'one', configMap('other')), 400);
    const withFields = { ...configMap('refused'), metadata: { name: 'refused', managedFields: [{ manager: 'one' }] } };
    done(await apply(path, 'one', withFields), 400);
    done(await admin.get(path), 404);
  });

  it('writes nothing with dryRun', async () => {
    done(await apply(`${configMaps}/tried`, 'one', configMap('tried', { a: '1' }), { dryRun: 'All' }), 201);
    done(await admin.get(`${configMaps}/tried`), 404);
  });
});
