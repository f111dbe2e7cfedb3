import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { bindsRole, subjectForAccount } from '../../../web/src/pages/cluster/sections/rbac/bindings.ts';

const metadata = { name: 'it', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
const binding = (subject: object, namespace?: string): ClusterObject => ({
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: '', subjects: [subject], roleRef: { kind: 'ClusterRole', name: 'view' } },
  metadata: { ...metadata, ...(namespace && { namespace }) },
});
const role = (kind: string, name: string): ClusterObject => ({ apiVersion: '', kind, metadata: { ...metadata, name } });

describe('bindings of a role in the console', () => {
  it('are distinguished by kind and name: a Role and a ClusterRole of one name are two', () => {
    expect(bindsRole(role('ClusterRole', 'view'), binding({}))).to.equal(true);
    expect(bindsRole(role('Role', 'view'), binding({}))).to.equal(false);
    expect(bindsRole(role('ClusterRole', 'edit'), binding({}))).to.equal(false);
    expect(bindsRole(role('ClusterRole', 'view'), { ...binding({}), roleRef: null })).to.equal(false);
  });
});

describe('bindings of a ServiceAccount in the console', () => {
  const account: ClusterObject = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { ...metadata, name: 'robot', namespace: 'shop' } };
  const cases: [what: string, applies: boolean, of: ClusterObject][] = [
    ['the account', true, binding({ kind: 'ServiceAccount', name: 'robot', namespace: 'shop' }, 'other')],
    ['an account of another namespace', false, binding({ kind: 'ServiceAccount', name: 'robot', namespace: 'other' }, 'shop')],
    ['the user name of the account', true, binding({ kind: 'User', name: 'system:serviceaccount:shop:robot' })],
    ['a user with the name of the account', false, binding({ kind: 'User', name: 'robot' })],
    ['accounts of its namespace', true, binding({ kind: 'Group', name: 'system:serviceaccounts:shop' })],
    ['accounts of another namespace', false, binding({ kind: 'Group', name: 'system:serviceaccounts:shopping' })],
    ['all accounts', true, binding({ kind: 'Group', name: 'system:serviceaccounts' })],
    ['all authenticated users', true, binding({ kind: 'Group', name: 'system:authenticated' })],
    ['anonymous users', false, binding({ kind: 'Group', name: 'system:unauthenticated' })],
  ];
  for (const [what, applies, of] of cases)
    it(`${applies ? 'include' : 'leave out'} ${what}`, () => expect(subjectForAccount(account, of) !== undefined).to.equal(applies));

  it('name the account before its groups', () => {
    const both = binding({ kind: 'Group', name: 'system:authenticated' });
    both.subjects = [...(both.subjects as object[]), { kind: 'ServiceAccount', name: 'robot', namespace: 'shop' }];
    expect(subjectForAccount(account, both)?.kind).to.equal('ServiceAccount');
  });
});
