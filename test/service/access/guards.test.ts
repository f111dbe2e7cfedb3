import { expect } from 'chai';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant, revoke } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aBinding } from '../bindings/support.ts';
import { aGroup } from '../groups/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';

const jane = nameOf('jane@example.com');
const session = `s-${'0'.repeat(64)}`;
const linkedAccount = 'f'.repeat(32);
const review = '/auth/v1/selfsubjectaccessreviews';
const mayListUsers = { spec: { resourceAttributes: { verb: 'list', group: 'auth.platform.io', resource: 'users' } } };

const newUser = { spec: { email: 'new@example.com', password: 'correct horse battery' } };

/** A factor, and a resource that the service may list. */
const factor = `t-${'0'.repeat(64)}`;
const accessRequest = `areq-${'0'.repeat(16)}`;
const newRequest = { policy: 'a-policy', roleRef: 'edit', scope: 'platform', reason: 'the shop is down', durationSeconds: 3600 };
const listed = 'rbac.authorization.k8s.io/v1/roles';

/** Every operation that needs a permission, and the status for a user without any permission. */
const guarded = [
  // Sessions of the caller, who has none.
  { method: 'GET', path: '/auth/v1/sessions', stranger: 200 },
  { method: 'DELETE', path: '/auth/v1/sessions', stranger: 204 },
  { method: 'DELETE', path: `/auth/v1/sessions/${session}`, stranger: 403 },
  { method: 'GET', path: '/apis/auth.platform.io/v1/users', stranger: 403 },
  { method: 'GET', path: '/apis/auth.platform.io/v1/users?watch=true', stranger: 403 },
  { method: 'GET', path: `/apis/auth.platform.io/v1/users/${jane}`, stranger: 403 },
  { method: 'GET', path: '/auth/v2/users', stranger: 403 },
  { method: 'GET', path: '/auth/v1/users', stranger: 403 },
  { method: 'GET', path: `/auth/v1/users/${jane}`, stranger: 403 },
  { method: 'POST', path: '/auth/v1/users?dryRun=All', body: newUser, stranger: 403 },
  { method: 'PATCH', path: `/auth/v1/users/${jane}`, body: {}, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/users/${jane}?dryRun=All`, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/users/${jane}/subjects?dryRun=All`, stranger: 403 },
  { method: 'GET', path: `/auth/v1/users/${jane}/factors`, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/users/${jane}/factors`, stranger: 403 },
  { method: 'PATCH', path: `/auth/v1/users/${jane}/factors/${factor}`, body: { name: 'phone' }, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/users/${jane}/factors/${factor}`, stranger: 403 },
  { method: 'POST', path: `/auth/v1/users/${jane}/links`, body: { kind: 'password' }, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/users/${jane}/links`, stranger: 403 },
  { method: 'DELETE', path: '/auth/v1/users?dryRun=All', body: { names: [jane] }, stranger: 403 },
  { method: 'PUT', path: '/auth/v1/users/sync', body: {}, stranger: 403 },
  { method: 'GET', path: '/auth/v1/users/sync', stranger: 403 },
  { method: 'GET', path: `/auth/v1/usersroles?name=${jane}`, stranger: 403 },
  { method: 'POST', path: '/auth/v1/authorize', body: {}, stranger: 403 },
  { method: 'GET', path: '/auth/v1/groups', stranger: 403 },
  { method: 'POST', path: '/auth/v1/groups?dryRun=All', body: { metadata: { name: 'dev' } }, stranger: 403 },
  { method: 'GET', path: `/auth/v1/groups/${jane}`, stranger: 403 },
  { method: 'PATCH', path: `/auth/v1/groups/${jane}?dryRun=All`, body: {}, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/groups/${jane}?dryRun=All`, stranger: 403 },
  { method: 'POST', path: `/auth/v1/groups/${jane}/members?dryRun=All`, body: { names: [jane] }, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/groups/${jane}/members?dryRun=All`, body: { names: [jane] }, stranger: 403 },
  { method: 'GET', path: `/auth/v1/memberships?names=${jane}`, stranger: 403 },
  { method: 'GET', path: '/auth/v2/userbindings', stranger: 403 },
  { method: 'GET', path: '/auth/v2/bindableroles', stranger: 403 },
  {
    method: 'POST',
    path: '/auth/v2/userbindings?dryRun=All',
    body: { metadata: { name: 'new' }, spec: aBinding('new').spec },
    stranger: 403,
  },
  { method: 'DELETE', path: '/auth/v2/userbindings?dryRun=All', body: { names: [jane] }, stranger: 403 },
  { method: 'GET', path: `/auth/v2/userbindings/${jane}`, stranger: 403 },
  { method: 'DELETE', path: `/auth/v2/userbindings/${jane}?dryRun=All`, stranger: 403 },
  { method: 'POST', path: '/auth/v1/accesstoken?dryRun=All', body: { description: 'ci' }, stranger: 403 },
  // Access tokens of the caller, who has none.
  { method: 'GET', path: '/auth/v1/accesstokens', stranger: 200 },
  { method: 'DELETE', path: '/auth/v1/accesstokens/a-token', stranger: 403 },
  { method: 'POST', path: '/auth/v1/tokenreviews', body: { spec: { token: 'x' } }, stranger: 403 },
  // A file with the address of the cluster.
  { method: 'GET', path: '/auth/v1/kubeconfig?mode=token', stranger: 200 },
  // Accounts of the caller, who has no record.
  { method: 'GET', path: '/auth/v1/links', stranger: 200 },
  { method: 'POST', path: '/auth/v1/links', body: { issuer: 'corp' }, stranger: 403 },
  { method: 'DELETE', path: `/auth/v1/links/${linkedAccount}`, stranger: 403 },
  // The record of the caller, who has none.
  { method: 'GET', path: '/auth/v1/me', stranger: 404 },
  { method: 'GET', path: '/metrics', stranger: 403 },
  // The identity of the caller, which needs no permission.
  { method: 'GET', path: '/api/v1/token/info', stranger: 200 },
  { method: 'GET', path: '/api/v2/token/info', stranger: 200 },
  // Plugins, which every logged-in user may use; the name does not exist.
  { method: 'GET', path: '/api/proxy/plugin/{plugin}/{alias}/{path}', stranger: 404 },
  { method: 'POST', path: '/api/proxy/plugin/{plugin}/{alias}/{path}', body: {}, stranger: 404 },
  { method: 'PUT', path: '/api/proxy/plugin/{plugin}/{alias}/{path}', body: {}, stranger: 404 },
  { method: 'PATCH', path: '/api/proxy/plugin/{plugin}/{alias}/{path}', body: {}, stranger: 404 },
  { method: 'DELETE', path: '/api/proxy/plugin/{plugin}/{alias}/{path}', stranger: 404 },
  // Paths that the API server guards; the path does not exist.
  ...(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((method) => ({
    method,
    path: '/api/kubernetes/{path}',
    stranger: 404,
    ...(['POST', 'PUT', 'PATCH'].includes(method) && { body: {} }),
  })),
  // Reviews, which every caller may create; the answer is no.
  { method: 'POST', path: review, body: mayListUsers, stranger: 201 },
  { method: 'POST', path: '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews', body: mayListUsers, stranger: 201 },
  { method: 'POST', path: '/auth/v1/selfsubjectrulesreviews', body: { spec: { namespace: 'default' } }, stranger: 201 },
  { method: 'GET', path: '/auth/v1/accesssubjects?verb=list&resource=pods', stranger: 403 },
  { method: 'GET', path: '/auth/v1/accessrules?group=dev', stranger: 403 },
  { method: 'GET', path: '/auth/v1/standingaccess', stranger: 403 },
  { method: 'POST', path: '/auth/v1/subjectaccessreviews', body: { spec: { user: 'jane', ...mayListUsers.spec } }, stranger: 403 },
  {
    method: 'POST',
    path: '/auth/v1/simulations',
    body: { changes: [{ type: 'delete', kind: 'ClusterRole', name: 'gone' }] },
    stranger: 403,
  },
  // The policies and requests of the caller, who has no record.
  { method: 'GET', path: '/auth/v1/accesspolicies', stranger: 200 },
  { method: 'GET', path: '/auth/v1/accesspolicies/a-policy', stranger: 404 },
  { method: 'GET', path: '/auth/v1/accesspolicies/a-policy/namespaces', stranger: 404 },
  { method: 'GET', path: '/auth/v1/bindingreviews', stranger: 200 },
  { method: 'GET', path: '/auth/v1/bindingreviews/a-review', stranger: 404 },
  { method: 'GET', path: '/auth/v1/bindingreviews/a-review/bindings', stranger: 404 },
  {
    method: 'POST',
    path: '/auth/v1/bindingreviews/a-review/answers',
    body: { name: 'a-binding', version: '', decision: 'Keep' },
    stranger: 404,
  },
  { method: 'GET', path: '/auth/v1/accessrequests', stranger: 200 },
  { method: 'POST', path: '/auth/v1/accessrequests?dryRun=All', body: newRequest, stranger: 403 },
  { method: 'GET', path: '/auth/v1/accessrequests/options?verb=get&resource=pods', stranger: 200 },
  { method: 'GET', path: `/auth/v1/accessrequests/${accessRequest}`, stranger: 404 },
  { method: 'POST', path: `/auth/v1/accessrequests/${accessRequest}/decision`, body: { approve: true }, stranger: 403 },
  { method: 'POST', path: `/auth/v1/accessrequests/${accessRequest}/end`, stranger: 403 },
  { method: 'POST', path: `/auth/v1/accessrequests/${accessRequest}/review`, body: { comment: 'seen' }, stranger: 403 },
  { method: 'GET', path: '/api/v2/resources', stranger: 200 },
  { method: 'GET', path: `/api/v2/resources/${listed}`, stranger: 403 },
  { method: 'GET', path: `/api/v2/resources/${listed}/namespaces/default`, stranger: 403 },
  // An answer with the kinds that were not searched, and no object.
  { method: 'GET', path: '/api/v2/search?q=jane', stranger: 200 },
  // The installation keeps no events.
  { method: 'GET', path: '/auth/v1/audit', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/counts?by=hour', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/export', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/status', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/an-event', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/checkpoints', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/chain', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/recordings', stranger: 404 },
  { method: 'GET', path: '/auth/v1/audit/recordings/a-recording', stranger: 404 },
  { method: 'DELETE', path: '/auth/v1/audit/recordings/a-recording', stranger: 404 },
  { method: 'GET', path: '/api/v2/usage/nodes', stranger: 403 },
  { method: 'GET', path: '/api/v2/usage/nodes/a-node', stranger: 403 },
  { method: 'GET', path: '/api/v2/usage/namespaces/default', stranger: 403 },
  { method: 'GET', path: '/api/v2/usage/namespaces/default/pods/a-pod', stranger: 403 },
  // An empty list, to a caller without permissions.
  { method: 'GET', path: '/auth/v1/namespaces?verb=list&resource=pods', stranger: 200 },
] as const;

describe('the guard of an operation', () => {
  const server = forSuite(() =>
    startServer({
      config: {
        kubernetes: { accessCache: '5s' },
        server: { publicURL: 'http://console.test' },
        features: { accessRequests: true },
        lists: { resources: [{ group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'roles' }] },
      },
    }),
  );

  const isAllowed = async (as: Person) => {
    const response = await server.request(review, { method: 'POST', as, body: mayListUsers });
    return z.object({ status: z.object({ allowed: z.boolean() }) }).parse(await response.json()).status.allowed;
  };

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(aUser('jane@example.com'), aGroup(jane), aBinding(jane));
    await eventually(
      () => server.request(`/auth/v1/users/${jane}`, { as: 'viewer' }),
      ({ status }) => status === 200,
    );
    await eventually(
      () => server.request(`/auth/v1/groups/${jane}`, { as: 'admin' }),
      ({ status }) => status === 200,
    );
    await eventually(
      () => server.request(`/auth/v2/userbindings/${jane}`, { as: 'admin' }),
      ({ status }) => status === 200,
    );
  });

  for (const { path, stranger, ...rest } of guarded) {
    it(`AUZ-08 answers 401 without a token and with a bad one, and ${stranger} to a stranger: ${rest.method} ${path.replace(jane, '{name}')}`, async () => {
      const without = await server.request(path, rest);
      const bad = await server.request(path, { ...rest, token: `${await server.token('admin')}x` });
      const basic = await server.request(path, { ...rest, headers: { Authorization: 'Basic YWRtaW46YWRtaW4=' } });
      const nobody = await server.request(path, { ...rest, as: 'nobody' });

      expect([without.status, bad.status, basic.status, nobody.status]).to.deep.equal([401, 401, 401, stranger]);
      for (const refused of [without, bad, basic]) {
        expect(refused.headers.get('www-authenticate')).to.match(/^Bearer realm="atrium"/);
        expect(await refused.json()).to.deep.include({ kind: 'Status', status: 'Failure', reason: 'Unauthorized', code: 401 });
      }
      if (stranger === 403)
        expect(await nobody.json()).to.deep.include({ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403 });
    });
  }

  it('AUZ-08 is tried on every operation that needs a credential', async () => {
    const { paths } = z
      .object({
        paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string(), security: z.array(z.unknown()).optional() }))),
      })
      .parse(await (await server.request('/openapi/v3')).json());
    const needing = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security = [] }]) => security.length > 0 && security.every((scheme) => JSON.stringify(scheme) !== '{}'))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
    const tried = new Set(
      guarded.map(
        ({ method, path }) =>
          `${method} ${path.replace(jane, '{name}').replace('a-token', '{id}').replace(factor, '{id}').replace(linkedAccount, '{id}').replace('an-event', '{id}').replace('a-recording', '{id}').replace('a-review', '{name}').replace(session, '{name}').replace('a-policy', '{name}').replace(accessRequest, '{name}').replace(listed, '{group}/{version}/{resource}').replace('namespaces/default', 'namespaces/{namespace}').replace('pods/a-pod', '{resource}/{name}').replace('a-node', '{name}').replace(/\?.*/, '')}`,
      ),
    );

    expect(needing).to.have.members([...tried]);
  });

  it('AUZ-04 ignores headers that name the caller', async () => {
    const headers = {
      'X-Remote-User': 'admin',
      X_Remote_User: 'admin',
      'X-Remote-Group': 'system:masters',
      'X-Console-Impersonate-Groups': 'system:masters',
      'X-Forwarded-User': 'admin',
    };
    for (const { path, stranger, ...rest } of guarded) {
      const response = await server.request(path, { ...rest, as: 'nobody', headers });
      expect(response.status, path).to.equal(stranger);
      if (path === review) expect(await response.json()).to.have.nested.property('status.allowed', false);
    }
  });

  it('AUZ-04 answers a view as the other user, or refuses it', async () => {
    for (const { path, stranger, ...rest } of guarded) {
      const byStranger = await server.request(path, { ...rest, as: 'nobody', headers: { 'Impersonate-User': 'admin' } });
      expect(byStranger.status, path).to.be.oneOf([400, 403]);
      const byAdmin = await server.request(path, { ...rest, as: 'admin', headers: { 'Impersonate-User': 'nobody' } });
      // The proxy refuses a write before the unknown path.
      const isView = !path.startsWith('/api/kubernetes') && byAdmin.status !== 400;
      if (isView) expect(byAdmin.status, path).to.equal(stranger);
      else expect(byAdmin.status, path).to.be.oneOf([400, 404]);
      if (path === review) expect(await byAdmin.json()).to.have.nested.property('status.allowed', false);
      else await byAdmin.body?.cancel();
    }
  });

  it('AUZ-10 ignores headers that make a request look like a probe or another path', async () => {
    for (const headers of [
      { 'User-Agent': 'kube-probe/1.36' },
      { 'User-Agent': 'GoogleHC/1.0' },
      { 'X-Forwarded-Uri': '/healthz' },
      { 'X-Original-URL': '/healthz' },
      { 'X-Rewrite-URL': '/livez' },
      { 'X-Forwarded-Prefix': '/healthz', 'X-Forwarded-Path': '/healthz' },
    ]) {
      for (const { path, stranger, ...rest } of guarded) {
        expect((await server.request(path, { ...rest, headers })).status, `${path} ${JSON.stringify(headers)}`).to.equal(401);
      }
    }
  });

  it('AUZ-10 has no health paths but the exact ones', async () => {
    const inPath = ['/healthz/x', '/auth/v2/users/healthz', '/auth/v2/users;/healthz'];
    for (const path of [...inPath, '/apis/auth.platform.io/v1/users/..%2f..%2f..%2f..%2fhealthz']) {
      const response = await server.request(path);
      expect(response.status, path).to.be.oneOf([400, 401, 404]);
      expect(await response.text(), path).not.to.equal('ok');
    }
  });

  it('AUZ-07 refuses a caller who has lost the permission: reviews, lists and records', async () => {
    await grant(server.kubernetes, 'carol', 'atrium-users-view');
    const statuses = async () => [
      await isAllowed('carol'),
      (await server.request('/auth/v2/users', { as: 'carol' })).status,
      (await server.request(`/auth/v1/users/${jane}`, { as: 'carol' })).status,
    ];
    await eventually(statuses, (given) => given.join() === 'true,200,200');

    await revoke(server.kubernetes, 'carol', 'atrium-users-view');

    await eventually(statuses, (given) => given.join() === 'false,403,403');
    // Revoked permissions stay revoked.
    for (let count = 0; count < 5; count += 1) expect(await statuses()).to.deep.equal([false, 403, 403]);
  });

  it('AUZ-07 ends an open watch of a caller who has lost the permission, and leaves those of other callers open', async () => {
    await grant(server.kubernetes, 'carol', 'atrium-users-view');
    const open = async (as: Person) => {
      const response = await eventually(
        () => server.request('/apis/auth.platform.io/v1/users?watch=true', { as }),
        ({ status }) => status === 200,
      );
      const watch = { isOpen: true };
      const reader = response.body?.getReader();
      const read = async () => {
        for (let isDone = false; !isDone; ) isDone = (await reader?.read().catch(() => undefined))?.done ?? true;
        watch.isOpen = false;
      };
      void read();
      return { watch, end: () => reader?.cancel() };
    };
    const carol = await open('carol');
    const viewer = await open('viewer');

    await revoke(server.kubernetes, 'carol', 'atrium-users-view');

    await eventually(
      () => carol.watch.isOpen,
      (isOpen) => !isOpen,
    );
    expect(viewer.watch.isOpen).to.equal(true);
    await viewer.end();
  });

  it('AUZ-07 applies a new permission as soon', async () => {
    expect(await isAllowed('bob')).to.equal(false);

    await grant(server.kubernetes, 'bob', 'atrium-users-view');

    await eventually(() => isAllowed('bob'), Boolean);
  });
});
