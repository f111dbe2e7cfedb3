import { aggregateClusterRoles } from '@atrium/embedded-cluster/aggregation.ts';
import type { KubernetesObject, StoredObject } from '@atrium/embedded-cluster/objects.ts';
import { type AccessAttributes, Rbac } from '@atrium/embedded-cluster/rbac.ts';
import { Store } from '@atrium/embedded-cluster/store.ts';
import { expect } from 'chai';
import { ada, clusterBinding, clusterRole, Objects, rule, toUser } from './rbac-objects.ts';

describe('an aggregated ClusterRole', () => {
  let objects: Objects;
  let rbac: Rbac;
  beforeEach(() => {
    objects = new Objects();
    rbac = new Rbac(objects);
  });
  const may = (who: typeof ada, attributes: AccessAttributes) => rbac.authorize(who, attributes).allowed;

  const collection = 'rbac.authorization.k8s.io/clusterroles';
  /** Aggregates like the cluster, which writes the rules into the roles, until they are stable. */
  const settle = () => {
    const store = new Store();
    const roles = objects.list('clusterroles') as KubernetesObject[];
    for (const role of roles)
      store.put(collection, { ...role, metadata: { ...role.metadata, uid: '', creationTimestamp: '' } } as StoredObject);
    for (let before = 0; before !== store.revision; aggregateClusterRoles(store)) before = store.revision;
    objects.remove('clusterroles');
    objects.add('clusterroles', ...(store.list(collection) ?? []));
  };
  const aggregated = (name: string, ...clusterRoleSelectors: unknown[]) =>
    clusterRole(name, [], { aggregationRule: { clusterRoleSelectors } });
  const labelled = (name: string, labels: Record<string, string>, resource: string) => ({
    metadata: { name, labels },
    rules: [rule(['get'], [''], [resource])],
  });

  it('has the rules of every role that a selector matches', () => {
    objects.add('clusterroles', labelled('a', { to: 'view' }, 'pods'), labelled('b', { to: 'edit', tier: 'x' }, 'secrets'));
    objects.add('clusterroles', labelled('c', {}, 'nodes'));
    objects.add(
      'clusterroles',
      aggregated(
        'all',
        { matchLabels: { to: 'view' } },
        {
          matchExpressions: [
            { key: 'to', operator: 'In', values: ['edit'] },
            { key: 'tier', operator: 'Exists' },
          ],
        },
      ),
    );
    objects.add('clusterrolebindings', clusterBinding('all', 'all', toUser('ada')));
    settle();

    expect(may(ada, { verb: 'get', resource: 'pods' })).to.equal(true);
    expect(may(ada, { verb: 'get', resource: 'secrets' })).to.equal(true);
    expect(may(ada, { verb: 'get', resource: 'nodes' })).to.equal(false);
    objects.add('clusterroles', labelled('d', { to: 'view' }, 'nodes'));
    settle();
    expect(may(ada, { verb: 'get', resource: 'nodes' })).to.equal(true);
  });

  it('follows roles that are aggregated themselves, and gets out of a circle', () => {
    objects.add('clusterroles', {
      ...aggregated('upper', { matchLabels: { to: 'upper' } }),
      metadata: { name: 'upper', labels: { to: 'lower' } },
    });
    objects.add('clusterroles', {
      ...aggregated('lower', { matchLabels: { to: 'lower' } }),
      metadata: { name: 'lower', labels: { to: 'upper' } },
    });
    objects.add('clusterroles', labelled('leaf', { to: 'lower' }, 'pods'));
    objects.add('clusterrolebindings', clusterBinding('upper', 'upper', toUser('ada')));
    settle();

    expect(may(ada, { verb: 'get', resource: 'pods' })).to.equal(true);
  });

  it('has no rules without a selector, not even its own', () => {
    const rules = [rule(['*'], ['*'], ['*'])];
    objects.add('clusterroles', clusterRole('none', rules, { aggregationRule: {} }), clusterRole('other', rules));
    objects.add('clusterrolebindings', clusterBinding('none', 'none', toUser('ada')));
    settle();

    expect(may(ada, { verb: 'get', resource: 'pods' })).to.equal(false);
  });
});
