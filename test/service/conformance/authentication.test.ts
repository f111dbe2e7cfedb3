import { expect } from 'chai';
import { ApiClient } from './api-client.ts';
import { eventually } from './eventually.ts';
import { suiteWorkspace } from './workspace.ts';

const unauthorized = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'Unauthorized',
  reason: 'Unauthorized',
  code: 401,
};
const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const selfReview = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

describe('authentication', () => {
  const { workspace, admin } = suiteWorkspace();
  const clients: ApiClient[] = [];
  after(async () => {
    for (const client of clients) await client.close();
  });

  const withToken = (token: string | undefined) => {
    const client = new ApiClient(workspace.server, token);
    clients.push(client);
    return client;
  };

  describe('without a token', () => {
    it('is system:anonymous, with almost no permissions', async () => {
      const answer = await withToken(undefined).get('/api/v1/namespaces');

      expect(answer.status).to.equal(403);
      expect(answer.body).to.deep.include({
        reason: 'Forbidden',
        message: 'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope',
      });
    });

    it('sees version and health, but no discovery', async () => {
      const anonymous = withToken(undefined);

      for (const path of ['/version', '/livez', '/readyz', '/healthz']) expect((await anonymous.get(path)).status, path).to.equal(200);
      expect((await anonymous.get('/api')).body).to.have.property('message', 'forbidden: User "system:anonymous" cannot get path "/api"');
    });

    it('cannot distinguish existing from missing objects', async () => {
      const anonymous = withToken(undefined);

      expect((await anonymous.get('/apis/nothing.example.com/v1/things')).status).to.equal(403);
      expect((await anonymous.get('/nothing')).status).to.equal(403);
    });
  });

  it('answers 401 to a token it does not know, also where no token would do', async () => {
    for (const path of ['/api/v1/namespaces', '/version', '/nothing']) {
      const answer = await withToken('not-a-token').get(path);

      expect(answer.status).to.equal(401);
      expect(answer.headers['content-type']).to.equal('application/json');
      expect(answer.body).to.deep.equal(unauthorized);
    }
  });

  it('takes the word Bearer in any case', async () => {
    const token = await workspace.server.token('admin');
    const answer = await withToken(undefined).send('GET', '/api', { headers: { authorization: `bearer ${token}` } });

    expect(answer.status).to.equal(200);
  });

  it('treats a scheme other than Bearer as a missing token', async () => {
    const answer = await withToken(undefined).send('GET', '/api/v1/namespaces', { headers: { authorization: 'Basic YTpi' } });

    expect(answer.status).to.equal(403);
    expect(answer.text).to.include('system:anonymous');
  });

  describe('impersonation', () => {
    const as = (user: string, more: Record<string, string> = {}) => ({ headers: { 'impersonate-user': user, ...more } });

    it('makes a permitted caller another user, with groups, uid and extra', async () => {
      const more = { 'impersonate-group': 'crew', 'impersonate-uid': 'u-1', 'impersonate-extra-reason': 'testing' };
      const answer = await admin.send('POST', whoAmI, { body: selfReview, ...as('bob', more) });

      expect(answer.status).to.equal(201);
      expect(answer.body)
        .to.have.nested.property('status.userInfo')
        .that.deep.equals({
          username: 'bob',
          uid: 'u-1',
          groups: ['crew', 'system:authenticated'],
          extra: { reason: ['testing'] },
        });
    });

    it('removes the permissions of the caller', async () => {
      const answer = await admin.send('GET', '/api/v1/namespaces', as('bob'));

      expect(answer.status).to.equal(403);
      expect(answer.body).to.have.property('message').that.includes('User "bob" cannot list');
    });

    it('makes a service account a member of its groups', async () => {
      const answer = await admin.send('POST', whoAmI, { body: selfReview, ...as('system:serviceaccount:default:robot') });

      expect(answer.body)
        .to.have.nested.property('status.userInfo.groups')
        .that.has.members(['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated']);
    });

    it('is forbidden to callers without permission', async () => {
      const alice = await workspace.as('alice');
      const answer = await alice.send('GET', '/version', as('admin'));

      expect(answer.status).to.equal(403);
      expect(answer.body).to.have.property('message').that.includes('User "alice" cannot impersonate');
    });

    it('is limited to the granted uses of the verb impersonate', async () => {
      const name = `${workspace.namespace}-impersonate`;
      const rules = [{ apiGroups: [''], resources: ['users'], resourceNames: ['dave'], verbs: ['impersonate'] }];
      const rbac = '/apis/rbac.authorization.k8s.io/v1';
      await admin.create(`${rbac}/clusterroles`, { metadata: { name }, rules });
      await admin.create(`${rbac}/clusterrolebindings`, {
        metadata: { name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'carol' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      });
      const carol = await workspace.as('carol');
      const review = (headers: ReturnType<typeof as>) => carol.send('POST', whoAmI, { body: selfReview, ...headers });

      const answer = await eventually(async () => {
        const reviewed = await review(as('dave'));
        expect(reviewed.status).to.equal(201);
        return reviewed;
      });
      expect(answer.body).to.have.nested.property('status.userInfo.username', 'dave');
      expect((await review(as('erin'))).status).to.equal(403);
      expect((await review(as('dave', { 'impersonate-group': 'system:masters' }))).status).to.equal(403);
      await admin.delete(`${rbac}/clusterrolebindings/${name}`);
      await admin.delete(`${rbac}/clusterroles/${name}`);
    });

    it('is limited by constrained impersonation to users, verbs and resources', async () => {
      const name = `${workspace.namespace}-constrained`;
      const group = 'authentication.k8s.io';
      const rules = [
        { apiGroups: [group], resources: ['users'], resourceNames: ['dave'], verbs: ['impersonate:user-info'] },
        { apiGroups: [group], resources: ['groups', 'uids'], resourceNames: ['crew', 'u-1'], verbs: ['impersonate:user-info'] },
        { apiGroups: [group], resources: ['selfsubjectreviews'], verbs: ['impersonate-on:user-info:create'] },
        { nonResourceURLs: ['/version'], verbs: ['impersonate-on:user-info:get'] },
        { apiGroups: [group], resources: ['serviceaccounts'], resourceNames: ['robot'], verbs: ['impersonate:serviceaccount'] },
        { apiGroups: [group], resources: ['selfsubjectreviews'], verbs: ['impersonate-on:serviceaccount:create'] },
      ];
      const rbac = '/apis/rbac.authorization.k8s.io/v1';
      await admin.create(`${rbac}/clusterroles`, { metadata: { name }, rules });
      await admin.create(`${rbac}/clusterrolebindings`, {
        metadata: { name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      });
      const bob = await workspace.as('bob');
      const review = (headers: ReturnType<typeof as>) => bob.send('POST', whoAmI, { body: selfReview, ...headers });
      const answer = await eventually(async () => {
        const reviewed = await review(as('dave', { 'impersonate-group': 'crew', 'impersonate-uid': 'u-1' }));
        expect(reviewed.status).to.equal(201);
        return reviewed;
      });
      expect(answer.body).to.have.nested.property('status.userInfo').that.deep.includes({ username: 'dave', uid: 'u-1' });
      expect((await bob.send('GET', '/version', as('dave'))).status).to.equal(200);
      expect((await review(as('system:serviceaccount:default:robot'))).status).to.equal(201);

      for (const refused of [
        as('erin'),
        as('dave', { 'impersonate-group': 'other' }),
        as('dave', { 'impersonate-uid': 'u-2' }),
        as('dave', { 'impersonate-group': 'system:masters' }),
        as('system:node:worker'),
        as('system:serviceaccount:default:robot', { 'impersonate-group': 'crew' }),
      ])
        expect((await review(refused)).status, JSON.stringify(refused)).to.equal(403);
      const list = await bob.send('GET', '/api/v1/namespaces', as('dave'));
      expect(list.status).to.equal(403);
      expect(list.body).to.have.property('message').that.includes('User "bob" cannot impersonate-on:user-info:list resource "namespaces"');
      await admin.delete(`${rbac}/clusterrolebindings/${name}`);
      await admin.delete(`${rbac}/clusterroles/${name}`);
    });

    it('needs a user name', async () => {
      const answer = await admin.send('GET', '/api/v1/namespaces', { headers: { 'impersonate-group': 'crew' } });

      expect(answer.status).to.be.oneOf([400, 500]);
      expect(answer.text).to.include('without impersonating a user');
    });
  });

  it('ignores identity headers of proxies that are not trusted', async () => {
    const headers = { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' };
    const answer = await withToken(undefined).send('GET', '/api/v1/namespaces', { headers });

    expect(answer.status).to.equal(403);
    expect(answer.text).to.include('system:anonymous');
  });
});
