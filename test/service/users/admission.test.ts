/** Refusals of the admission policies, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */

import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { type Answer, asService, type ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, grant } from '../../support/grants.ts';
import { aUser, nameOf, type UserParts } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';
const merge = { 'content-type': 'application/merge-patch+json' };
const local = { connector_type: 'local', connector_id: 'local', connector_name: 'Local' };

const created = (email: string, spec: Record<string, unknown> = {}, parts: UserParts = {}): Manifest => {
  const { status: _status, ...user } = aUser(email, parts);
  return { ...user, spec: { ...(user.spec as object), ...spec } };
};

describe('the admission policy of users', () => {
  const cluster = forSuite(() => apiServer());
  const admin = clientOf(cluster, 'admin');
  /** Writes Users as the service, by impersonation. */
  const service = clientOf(cluster, 'admin');
  /** May write all users, and impersonate none. */
  const manager = clientOf(cluster, 'manager');
  /** May write all users, and impersonate the administrator `chief`. */
  const alice = clientOf(cluster, 'alice');
  /** May patch the objects of the service, and delete none. */
  const patcher = clientOf(cluster, 'bob');

  before(async () => {
    await service.install();
    const group = 'rbac.authorization.k8s.io';
    await grant(admin, 'manager', 'atrium-users-admin');
    await grant(admin, 'alice', 'atrium-users-admin');
    await admin.apply(
      {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRole',
        metadata: { name: 'act-as-chief' },
        rules: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['chief', 'fresh-chief'] }],
      },
      clusterRoleBinding('act-as-chief', 'act-as-chief', { kind: 'User', name: 'alice' }),
    );
    await eventually(
      () => alice.call('GET', users),
      ({ status }) => status === 200,
    );
  });

  const refusedWith = (answer: Answer, why: string) => {
    expect(answer.status, JSON.stringify(answer.body)).to.equal(403);
    const message = `ValidatingAdmissionPolicy 'users.auth.platform.io' with binding 'users.auth.platform.io' denied request: `;
    expect(answer.body).to.deep.include({ kind: 'Status', reason: 'Forbidden', code: 403 });
    expect((answer.body as { message: string }).message)
      .to.match(/^users\.auth\.platform\.io "[^"]+" is forbidden: /)
      .and.include(message + why);
  };
  const isDone = (answer: Answer, status = 200) => expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
  const patch = (by: ClusterAdmin, email: string, body: unknown, headers: Record<string, string> = {}) =>
    by.call('PATCH', `${users}/${nameOf(email)}`, body, { ...merge, ...headers });
  /** Sends the patches of `kubectl apply` for an existing object, with and without --server-side; JSON is YAML. */
  const apply = async (by: ClusterAdmin, user: Manifest) => {
    const path = `${users}/${user.metadata.name}`;
    isDone(await by.call('PATCH', path, user, merge));
    const type = { 'content-type': 'application/apply-patch+yaml' };
    const answer = await by.call('PATCH', `${path}?fieldManager=gitops&force=true`, user, type);
    isDone(answer);
  };

  it('lets local users and users without a source be made, and no others (1)', async () => {
    isDone(await manager.call('POST', users, created('local@example.com')), 201);
    const {
      connector_type: _type,
      connector_id: _id,
      connector_name: _name,
      ...spec
    } = created('ahead@example.com').spec as Record<string, unknown>;
    isDone(await manager.call('POST', users, { ...created('ahead@example.com'), spec }), 201);
    const why = 'a new user has no source but the local one';
    const wrong: Record<string, unknown>[] = [
      { connector_type: 'ldap', connector_id: 'corp', connector_name: 'Corporate' },
      { connector_type: 'local', connector_id: 'corp', connector_name: 'Local' },
      { connector_name: 'Other' },
      { ids: [{ type: 'corp', id: 'root' }] },
      { valid: false },
    ];
    for (const spec of wrong)
      for (const by of [manager, admin]) refusedWith(await by.call('POST', users, created('wrong@example.com', spec)), why);
  });

  it('lets no caller change the source of a user (2)', async () => {
    await service.apply(aUser('source@example.com'));
    const why = 'connector_type, connector_id, connector_name, ids and valid are kept by the service';
    for (const spec of [
      { connector_type: 'ldap' },
      { connector_id: '' },
      { connector_name: 'x' },
      { ids: [{ type: 'a', id: 'b' }] },
      { valid: false },
    ])
      refusedWith(await patch(manager, 'source@example.com', { spec }), why);
    isDone(await patch(manager, 'source@example.com', { spec: { username: 'Other', is_disabled: true, ...local } }));
  });

  it('REC-04 (3) lets no caller give an administrator an owner, with whom the garbage collector would delete them', async () => {
    for (const email of ['owned-chief', 'owned']) await admin.apply(aUser(email, { is_admin: email === 'owned-chief' }));
    await admin.apply(aUser('owner'));
    const { body } = await manager.call('GET', `${users}/${nameOf('owner')}`);
    const { uid } = (body as { metadata: { uid: string } }).metadata;
    const owner = { apiVersion: 'auth.platform.io/v1', kind: 'User', name: nameOf('owner'), uid };
    const gone = { ...owner, uid: 'of-nobody' };
    const why = 'user "manager" cannot make, change or delete the administrator "owned-chief"';
    for (const ownerReferences of [[owner], [gone]])
      refusedWith(await patch(manager, 'owned-chief', { metadata: { ownerReferences } }), why);
    isDone(await patch(service, 'owned-chief', { metadata: { ownerReferences: [owner] } }));
    refusedWith(await patch(manager, 'owned-chief', { metadata: { ownerReferences: [owner, gone] } }), why);
    // The garbage collector sends these patches for dependents that are orphaned.
    isDone(await patch(manager, 'owned-chief', { metadata: { ownerReferences: null } }));
    isDone(await patch(manager, 'owned', { metadata: { ownerReferences: [owner] } }));

    isDone(await manager.call('DELETE', `${users}/${nameOf('owner')}`));

    await eventually(
      () => manager.call('GET', `${users}/${nameOf('owned')}`),
      ({ status }) => status === 404,
    );
    isDone(await manager.call('GET', `${users}/${nameOf('owned-chief')}`));
  });

  it('REC-04 (3) lets no caller change or delete an administrator unless they may act as them', async () => {
    await admin.apply(aUser('chief', { is_admin: true }), aUser('newcomer', { is_admin: true, subjectName: '' }));
    for (const email of ['chief', 'newcomer']) {
      const why = `user "manager" cannot make, change or delete the administrator "${email}": that needs the verb impersonate`;
      for (const spec of [
        { is_disabled: true },
        { state: 'inactive' },
        { expired: { end: '2020-01-01T00:00:00Z' } },
        { username: 'Other' },
      ])
        refusedWith(await patch(manager, email, { spec }), why);
      refusedWith(await patch(manager, email, { spec: { valid: false } }), 'connector_type');
      expect((await patch(manager, email, { spec: { is_admin: false } })).status).to.equal(422);
      refusedWith(await manager.call('DELETE', `${users}/${nameOf(email)}`), why);
      refusedWith(await manager.call('DELETE', `${users}?fieldSelector=metadata.name=${nameOf(email)}`), why);
    }
    isDone(await patch(alice, 'chief', { spec: { is_disabled: true } }));
    refusedWith(await patch(alice, 'newcomer', { spec: { is_disabled: true } }), 'user "alice" cannot');
    isDone(await alice.call('DELETE', `${users}/${nameOf('chief')}`));
  });

  it('lets labels and annotations of an administrator be changed, and finalizers be removed (3)', async () => {
    await admin.apply(aUser('labelled', { is_admin: true }));
    isDone(await patch(service, 'labelled', { metadata: { finalizers: ['example.com/x', 'example.com/y'] } }));
    isDone(await patch(manager, 'labelled', { metadata: { labels: { team: 'a' }, annotations: { note: 'b' } } }));
    isDone(await patch(manager, 'labelled', { metadata: { finalizers: ['example.com/y'] } }));
    isDone(await patch(manager, 'labelled', { metadata: { finalizers: null } }));
  });

  it('S8 (3) refuses a finalizer on an administrator, whose record would stay after its deletion', async () => {
    await service.apply(aUser('held-chief', { is_admin: true }), aUser('held'), aUser('chief', { is_admin: true }));
    const finalizers = ['example.com/x'];
    const why = 'user "manager" cannot make, change or delete the administrator "held-chief"';
    refusedWith(await patch(manager, 'held-chief', { metadata: { finalizers } }), why);
    isDone(await patch(service, 'held-chief', { metadata: { finalizers } }));
    refusedWith(await patch(manager, 'held-chief', { metadata: { finalizers: [...finalizers, 'example.com/y'] } }), why);
    isDone(await patch(alice, 'chief', { metadata: { finalizers } }));
    for (const email of ['held-chief', 'chief']) isDone(await patch(service, email, { metadata: { finalizers: null } }));
    isDone(await patch(manager, 'held', { metadata: { finalizers } }));
    isDone(await patch(manager, 'held', { metadata: { finalizers: null } }));
  });

  it('S16 asks for delete where an owner reference is added, with which the garbage collector would delete the object', async () => {
    const group = 'rbac.authorization.k8s.io';
    const resources = ['users', 'groups', 'userbindings'];
    await admin.apply(
      {
        apiVersion: `${group}/v1`,
        kind: 'ClusterRole',
        metadata: { name: 'patchers' },
        rules: [{ apiGroups: ['auth.platform.io'], resources, verbs: ['get', 'patch'] }],
      },
      clusterRoleBinding('patchers', 'patchers', { kind: 'User', name: 'bob' }),
    );
    await service.apply(
      aUser('kept'),
      { apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'kept' }, spec: { displayName: 'Kept' } },
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'UserBinding',
        metadata: { name: 'kept' },
        spec: { scope: 'platform', roleRef: 'view', subjects: [{ kind: 'User', name: 'jane' }] },
      },
    );
    const paths = [`users/${nameOf('kept')}`, 'groups/kept', 'userbindings/kept'].map((path) => `/apis/auth.platform.io/v1/${path}`);
    const owner = { apiVersion: 'auth.platform.io/v1', kind: 'User', name: 'gone', uid: 'of-nobody' };
    const owned = (...ownerReferences: object[]) => ({ metadata: { ownerReferences } });
    const { body } = await admin.call('GET', `${users}/${nameOf('kept')}`);
    const real = { ...owner, name: nameOf('kept'), uid: (body as { metadata: { uid: string } }).metadata.uid };
    for (const path of paths) {
      await eventually(
        () => patcher.call('PATCH', path, { metadata: { labels: { a: 'b' } } }, merge),
        ({ status }) => status === 200,
      );
      const refusedFor = async (change: object) => {
        const answer = await patcher.call('PATCH', path, change, merge);
        expect(answer.status, path).to.equal(403);
        expect(JSON.stringify(answer.body)).to.include('the garbage collector could delete the object, so that needs the verb delete');
      };
      await refusedFor(owned(owner));
      isDone(await service.call('PATCH', path, owned(real), { ...merge, ...asService }));
      // An owner that exists becomes one that does not.
      await refusedFor(owned({ ...real, name: 'gone' }));
      await refusedFor(owned(real, owner));
      isDone(await patcher.call('PATCH', path, owned(), merge));
      isDone(await admin.call('GET', path));
    }
  });

  it('lets the garbage collector end a deletion in the foreground (3)', async () => {
    await admin.apply(aUser('foreground', { is_admin: true }));
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' };
    const { status } = await admin.call('DELETE', `${users}/${nameOf('foreground')}`, options);
    expect([200, 202]).to.include(status);
    await eventually(
      () => admin.call('GET', `${users}/${nameOf('foreground')}`),
      (answer) => answer.status === 404,
    );
  });

  it('lets callers who may impersonate an administrator create the administrator (4)', async () => {
    const user = created('fresh-chief', {}, { is_admin: true });
    refusedWith(await manager.call('POST', users, user), 'user "manager" cannot make, change or delete the administrator "fresh-chief"');
    isDone(await alice.call('POST', users, user), 201);
  });

  it('lets manifests of Git be applied repeatedly, also after a login has recorded the source of the user', async () => {
    const {
      connector_type: _type,
      connector_id: _id,
      connector_name: _name,
      ...spec
    } = created('git@example.com').spec as Record<string, unknown>;
    const user = { ...created('git@example.com'), spec };
    isDone(await manager.call('POST', users, user), 201);
    await apply(manager, user);
    const told = { connector_type: 'oidc', connector_id: 'corp', connector_name: 'Corp' };
    isDone(await patch(admin, 'git@example.com', { spec: told }, asService));
    await apply(manager, user);
    const { body } = await admin.call('GET', `${users}/${nameOf('git@example.com')}`);
    expect(body).to.have.nested.property('spec.connector_id', 'corp');
  });

  it('permits the writes of the service and of the Job of the first administrator', async () => {
    for (const account of ['atrium', 'atrium-first-admin']) {
      const headers = { 'impersonate-user': `system:serviceaccount:${serviceNamespace}:${account}`, 'impersonate-group': 'system:masters' };
      const email = `made-by-${account}`;
      isDone(await admin.call('POST', users, created(email, { connector_type: 'ldap', connector_id: 'corp' }), headers), 201);
      isDone(await patch(admin, email, { spec: { valid: false, connector_id: 'other' } }, headers));
      isDone(await admin.call('POST', users, created(`admin-${email}`, {}, { is_admin: true }), headers), 201);
      isDone(await patch(admin, `admin-${email}`, { spec: { username: 'Chief' } }, headers));
    }
  });

  it('asks for bind where a UserBinding is made or widened, and for impersonate where members of a Group change', async () => {
    const binding = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'UserBinding',
      metadata: { name: 'by-manager' },
      spec: { scope: 'platform', roleRef: 'view', subjects: [{ kind: 'User', name: 'jane' }] },
    };
    const group = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'Group',
      metadata: { name: 'mine' },
      spec: { displayName: 'Mine', users: [{ name: 'jane' }] },
    };
    const base = '/apis/auth.platform.io/v1';
    const wide = await manager.call('POST', `${base}/userbindings`, binding);
    expect(wide.status).to.equal(403);
    expect(JSON.stringify(wide.body)).to.include('cannot bind the ClusterRole');
    const members = await manager.call('POST', `${base}/groups`, group);
    expect(members.status).to.equal(403);
    expect(JSON.stringify(members.body)).to.include('impersonate on the group');
    isDone(await admin.call('POST', `${base}/userbindings`, binding), 201);
    isDone(await manager.call('PATCH', `${base}/userbindings/by-manager`, { metadata: { labels: { a: 'b' } } }, merge));
    const { spec: _spec, ...empty } = group;
    isDone(await manager.call('POST', `${base}/groups`, { ...empty, spec: { displayName: 'Mine' } }), 201);
  });
});
