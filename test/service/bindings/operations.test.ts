import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aUser } from '../users/a-user.ts';
import { aBinding, aNamespace, Bindings, clusterRoleBindingsPath, grantBinding, rbac, type UserBinding } from './support.ts';

const path = '/auth/v2/userbindings';

interface List {
  kind: string;
  total: number;
  metadata: { continue: string; remainingItemCount: number };
  items: UserBinding[];
}

interface Status {
  code: number;
  reason: string;
  message: string;
  details?: { causes?: { reason: string; field: string; message: string }[] };
}

/** `manager` may write all UserBindings and bind `view` and a role that does not exist; `alice` may write all and bind no role. */
describe('the operations of UserBindings', () => {
  const server = forSuite(() => startServer());
  let bindings: Bindings;

  before(async () => {
    bindings = new Bindings(server.kubernetes);
    await server.kubernetes.apply(aNamespace('shop'), aNamespace('lab'));
    await grantBinding(server.kubernetes, ['view', 'not-there']);
    await eventually(
      () => server.request(path, { as: 'alice' }),
      ({ status }) => status === 200,
    );
  });

  const spec = { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'platform' };
  const create = (body: unknown, { as = 'manager', query = '' }: { as?: Person; query?: string } = {}) =>
    server.request(`${path}${query}`, { method: 'POST', as, body });
  const list = async (query = '', as: Person = 'manager') => {
    const response = await server.request(`${path}${query}`, { as });
    expect(response.status, query).to.equal(200);
    return (await response.json()) as List;
  };
  const names = async (query: string) => (await list(query)).items.map(({ metadata }) => metadata.name);
  const audited = (name: string) =>
    server.auditLines.map((line) => JSON.parse(line) as { audit: string; target?: string }).filter(({ target }) => target === name);

  describe('POST /auth/v2/userbindings', () => {
    it('creates one as the caller, which becomes RBAC in a moment', async () => {
      const response = await create({ metadata: { name: 'made', labels: { team: 'a' } }, spec });
      const body = (await response.json()) as UserBinding;

      expect(response.status, JSON.stringify(body)).to.equal(201);
      expect(response.headers.get('location')).to.equal(`${path}/made`);
      expect(response.headers.get('etag')).to.match(/^"\d+"$/);
      expect(body).to.deep.include({ apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', spec });
      expect(body.metadata).to.not.have.property('managedFields');
      expect(body.metadata.annotations).to.deep.equal({ 'auth.platform.io/created-by': 'manager' });
      expect((await list('?filterBy=name,made')).total).to.equal(1);
      await bindings.untilBound('made', ['User jane']);
      expect(audited('made')).to.have.lengthOf(1);
      expect(audited('made')[0]).to.include({ audit: 'UserBindingCreated', outcome: 'success', code: 201 });
      expect(audited('made')[0]).to.deep.include({ grant: { role: 'ClusterRole/view', subjects: ['User/jane'] } });
    });

    it('names users, namespaces and the end of the role in its audit event', async () => {
      const noa = aUser('noa@example.com');
      const subjects = [{ kind: 'User', name: noa.metadata.name }];
      await server.kubernetes.apply(noa, aBinding('known', { subjects }));
      await bindings.untilBound('known', ['User noa@example.com']);
      const bounded = {
        ...{ subjects, roleRef: 'view', scope: 'namespace' },
        ...{ constraint: [{ namespace: 'default' }], expiresAt: '2035-01-12T12:00:00+01:00' },
      };
      expect((await create({ metadata: { name: 'until' }, spec: bounded })).status).to.equal(201);
      expect(audited('until')[0]).to.deep.include({
        grant: { role: 'ClusterRole/view', subjects: ['User/noa@example.com'], namespaces: ['default'], until: '2035-01-12T11:00:00Z' },
      });
    });

    it('makes up a name', async () => {
      const nameOfNew = async (metadata: object) => ((await (await create({ metadata, spec })).json()) as UserBinding).metadata.name;
      expect(await nameOfNew({})).to.match(/^binding-[a-z0-9]{5}$/);
      expect(await nameOfNew({ generateName: 'viewers-' })).to.match(/^viewers-[a-z0-9]{5}$/);
    });

    it('is refused to callers who may not bind the role, before any write or information about the role', async () => {
      const answers = await Promise.all(
        ['view', 'not-there', 'cluster-admin'].map(async (roleRef) => {
          const response = await create({ metadata: { name: 'refused' }, spec: { ...spec, roleRef } }, { as: 'alice' });
          return (await response.json()) as Status;
        }),
      );
      expect(answers.map(({ code }) => code)).to.deep.equal([403, 403, 403]);
      expect(answers[0]?.message).to.equal(
        'clusterroles.rbac.authorization.k8s.io "view" is forbidden: User "alice" cannot bind resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope',
      );
      expect((await create({ metadata: { name: 'refused' }, spec }, { as: 'nobody' })).status).to.equal(403);
      expect(await bindings.read('refused')).to.equal(undefined);
    });

    it('reports a missing role to callers who may bind it', async () => {
      const response = await create({ metadata: { name: 'no-role' }, spec: { ...spec, roleRef: 'not-there' } });
      const { details } = (await response.json()) as Status;
      expect(response.status).to.equal(422);
      expect(details?.causes).to.deep.equal([{ reason: 'FieldValueNotFound', message: 'Not found: "not-there"', field: 'spec.roleRef' }]);
      await server.kubernetes.apply({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'not-there' }, rules: [] });
      expect((await create({ metadata: { name: 'no-role' }, spec: { ...spec, roleRef: 'not-there' } })).status).to.equal(201);
    });

    it('reports every violation at once, by its field', async () => {
      const causes = async (body: unknown) => {
        const response = await create(body);
        const status = (await response.json()) as Status;
        expect(response.status, JSON.stringify(status)).to.equal(422);
        return (status.details?.causes ?? []).map(({ reason, field }) => `${reason.replace('FieldValue', '')} ${field}`);
      };
      expect(
        await causes({
          metadata: { name: 'Not a name', finalizers: ['a'], labels: { 'auth.platform.io/userbinding': 'x' } },
          spec: {
            subjects: [
              { kind: 'Robot', name: 'jane' },
              { kind: 'User', name: 'system:admin' },
              { kind: 'Group', name: '' },
              { kind: 'User', name: 'twice' },
              { kind: 'User', name: 'twice' },
            ],
            roleRef: '',
            scope: 'namespace',
            constraint: [{ project: 'a' }, { namespace: 'Not a label' }],
          },
          status: {},
        }),
      ).to.have.members([
        'Invalid metadata.name',
        'Forbidden metadata.finalizers',
        'Forbidden metadata.labels',
        'NotSupported spec.subjects[0].kind',
        'Invalid spec.subjects[1].name',
        'Invalid spec.subjects[2].name',
        'Duplicate spec.subjects[4]',
        'Invalid spec.roleRef',
        'Required spec.constraint[0].namespace',
        'Invalid spec.constraint[1].namespace',
        'Forbidden status',
      ]);
      expect(await causes({ spec: { ...spec, constraint: [{ namespace: 'shop' }] } })).to.deep.equal(['Forbidden spec.constraint']);
      expect(await causes({ spec: { ...spec, scope: 'project' } })).to.deep.equal(['Required spec.constraint']);
      expect(await causes({ spec: { ...spec, scope: 'namespace', constraint: [] } })).to.deep.equal(['Required spec.constraint']);
      expect(await causes({ spec: { ...spec, subjects: [] } })).to.deep.equal(['Invalid spec.subjects']);
      expect(
        await causes({ spec: { ...spec, subjects: Array.from({ length: 101 }, (_, index) => ({ kind: 'User', name: `u${index}` })) } }),
      ).to.deep.equal(['TooMany spec.subjects']);
      expect(await causes({ spec: { ...spec, scope: 'galaxy' } })).to.deep.equal(['NotSupported spec.scope']);
      expect(await causes({})).to.deep.equal(['Required spec']);
    });

    it('decodes strictly, tries without writing, and makes none twice', async () => {
      const unknown = await create({ spec: { ...spec, roleref: 'view' } });
      expect([unknown.status, ((await unknown.json()) as Status).message]).to.deep.equal([
        400,
        'strict decoding error: unknown field "spec.roleref"',
      ]);
      const warned = await create(
        { metadata: { name: 'tried' }, spec: { ...spec, more: 1 } },
        { query: '?fieldValidation=Warn&dryRun=All' },
      );
      expect(warned.status).to.equal(201);
      expect(warned.headers.get('warning')).to.include('unknown field');
      expect(await bindings.read('tried')).to.equal(undefined);
      expect(audited('tried')).to.deep.equal([]);
      expect((await create({ metadata: { name: 'twin' }, spec })).status).to.equal(201);
      const again = await create({ metadata: { name: 'twin' }, spec });
      expect([again.status, ((await again.json()) as Status).reason]).to.deep.equal([409, 'AlreadyExists']);
    });
  });

  describe('GET /auth/v2/userbindings', () => {
    before(async () => {
      await server.kubernetes.apply(
        aBinding('list-a', { subjects: [{ kind: 'Group', name: 'Zoo' }], scope: 'namespace', constraint: [{ namespace: 'shop' }] }),
        aBinding('list-b', { subjects: [{ kind: 'User', name: 'amy' }], roleRef: 'cluster-admin' }),
        aBinding('list-c', { subjects: [{ kind: 'User', name: 'bob' }], scope: 'namespace', constraint: [{ namespace: 'lab' }] }),
      );
      await bindings.until('list-a', 'Synced');
      await bindings.until('list-b', 'Failed');
      await bindings.until('list-c', 'Synced');
      await eventually(
        async () => [...(await names('?fieldSelector=status.phase%3DFailed')), ...(await names('?fieldSelector=status.phase%3DSynced'))],
        (found) => ['list-a', 'list-b', 'list-c'].every((name) => found.includes(name)),
      );
    });

    it('filters, sorts and selects', async () => {
      const of = (query: string) => names(`?filterBy=name,list-&${query}`);
      expect(await of('')).to.deep.equal(['list-a', 'list-b', 'list-c']);
      expect(await of('filterBy=subject,ZO')).to.deep.equal(['list-a']);
      expect(await of('filterBy=phase,Failed')).to.deep.equal(['list-b']);
      expect(await of('filterBy=scope,namespace,namespace,lab')).to.deep.equal(['list-c']);
      expect(await of('filterBy=roleRef,CLUSTER-A')).to.deep.equal(['list-b']);
      expect(await of('sortBy=subject')).to.deep.equal(['list-b', 'list-c', 'list-a']);
      expect(await of('sortBy=a,roleRef,a,name')).to.deep.equal(['list-b', 'list-a', 'list-c']);
      expect(await of('sortBy=namespace')).to.deep.equal(['list-c', 'list-a', 'list-b']);
      for (const property of ['name', 'scope', 'phase', 'creationTimestamp']) expect(await of(`sortBy=${property}`)).to.have.lengthOf(3);
      expect(await of('fieldSelector=spec.roleRef%3Dcluster-admin,spec.scope%3Dplatform')).to.deep.equal(['list-b']);
      expect(await names('?labelSelector=team%3Da')).to.deep.equal(['made']);
      for (const query of ['?filterBy=color,red', '?sortBy=color', '?fieldSelector=spec.subjects%3Da'])
        expect((await server.request(`${path}${query}`, { as: 'manager' })).status, query).to.equal(400);
    });

    it('goes page by page', async () => {
      const first = await list('?filterBy=name,list-&limit=2');
      expect([first.kind, first.total, first.metadata.remainingItemCount]).to.deep.equal(['UserBindingList', 3, 1]);
      const next = await list(`?filterBy=name,list-&limit=2&continue=${encodeURIComponent(first.metadata.continue)}`);
      expect(next.items.map(({ metadata }) => metadata.name)).to.deep.equal(['list-c']);
    });

    it('is for callers who may list them', async () => {
      expect((await server.request(path, { as: 'nobody' })).status).to.equal(403);
    });
  });

  describe('GET /auth/v2/userbindings/{name}', () => {
    it('shows one with its status, and revalidates', async () => {
      const response = await server.request(`${path}/list-a`, { as: 'manager' });
      const body = (await response.json()) as UserBinding;
      expect(response.status).to.equal(200);
      expect(body.status?.bindingsCreated).to.deep.equal({ clusterRoleBindings: 0, roleBindings: 1 });
      expect(response.headers.get('cache-control')).to.equal('private, no-cache');
      const etag = response.headers.get('etag') ?? '';
      expect((await server.request(`${path}/list-a`, { as: 'manager', headers: { 'If-None-Match': etag } })).status).to.equal(304);
    });

    it('gives callers who may not get it the same answer for one that does not exist', async () => {
      expect((await server.request(`${path}/list-a`, { as: 'nobody' })).status).to.equal(403);
      expect((await server.request(`${path}/missing`, { as: 'nobody' })).status).to.equal(403);
      expect((await server.request(`${path}/missing`, { as: 'manager' })).status).to.equal(404);
      expect((await server.request(`${path}/..%2fusers`, { as: 'manager' })).status).to.equal(404);
    });
  });

  describe('DELETE /auth/v2/userbindings/{name}', () => {
    const remove = (name: string, options: { as?: Person; body?: unknown; query?: string } = {}) =>
      server.request(`${path}/${name}${options.query ?? ''}`, { method: 'DELETE', as: 'manager', ...options });

    it('takes the role away with it, without the right to bind it', async () => {
      await server.kubernetes.apply(aBinding('bye'));
      await bindings.until('bye', 'Synced');
      const [made] = await bindings.made('bye');
      expect((await remove('bye', { as: 'nobody' })).status).to.equal(403);
      expect((await remove('bye', { as: 'alice', query: '?dryRun=All' })).status).to.equal(204);
      expect((await remove('bye', { as: 'alice' })).status).to.equal(204);
      // The binding is deleted with the answer, unless the controller needs more than three seconds.
      await bindings.untilGone('bye');
      expect((await server.kubernetes.call('GET', `${clusterRoleBindingsPath}/${made?.metadata.name}`)).status).to.equal(404);
      expect((await remove('bye', { as: 'alice' })).status).to.equal(404);
      expect(audited('bye').map(({ audit }) => audit)).to.deep.equal(['UserBindingDeleted']);
    });

    it('keeps to preconditions', async () => {
      await server.kubernetes.apply(aBinding('kept'));
      const refused = await remove('kept', { body: { preconditions: { uid: 'another' } } });
      expect([refused.status, ((await refused.json()) as Status).reason]).to.deep.equal([409, 'Conflict']);
      expect(await bindings.read('kept')).to.not.equal(undefined);
    });
  });

  describe('DELETE /auth/v2/userbindings', () => {
    const remove = (query: string, body?: unknown, as: Person = 'manager') =>
      server.request(`${path}${query}`, { method: 'DELETE', as, ...(body !== undefined && { body }) });

    it('deletes the named ones, and reports the result of each', async () => {
      await server.kubernetes.apply(aBinding('bulk-a'), aBinding('bulk-b'));
      const response = await remove('', { names: ['bulk-a', 'missing', 'bulk-b'] });
      const result = (await response.json()) as { kind: string; total: number; items: { name: string; code: number; reason?: string }[] };
      expect(result).to.deep.include({ kind: 'UserBindingDeleteResult', total: 3, succeeded: 2, failed: 1 });
      expect(result.items.map(({ name, code, reason }) => [name, code, reason])).to.deep.equal([
        ['bulk-a', 204, undefined],
        ['missing', 404, 'NotFound'],
        ['bulk-b', 204, undefined],
      ]);
      for (const name of ['bulk-a', 'bulk-b']) await bindings.untilGone(name);
      expect(audited('bulk-a').map(({ audit }) => audit)).to.deep.equal(['UserBindingDeleted']);
    });

    it('deletes a selection for callers who may delete collections', async () => {
      await server.kubernetes.apply({ ...aBinding('sel-a'), metadata: { name: 'sel-a', labels: { sweep: 'yes' } } });
      await eventually(
        () => names('?labelSelector=sweep%3Dyes'),
        (found) => found.length === 1,
      );
      expect((await remove('?labelSelector=sweep%3Dyes', undefined, 'nobody')).status).to.equal(403);
      const result = (await (await remove('?labelSelector=sweep%3Dyes')).json()) as { items: unknown };
      expect(result.items).to.deep.equal([{ name: 'sel-a', status: 'Success', code: 204 }]);
    });

    it('refuses to delete all, more than one way of naming, and callers who may delete none', async () => {
      for (const [query, body] of [
        ['', undefined],
        ['', { names: [] }],
        ['', { names: ['a', 'a'] }],
        ['?labelSelector=', undefined],
        ['?names=a', { names: ['a'] }],
        ['?fieldSelector=spec.color%3Dred', undefined],
      ] as const)
        expect((await remove(query, body)).status, `${query} ${JSON.stringify(body)}`).to.equal(400);
      expect((await remove('', { names: ['kept'] }, 'nobody')).status).to.equal(403);
      expect(await bindings.read('kept')).to.not.equal(undefined);
    });
  });
});
