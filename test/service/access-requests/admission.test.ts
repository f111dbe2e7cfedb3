/** Accounts that may write policies, requests and their bindings, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { type Answer, asService, type ClusterAdmin, eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aBinding, bindingsPath } from '../bindings/support.ts';
import { nameOf } from '../users/a-user.ts';
import { aPolicy, aRequest, mergePatch, policiesPath, requestsPath, user } from './support.ts';

const rbac = 'rbac.authorization.k8s.io';
const binders = (name: string, resourceNames: readonly string[]): Manifest => ({
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRole',
  metadata: { name },
  rules: [{ apiGroups: [rbac], resources: ['clusterroles'], resourceNames, verbs: ['bind'] }],
});
const applyPatch = { 'content-type': 'application/apply-patch+yaml' };

describe('the admission policies of access requests', () => {
  const cluster = forSuite(() => apiServer({ isReused: true }));
  const admin = clientOf(cluster, 'admin');
  /** May write AccessPolicies, and bind `view` and the roles r0 to r18. */
  const manager = clientOf(cluster, 'manager');
  /** May write AccessPolicies, and bind `view` in one namespace. */
  const alice = clientOf(cluster, 'alice');
  const roles = Array.from({ length: 20 }, (_, index) => `r${index}`);

  before(async () => {
    await admin.install();
    await admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    await admin.apply(binders('view-binders', ['view', ...roles.slice(0, 19)]));
    await admin.apply({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'view-binders', namespace: 'shop' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view-binders' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'alice' }],
    });
    await grant(admin, 'manager', 'view-binders');
    await grant(admin, 'manager', 'atrium-access-admin');
    await grant(admin, 'alice', 'atrium-access-admin');
    // A policy takes effect a moment after its creation.
    await eventually(
      () => alice.call('POST', `${policiesPath}?dryRun=All`, aPolicy('probe')),
      ({ status }) => status === 403,
    );
    await eventually(
      () => admin.call('POST', `${requestsPath}?dryRun=All`, aRequest('areq-0000000000000000')),
      ({ status }) => status === 403,
    );
  });

  const post = (by: ClusterAdmin, policy: Manifest) => by.call('POST', policiesPath, policy);
  const patch = (by: ClusterAdmin, name: string, change: object) => by.call('PATCH', `${policiesPath}/${name}`, change, mergePatch);
  const messageOf = ({ body }: Answer) => (body as { message: string }).message;

  it('ACP-01 refuse a policy of a role that the caller cannot bind, also where it can in one namespace', async () => {
    const refused = await post(alice, aPolicy('by-alice'));
    expect(refused.status).to.equal(403);
    expect(messageOf(refused)).to.include('user "alice" cannot bind the ClusterRole "view"');

    expect((await post(manager, aPolicy('by-manager'))).status).to.equal(201);
    const other = await post(manager, aPolicy('other', { roleRefs: ['view', 'cluster-admin'] }));
    expect(other.status).to.equal(403);
    expect(messageOf(other)).to.include('cannot bind the ClusterRole "cluster-admin"');
  });

  it('ACP-01 refuse a wider policy by patch, by PUT and by apply', async () => {
    await post(manager, aPolicy('kept'));
    const { body } = await admin.call('GET', `${policiesPath}/kept`);
    const stored = body as Manifest & { spec: object };
    const wider = { approvers: [user('alice')] };

    expect((await patch(alice, 'kept', { spec: wider })).status).to.equal(403);
    expect((await alice.call('PUT', `${policiesPath}/kept`, { ...stored, spec: { ...stored.spec, ...wider } })).status).to.equal(403);
    const applied = await alice.call('PATCH', `${policiesPath}/kept?fieldManager=a&force=true`, aPolicy('kept', wider), applyPatch);
    // The embedded cluster has no server-side apply.
    expect(applied.status).to.be.oneOf([403, 501]);
    expect((await patch(manager, 'kept', { spec: wider })).status).to.equal(200);
  });

  it('ACP-02 check each of 20 roles', async () => {
    const refused = await post(manager, aPolicy('many', { roleRefs: roles }));
    expect(refused.status).to.equal(403);
    expect(messageOf(refused)).to.include('"r19"');
    expect((await post(manager, aPolicy('many', { roleRefs: [...roles.slice(0, 19), 'view'] }))).status).to.equal(201);
  });

  it('ACP-03 let a caller without bind change labels, and write the same spec again', async () => {
    await post(manager, aPolicy('labelled'));
    const { body } = await alice.call('GET', `${policiesPath}/labelled`);

    expect((await patch(alice, 'labelled', { metadata: { labels: { team: 'shop' } } })).status).to.equal(200);
    expect((await patch(alice, 'labelled', { spec: (body as Manifest).spec })).status).to.equal(200);
    expect((await alice.call('DELETE', `${policiesPath}/labelled`)).status).to.equal(200);
  });

  it('JIT-04 let no administrator write or delete a request, its status, or the status of a policy', async () => {
    const name = 'areq-00000000000000a1';
    await post(manager, aPolicy('of-admin'));
    expect((await admin.call('POST', requestsPath, aRequest(name))).status).to.equal(403);
    expect((await admin.call('POST', requestsPath, aRequest(name), asService)).status).to.equal(201);

    const answers = [
      await admin.call('PATCH', `${requestsPath}/${name}`, { metadata: { labels: { a: 'b' } } }, mergePatch),
      await admin.call('PATCH', `${requestsPath}/${name}/status`, { status: { phase: 'Pending' } }, mergePatch),
      await admin.call('DELETE', `${requestsPath}/${name}`),
      await admin.call('DELETE', requestsPath),
      await admin.call('PATCH', `${policiesPath}/of-admin/status`, { status: { observedGeneration: 7 } }, mergePatch),
    ];

    expect(answers.map(({ status }) => status)).to.deep.equal([403, 403, 403, 403, 403]);
    expect((await admin.call('GET', `${requestsPath}/${name}`)).status).to.equal(200);
  });

  it('JIT-04 keep the bindings of requests, and their names, for the service', async () => {
    const request = { name: 'areq-1', uid: 'uid-1', recordUID: 'u-1' };
    const expiresAt = '2040-01-01T00:00:00Z';
    const create = async (name: string, spec: object, headers = {}) =>
      (await admin.call('POST', bindingsPath, aBinding(name, { expiresAt, ...spec }), headers)).status;

    expect(await create('ar-uid-1', { request })).to.equal(403);
    expect(await create('ar-other', {})).to.equal(403);
    expect(await create('other', { request })).to.equal(403);
    expect(await create('other', { request }, asService)).to.equal(422);
    expect(await create('ar-uid-1', { request, expiresAt: undefined }, asService)).to.equal(422);
    expect(await create('ar-uid-1', { request }, asService)).to.equal(201);
  });

  it('JIT-02 let no account extend the access of a request', async () => {
    const request = { name: 'areq-2', uid: 'uid-2', recordUID: 'u-1' };
    const path = `${bindingsPath}/ar-uid-2`;
    const manifest = aBinding('ar-uid-2', { expiresAt: '2040-01-01T00:00:00Z', request });
    expect((await admin.call('POST', bindingsPath, manifest, asService)).status).to.equal(201);
    const change = async (spec: object, headers = {}) => (await admin.call('PATCH', path, { spec }, { ...mergePatch, ...headers })).status;

    for (const headers of [{}, asService]) {
      expect(await change({ expiresAt: '2041-01-01T00:00:00Z' }, headers)).to.equal(403);
      expect(await change({ expiresAt: null }, headers)).to.be.oneOf([403, 422]);
      expect(await change({ subjects: [user('jane'), user('bob')] }, headers)).to.equal(403);
      expect(await change({ request: null }, headers)).to.be.oneOf([403, 422]);
      expect(await change({ request: { ...request, recordUID: 'u-2' } }, headers)).to.be.oneOf([403, 422]);
    }
    expect(await change({ expiresAt: '2039-01-01T00:00:00Z' })).to.equal(200);
  });

  describe('JIT-11 the definition of AccessRequests', () => {
    const time = '2030-01-01T00:00:00Z';
    const begin = '2030-01-01T00:00:00Z';
    const until = '2030-01-01T00:10:00Z';
    const decision = { by: 'carl@example.com', record: nameOf('carl@example.com'), approve: true, isVoid: false, time };
    let serial = 0;
    const newRequest = async (spec = {}) => {
      serial += 1;
      const name = `areq-${serial.toString(16).padStart(16, 'f')}`;
      expect((await admin.call('POST', requestsPath, aRequest(name, spec), asService)).status).to.equal(201);
      return (status: object | null) => admin.call('PATCH', `${requestsPath}/${name}/status`, { status }, { ...mergePatch, ...asService });
    };
    const accepted = async (write: (status: object | null) => Promise<Answer>, status: object) => {
      const answer = await write(status);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    };
    const refused = async (write: (status: object | null) => Promise<Answer>, status: object | null, text: string) => {
      const answer = await write(status);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(422);
      expect(messageOf(answer)).to.include(text);
    };

    it('refuses another begin than Pending or Approving, and an empty status later', async () => {
      const write = await newRequest();
      await refused(write, { phase: 'Active', begin, until }, 'a request begins as Pending or Approving');
      await accepted(write, { phase: 'Pending' });
      await refused(write, null, 'the status is kept');
    });

    it('refuses a decision of the requester, access without approvals, and access without an end', async () => {
      const write = await newRequest();
      await accepted(write, { phase: 'Pending' });
      const own = { ...decision, record: nameOf('jane@example.com') };
      await refused(write, { decisions: [own] }, 'requesters do not decide on their own request');
      await refused(write, { phase: 'Approving', begin, until }, 'approvals are missing');
      await refused(write, { phase: 'Approving', begin, until, decisions: [{ ...decision, isVoid: true }] }, 'approvals are missing');
      await refused(write, { phase: 'Approving', decisions: [decision] }, 'begin and until are missing');
      await refused(write, { phase: 'Approving', begin, until: '2030-01-01T00:10:01Z', decisions: [decision] }, 'longer than');
      await accepted(write, { phase: 'Approving', begin, until, decisions: [decision] });
    });

    it('refuses to unvoid or drop a decision, to move the begin, and to put off the end', async () => {
      const write = await newRequest();
      const voided = { ...decision, record: nameOf('bob@example.com'), isVoid: true };
      await accepted(write, { phase: 'Approving', begin, until, decisions: [decision, voided] });
      await refused(write, { decisions: [decision, { ...voided, isVoid: false }] }, 'decisions are kept');
      await refused(write, { decisions: [decision] }, 'decisions are kept');
      await refused(write, { begin: '2030-01-01T00:00:01Z' }, 'the begin is kept');
      await refused(write, { until: '2030-01-01T00:10:00.5Z' }, 'status.until');
      await accepted(write, { until: '2030-01-01T00:09:00Z' });
      await refused(write, { until }, 'the end is never put off');
    });

    it('JIT-03 lets break-glass begin without approvals, and have one review, of another person', async () => {
      const { approve: _approve, isVoid: _isVoid, ...review } = decision;
      const write = await newRequest({ breakGlass: true });
      await accepted(write, { phase: 'Approving', begin, until });
      await accepted(write, { phase: 'Active' });
      await refused(write, { review: { ...review, record: nameOf('jane@example.com') } }, 'reviewed by another person');
      await accepted(write, { review });
      await refused(write, { review: { ...review, record: nameOf('bob@example.com') } }, 'a review is kept');
      await refused(write, { review: null }, 'a review is kept');
      await accepted(write, { phase: 'Ended' });

      const other = await newRequest();
      await accepted(other, { phase: 'Approving', begin, until, decisions: [decision] });
      await refused(other, { review }, 'reviewed by another person');
    });

    it('refuses to leave a final phase, and a denial beside another phase', async () => {
      const write = await newRequest();
      await accepted(write, { phase: 'Pending' });
      await refused(write, { decisions: [{ ...decision, approve: false }] }, 'one denial ends the request');
      await refused(write, { phase: 'Active', begin, until, decisions: [decision] }, 'does not follow');
      await accepted(write, { phase: 'Denied', decisions: [{ ...decision, approve: false }] });
      for (const phase of ['Pending', 'Approving', 'Ended'])
        await refused(write, { phase, begin, until, decisions: [decision] }, 'does not follow');
    });
  });
});
