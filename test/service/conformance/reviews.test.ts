import { expect } from 'chai';
import type { ApiClient } from './api-client.ts';
import { eventually } from './eventually.ts';
import { suiteWorkspace } from './workspace.ts';

const authorization = '/apis/authorization.k8s.io/v1';
const authentication = '/apis/authentication.k8s.io/v1';
const accessReviews = `${authorization}/selfsubjectaccessreviews`;

const aReview = (spec: Record<string, unknown>) => ({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec });

describe('reviews', () => {
  const { workspace, admin } = suiteWorkspace();
  let alice: ApiClient;
  let bob: ApiClient;
  const rbacIn = (namespace: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  before(async () => {
    [alice, bob] = await Promise.all([workspace.as('alice'), workspace.as('bob')]);
    const rules = [
      { apiGroups: ['conformance.example.com'], resources: ['widgets', 'widgets/status'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'], verbs: ['update'] },
    ];
    await admin.create(`${rbacIn(workspace.namespace)}/roles`, { metadata: { name: 'reviewed' }, rules });
    await admin.create(`${rbacIn(workspace.namespace)}/rolebindings`, {
      metadata: { name: 'reviewed' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reviewed' },
    });
    await eventually(async () => expect((await alice.get(workspace.widgets)).status).to.equal(200));
  });

  describe('SelfSubjectAccessReview', () => {
    const allowed = async (client: ApiClient, spec: Record<string, unknown>) => {
      const answer = await client.post(accessReviews, aReview(spec));
      expect(answer.status, answer.text).to.equal(201);
      return answer.body;
    };
    const widgets = (more: Record<string, unknown>) => ({
      resourceAttributes: { namespace: workspace.namespace, group: 'conformance.example.com', resource: 'widgets', verb: 'get', ...more },
    });

    it('says what a caller may do with a resource, repeating the question', async () => {
      const answer = await alice.post(accessReviews, aReview(widgets({})));

      expect(answer.status).to.equal(201);
      expect(answer.body).to.deep.include({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: widgets({}) });
      expect(answer.body).to.have.nested.property('status.allowed', true);
      expect(answer.body).to.have.nested.property('status.reason').that.includes('reviewed');
    });

    it('says no, without telling why not', async () => {
      const body = await allowed(bob, widgets({}));

      expect(body).to.have.nested.property('status.allowed', false);
      expect(body).not.to.have.nested.property('status.denied');
    });

    it('minds verb, namespace, group, subresource and name', async () => {
      const questions: [Record<string, unknown>, boolean][] = [
        [widgets({ verb: 'list' }), true],
        [widgets({ subresource: 'status' }), true],
        [widgets({ name: 'any' }), true],
        [widgets({ verb: 'delete' }), false],
        [widgets({ namespace: 'default' }), false],
        [widgets({ namespace: '' }), false],
        [widgets({ group: '' }), false],
        [widgets({ subresource: 'scale' }), false],
        [{ resourceAttributes: { namespace: workspace.namespace, resource: 'configmaps', verb: 'update', name: 'one' } }, true],
        [{ resourceAttributes: { namespace: workspace.namespace, resource: 'configmaps', verb: 'update', name: 'two' } }, false],
        [{ resourceAttributes: { namespace: workspace.namespace, resource: 'configmaps', verb: 'update' } }, false],
      ];
      for (const [question, expected] of questions) {
        expect(await allowed(alice, question), JSON.stringify(question)).to.have.nested.property('status.allowed', expected);
      }
    });

    it('takes a star in the question as every verb or resource', async () => {
      const everything = { resourceAttributes: { group: '*', resource: '*', verb: '*' } };

      expect(await allowed(admin, everything)).to.have.nested.property('status.allowed', true);
      expect(await allowed(alice, everything)).to.have.nested.property('status.allowed', false);
      expect(await allowed(alice, widgets({ verb: '*' }))).to.have.nested.property('status.allowed', false);
    });

    it('says what a caller may do with a path', async () => {
      const version = { nonResourceAttributes: { path: '/version', verb: 'get' } };
      const metrics = { nonResourceAttributes: { path: '/metrics', verb: 'get' } };

      expect(await allowed(alice, version)).to.have.nested.property('status.allowed', true);
      expect(await allowed(alice, metrics)).to.have.nested.property('status.allowed', false);
      expect(await allowed(admin, metrics)).to.have.nested.property('status.allowed', true);
    });

    it('answers for the caller, whatever user the body names', async () => {
      const body = await allowed(bob, { ...widgets({}), user: 'alice', groups: ['system:masters'] });

      expect(body).to.have.nested.property('status.allowed', false);
    });

    it('refuses both kinds of attributes at once, and neither', async () => {
      const both = { ...widgets({}), nonResourceAttributes: { path: '/version', verb: 'get' } };
      for (const spec of [both, {}]) {
        const answer = await alice.post(accessReviews, aReview(spec));

        expect(answer.status).to.equal(422);
        expect(answer.body).to.include({ kind: 'Status', reason: 'Invalid' });
        expect(answer.body).to.have.nested.property('details.group', 'authorization.k8s.io');
        expect(answer.body).to.have.nested.property('details.causes[0].reason', 'FieldValueInvalid');
      }
      const answers = await Promise.all([both, {}].map((spec) => alice.post(accessReviews, aReview(spec))));
      expect(answers[0]?.body).to.have.nested.property('details.causes[0].field', 'spec.nonResourceAttributes');
      expect(answers[1]?.body).to.have.nested.property('details.causes[0].field', 'spec.resourceAttributes');
    });

    it('refuses a question of the wrong type', async () => {
      const answer = await alice.post(accessReviews, aReview({ resourceAttributes: { verb: 7 } }));

      expect(answer.status).to.equal(400);
      expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
    });

    it('refuses another kind of review in the body', async () => {
      const answer = await alice.post(accessReviews, { ...aReview(widgets({})), kind: 'SubjectAccessReview' });

      expect(answer.status).to.equal(400);
    });

    it('can only be created', async () => {
      expect((await admin.get(accessReviews)).status).to.equal(405);
    });
  });

  describe('SelfSubjectRulesReview', () => {
    const rulesOf = (client: ApiClient, namespace: string) =>
      client.post(`${authorization}/selfsubjectrulesreviews`, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectRulesReview',
        spec: { namespace },
      });

    it('lists the rules that hold for the caller in a namespace', async () => {
      const answer = await rulesOf(alice, workspace.namespace);

      expect(answer.status).to.equal(201);
      expect(answer.body).to.have.nested.property('status.incomplete', false);
      const rules = expect(answer.body).to.have.nested.property('status.resourceRules').that.is.an('array');
      rules.that.deep.includes({
        verbs: ['get', 'list'],
        apiGroups: ['conformance.example.com'],
        resources: ['widgets', 'widgets/status'],
      });
      rules.that.deep.includes({ verbs: ['update'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'] });
      expect(answer.text).to.include('selfsubjectaccessreviews');
      expect(answer.body).to.have.nested.property('status.nonResourceRules').that.is.an('array');
      expect(answer.text).to.include('/healthz');
    });

    it('lists nothing of another namespace', async () => {
      expect((await rulesOf(alice, 'default')).text).not.to.include('conformance.example.com');
    });

    it('lists a star for users with all permissions', async () => {
      const answer = await rulesOf(admin, 'default');

      expect(answer.body)
        .to.have.nested.property('status.resourceRules')
        .that.deep.includes({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] });
    });

    it('requires a namespace', async () => {
      const answer = await rulesOf(alice, '');

      expect(answer.status).to.equal(400);
      expect(answer.body).to.have.property('message', 'no namespace on request');
    });
  });

  describe('SubjectAccessReview', () => {
    const spec = () => ({
      user: 'alice',
      resourceAttributes: { namespace: workspace.namespace, group: 'conformance.example.com', resource: 'widgets', verb: 'get' },
    });
    const post = (client: ApiClient, body: Record<string, unknown>) =>
      client.post(`${authorization}/subjectaccessreviews`, {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: body,
      });

    it('answers callers who may ask about another user', async () => {
      expect((await post(admin, spec())).body).to.have.nested.property('status.allowed', true);
      expect((await post(admin, { ...spec(), user: 'bob' })).body).to.have.nested.property('status.allowed', false);
      expect((await post(admin, { ...spec(), user: 'bob', groups: ['system:masters'] })).body).to.have.nested.property(
        'status.allowed',
        true,
      );
    });

    it('is forbidden to callers without permission', async () => {
      expect((await post(bob, spec())).status).to.equal(403);
    });
  });

  describe('LocalSubjectAccessReview', () => {
    const post = (client: ApiClient, namespace: string) =>
      client.post(`${authorization}/namespaces/${workspace.namespace}/localsubjectaccessreviews`, {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'LocalSubjectAccessReview' },
        spec: { user: 'alice', resourceAttributes: { namespace, group: 'conformance.example.com', resource: 'widgets', verb: 'get' } },
      });

    it('answers for its own namespace alone, with the binding as the reason', async () => {
      const { body } = await post(admin, workspace.namespace);
      expect(body).to.deep.include({ kind: 'LocalSubjectAccessReview' });
      expect(body).to.have.nested.property('status.allowed', true);
      expect((body as { status: { reason: string } }).status.reason).to.match(
        /^RBAC: allowed by RoleBinding "reviewed\/\S+" of Role "reviewed" to User "alice"$/,
      );
      const elsewhere = await post(admin, 'default');
      expect(elsewhere.status).to.equal(422);
      expect((elsewhere.body as { details: object }).details).to.have.nested.property(
        'causes[0].field',
        'spec.resourceAttributes.namespace',
      );
      expect((elsewhere.body as { message: string }).message).to.contain('Invalid value: "default": must match metadata.namespace');
      expect((await post(bob, workspace.namespace)).status).to.equal(403);
    });
  });

  describe('SelfSubjectReview', () => {
    it('says who the caller is', async () => {
      const answer = await alice.post(`${authentication}/selfsubjectreviews`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'SelfSubjectReview',
      });

      expect(answer.status).to.equal(201);
      expect(answer.body).to.include({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' });
      expect(answer.body).to.have.nested.property('status.userInfo.username', 'alice');
      expect(answer.body).to.have.nested.property('status.userInfo.groups').that.deep.equals(['system:authenticated']);
    });
  });

  describe('TokenReview', () => {
    const review = (client: ApiClient, token: string) =>
      client.post(`${authentication}/tokenreviews`, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } });

    it('returns the user of a token', async () => {
      const answer = await review(admin, await workspace.server.token('alice'));

      expect(answer.status).to.equal(201);
      expect(answer.body).to.have.nested.property('status.authenticated', true);
      expect(answer.body).to.have.nested.property('status.user.username', 'alice');
      expect(answer.body).to.have.nested.property('status.user.groups').that.includes('system:authenticated');
    });

    it('does not authenticate an unknown token', async () => {
      const answer = await review(admin, 'unknown');

      expect(answer.status).to.equal(201);
      expect(answer.body).not.to.have.nested.property('status.authenticated', true);
      expect(answer.body).not.to.have.nested.property('status.user.username');
    });

    it('is forbidden to callers without permission to ask', async () => {
      expect((await review(bob, 'unknown')).status).to.equal(403);
    });
  });
});
