import { type AccessAttributes, Rbac } from '@atrium/embedded-cluster/rbac.ts';
import { expect } from 'chai';
import { ada, binding, clusterBinding, clusterRole, Objects, rule, toUser, user } from './rbac-objects.ts';

describe('RBAC', () => {
  let objects: Objects;
  let rbac: Rbac;
  beforeEach(() => {
    objects = new Objects();
    rbac = new Rbac(objects);
  });

  const may = (who: typeof ada, attributes: AccessAttributes) => rbac.authorize(who, attributes).allowed;

  /** Grants the rules to ada alone. */
  function grant(...rules: unknown[]) {
    objects.add('clusterroles', clusterRole('tested', rules));
    objects.add('clusterrolebindings', clusterBinding('tested', 'tested', toUser('ada')));
  }

  it('refuses a request that no rule allows, without a reason', () => {
    expect(rbac.authorize(ada, { verb: 'get', resource: 'pods' })).to.deep.equal({ allowed: false, reason: '' });
  });

  it('allows everything to system:masters', () => {
    expect(rbac.authorize(user('root', 'system:masters'), { verb: 'delete', path: '/' })).to.deep.equal({ allowed: true, reason: '' });
  });

  describe('rules', () => {
    it('name verb, group and resource', () => {
      grant(rule(['get', 'list'], ['apps'], ['deployments']));

      expect(may(ada, { verb: 'get', group: 'apps', resource: 'deployments', namespace: 'shop', name: 'till' })).to.equal(true);
      expect(may(ada, { verb: 'list', group: 'apps', resource: 'deployments' })).to.equal(true);
      expect(may(ada, { verb: 'watch', group: 'apps', resource: 'deployments' })).to.equal(false);
      expect(may(ada, { verb: 'get', group: 'batch', resource: 'deployments' })).to.equal(false);
      expect(may(ada, { verb: 'get', resource: 'deployments' })).to.equal(false);
      expect(may(ada, { verb: 'get', group: 'apps', resource: 'deployment' })).to.equal(false);
      expect(may(user('eve'), { verb: 'get', group: 'apps', resource: 'deployments' })).to.equal(false);
    });

    it('take * for all verbs, groups or resources', () => {
      grant(rule(['*'], [''], ['pods']), rule(['get'], ['*'], ['widgets']), rule(['get'], ['all'], ['*']));

      expect(may(ada, { verb: 'bind', resource: 'pods' })).to.equal(true);
      expect(may(ada, { verb: 'get', group: 'any', resource: 'widgets' })).to.equal(true);
      expect(may(ada, { verb: 'get', group: 'all', resource: 'things', subresource: 'status' })).to.equal(true);
      expect(may(ada, { verb: 'get', path: '/metrics' })).to.equal(false);
    });

    it('name subresources apart from their resource', () => {
      grant(rule(['get'], [''], ['pods', 'services/status', '*/']), rule(['create'], [''], ['*/scale']));

      expect(may(ada, { verb: 'get', resource: 'pods', subresource: 'log' })).to.equal(false);
      expect(may(ada, { verb: 'get', resource: 'services', subresource: 'status' })).to.equal(true);
      expect(may(ada, { verb: 'get', resource: 'services' })).to.equal(false);
      expect(may(ada, { verb: 'create', resource: 'anything', subresource: 'scale' })).to.equal(true);
      expect(may(ada, { verb: 'create', resource: 'anything' })).to.equal(false);
      expect(may(ada, { verb: 'create', resource: 'anything', subresource: 'autoscale' })).to.equal(false);
    });

    it('may be for single names, and then not for a list or a creation', () => {
      grant(rule(['get', 'list', 'create'], [''], ['configmaps'], ['logo', 'icon']));

      expect(may(ada, { verb: 'get', resource: 'configmaps', name: 'icon' })).to.equal(true);
      expect(may(ada, { verb: 'get', resource: 'configmaps', name: 'other' })).to.equal(false);
      expect(may(ada, { verb: 'list', resource: 'configmaps' })).to.equal(false);
      expect(may(ada, { verb: 'create', resource: 'configmaps', name: '' })).to.equal(false);
    });

    it('name paths, whole or up to a *', () => {
      grant({ verbs: ['get'], nonResourceURLs: ['/healthz', '/logs/*', '/ver*'] });

      expect(may(ada, { verb: 'get', path: '/healthz' })).to.equal(true);
      expect(may(ada, { verb: 'get', path: '/healthz/etcd' })).to.equal(false);
      expect(may(ada, { verb: 'get', path: '/logs/a/b' })).to.equal(true);
      expect(may(ada, { verb: 'get', path: '/logs' })).to.equal(false);
      expect(may(ada, { verb: 'get', path: '/version' })).to.equal(true);
      expect(may(ada, { verb: 'post', path: '/version' })).to.equal(false);
      expect(may(ada, { verb: 'get', resource: 'healthz' })).to.equal(false);
    });

    it('never allow a resource with the name of an allowed path', () => {
      grant({ verbs: ['*'], nonResourceURLs: ['*'] });

      expect(may(ada, { verb: 'get', path: '/anything' })).to.equal(true);
      expect(may(ada, { verb: 'get', resource: '*' })).to.equal(false);
    });
  });

  describe('bindings', () => {
    beforeEach(() => objects.add('clusterroles', clusterRole('reader', [rule(['get'], [''], ['pods'])])));

    it('hold in every namespace and at the cluster scope, if they are of the cluster', () => {
      objects.add('clusterrolebindings', clusterBinding('readers', 'reader', toUser('eve'), { kind: 'Group', name: 'staff' }));

      for (const namespace of [undefined, '', 'shop', 'till']) {
        expect(rbac.authorize(ada, { verb: 'get', resource: 'pods', ...(namespace !== undefined && { namespace }) })).to.deep.equal({
          allowed: true,
          reason: 'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "staff"',
        });
      }
    });

    it('hold only in their namespace, for both kinds of role', () => {
      objects.add('roles', { metadata: { name: 'writer', namespace: 'shop' }, rules: [rule(['update'], [''], ['pods'])] });
      objects.add('roles', { metadata: { name: 'writer', namespace: 'till' }, rules: [rule(['delete'], [''], ['pods'])] });
      objects.add('rolebindings', binding('readers', 'shop', 'ClusterRole', 'reader', toUser('ada')));
      objects.add('rolebindings', binding('writers', 'shop', 'Role', 'writer', toUser('ada')));

      expect(rbac.authorize(ada, { verb: 'get', resource: 'pods', namespace: 'shop' }).reason).to.equal(
        'RBAC: allowed by RoleBinding "readers/shop" of ClusterRole "reader" to User "ada"',
      );
      expect(rbac.authorize(ada, { verb: 'update', resource: 'pods', namespace: 'shop' }).reason).to.equal(
        'RBAC: allowed by RoleBinding "writers/shop" of Role "writer" to User "ada"',
      );
      expect(may(ada, { verb: 'delete', resource: 'pods', namespace: 'shop' })).to.equal(false);
      expect(may(ada, { verb: 'get', resource: 'pods', namespace: 'till' })).to.equal(false);
      expect(may(ada, { verb: 'get', resource: 'pods' })).to.equal(false);
    });

    it('name service accounts by namespace, or in their own', () => {
      objects.add(
        'rolebindings',
        binding(
          'readers',
          'shop',
          'ClusterRole',
          'reader',
          { kind: 'ServiceAccount', name: 'a' },
          { kind: 'ServiceAccount', name: 'b', namespace: 'till' },
        ),
      );
      objects.add('clusterrolebindings', clusterBinding('readers', 'reader', { kind: 'ServiceAccount', name: 'c' }));
      const account = (namespace: string, name: string) => user(`system:serviceaccount:${namespace}:${name}`);
      const question = { verb: 'get', resource: 'pods', namespace: 'shop' };

      expect(rbac.authorize(account('shop', 'a'), question).reason).to.equal(
        'RBAC: allowed by RoleBinding "readers/shop" of ClusterRole "reader" to ServiceAccount "a/shop"',
      );
      expect(may(account('till', 'b'), question)).to.equal(true);
      expect(may(account('shop', 'b'), question)).to.equal(false);
      expect(may(account('shop', 'c'), question)).to.equal(false);
      expect(may(user('a'), question)).to.equal(false);
    });

    it('give to a user nothing of a group that is called the same, nor the other way round', () => {
      objects.add('clusterrolebindings', clusterBinding('readers', 'reader', toUser('staff'), { kind: 'Group', name: 'ada' }));

      expect(may(ada, { verb: 'get', resource: 'pods' })).to.equal(false);
    });

    it('grant nothing without their role, and name it in the refusal', () => {
      objects.add('clusterrolebindings', clusterBinding('a', 'gone', toUser('ada')), clusterBinding('b', 'gone', toUser('ada')));
      objects.add('rolebindings', binding('c', 'shop', 'Role', 'lost', toUser('ada')));

      expect(rbac.authorize(ada, { verb: 'get', resource: 'pods' }).reason).to.equal(
        'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
      );
      expect(rbac.authorize(ada, { verb: 'get', resource: 'pods', namespace: 'shop' }).reason).to.equal(
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
      );
    });

    it('grant nothing if they or their roles cannot be read', () => {
      objects.add(
        'clusterroles',
        clusterRole('broken', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: 'one' }]),
        null,
      );
      objects.add('clusterrolebindings', clusterBinding('broken', 'broken', toUser('ada')), { metadata: { name: 'x' } });

      expect(may(ada, { verb: 'get', resource: 'pods' })).to.equal(false);
    });

    it('are followed from the moment they change', () => {
      const question = { verb: 'get', resource: 'pods' };
      expect(may(ada, question)).to.equal(false);
      objects.add('clusterrolebindings', clusterBinding('readers', 'reader', toUser('ada')));
      expect(may(ada, question)).to.equal(true);
      objects.remove('clusterrolebindings');
      expect(may(ada, question)).to.equal(false);
    });

    it('are read once for each change, not for each question', () => {
      objects.add('clusterrolebindings', clusterBinding('readers', 'reader', toUser('ada')));
      may(ada, { verb: 'get', resource: 'pods' });
      const { reads } = objects;
      for (let at = 0; at < 100; at += 1) may(user(`user-${at}`), { verb: 'get', resource: 'pods', namespace: 'shop' });

      expect(objects.reads).to.equal(reads);
    });
  });

  it('lists the rules of a user in a namespace', () => {
    grant(rule(['get'], [''], ['pods'], ['one']), { verbs: ['get'], nonResourceURLs: ['/metrics'] });
    objects.add('rolebindings', binding('here', 'shop', 'Role', 'lost', toUser('ada')));

    expect(rbac.rulesFor(ada, 'till')).to.deep.equal({
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['one'] }],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
      incomplete: false,
    });
    expect(rbac.rulesFor(ada, 'shop').evaluationError).to.equal('role.rbac.authorization.k8s.io "lost" not found');
    expect(rbac.rulesFor(user('eve'), 'shop')).to.deep.equal({ resourceRules: [], nonResourceRules: [], incomplete: false });
  });
});
