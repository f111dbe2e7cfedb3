/** Roles that a caller may ask for to get a right. Alice is named by a policy, or her local group is; viewer has no policy. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aGroup, aNamespace, applyKnown, rbac } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { AccessRequests, aPolicy, policiesPath, user } from './support.ts';

const clusterRole = (name: string, ...rules: readonly Record<string, readonly string[]>[]): Manifest => ({
  apiVersion: `${rbac}/v1`,
  kind: 'ClusterRole',
  metadata: { name },
  rules,
});
const deployments = { apiGroups: ['apps'], resources: ['deployments'] };
const roles = [
  clusterRole('restarter', { ...deployments, verbs: ['patch'] }),
  clusterRole('restarter-of-web', { ...deployments, verbs: ['patch'], resourceNames: ['web'] }),
  clusterRole('deployer', { ...deployments, verbs: ['get', 'list', 'patch', 'update'] }),
  clusterRole('everything', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] }),
  clusterRole('secret-owner', { apiGroups: [''], resources: ['secrets'], verbs: ['delete'] }),
];
/** Lets the service give any role, as `rbac.userBindings.clusterRoles` of the chart does. */
const bindAny: readonly Manifest[] = [
  clusterRole('test-bind-any', { apiGroups: [rbac], resources: ['clusterroles'], verbs: ['bind'] }),
  {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'test-bind-any' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'test-bind-any' },
    subjects: [{ kind: 'ServiceAccount', name: 'atrium', namespace: 'atrium-system' }],
  },
];
const approvers = [user('bob')];
const subjects = [user('alice')];
const restart = { verb: 'patch', group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' };

interface Item {
  policy: string;
  role: string;
  scope: string;
  namespaces?: string[];
}
interface Options {
  allowed: boolean;
  items: Item[];
  open: { name: string; role: string; phase?: string }[];
}

describe('roles to ask for', () => {
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true, explain: false } } }));
  let access: AccessRequests;

  const call = async (question: Record<string, string>, as: Person = 'alice') =>
    server.request(`/auth/v1/accessrequests/options?${new URLSearchParams(question)}`, { as });
  const options = async (question: Record<string, string>, as: Person = 'alice'): Promise<Options> => {
    const answer = await call(question, as);
    expect(answer.status).to.equal(200);
    return (await answer.json()) as Options;
  };
  const shown = ({ items }: Options) => items.map(({ policy, role, scope }) => `${policy} ${role} ${scope}`);
  const untilShown = async (question: Record<string, string>, fits: (items: string[]) => boolean) =>
    eventually(async () => shown(await options(question)), fits);
  /** Applies policies, runs a test with them, and deletes them. */
  const withPolicies = async (policies: readonly Manifest[], run: () => Promise<void>) => {
    await access.apply(...policies);
    try {
      await run();
    } finally {
      for (const { metadata } of policies) {
        await server.kubernetes.call('DELETE', `${policiesPath}/${metadata.name}`);
        await eventually(
          () => server.request(`/auth/v1/accesspolicies/${metadata.name}`, { as: 'admin' }),
          ({ status }) => status === 404,
        );
      }
    }
  };

  before(async () => {
    access = new AccessRequests(server);
    await server.kubernetes.apply(aNamespace('shop'), aNamespace('bar'), ...roles, ...bindAny);
    const people = ['alice', 'bob', 'viewer', 'admin'].map((name) => aUser(`${name}@example.com`, { subjectName: name }));
    await applyKnown(server, ...people);
  });

  it('are those with the rule, the least rights first', async () => {
    const everywhere = { subjects, approvers, scope: { cluster: true } };
    const policies = [
      aPolicy('any-place', { ...everywhere, roleRefs: ['everything', 'deployer', 'secret-owner'] }),
      aPolicy('shop-two', { subjects, approvers, roleRefs: ['restarter'], approvals: 2 }),
      aPolicy('shop-one', { subjects, approvers, roleRefs: ['restarter', 'restarter-of-web'], ticketPattern: 'T-[0-9]+' }),
    ];
    await withPolicies(policies, async () => {
      const all = [
        'shop-one restarter namespace',
        'shop-one restarter-of-web namespace',
        'shop-two restarter namespace',
        'any-place deployer namespace',
        'any-place deployer platform',
        'any-place everything namespace',
        'any-place everything platform',
      ];
      await untilShown(restart, (items) => items.join() === all.join());
      const { allowed, items, open } = await options(restart);
      expect({ allowed, open }).to.deep.equal({ allowed: false, open: [] });
      expect(items[0]).to.deep.equal({
        policy: 'shop-one',
        role: 'restarter',
        scope: 'namespace',
        namespaces: ['shop'],
        approvals: 1,
        maxSeconds: 3600,
        breakGlass: false,
        requireReason: true,
        ticketPattern: 'T-[0-9]+',
      });
      // A rule for one object does not allow all of them.
      expect(shown(await options({ ...restart, name: '' }))).not.to.include('shop-one restarter-of-web namespace');
      expect(shown(await options({ ...restart, namespace: '' }))).to.deep.equal([
        'any-place deployer platform',
        'any-place everything platform',
      ]);
    });
  });

  it('come from policies for a group of the caller, and from a selector that selects the namespace', async () => {
    await applyKnown(server, aGroup('builders', [nameOf('alice@example.com')]));
    const labelled = { ...aNamespace('labelled'), metadata: { name: 'labelled', labels: { team: 'web' } } };
    await server.kubernetes.apply(labelled);
    const scope = { namespaces: { selector: { matchLabels: { team: 'web' } } } };
    const policy = aPolicy('by-label', {
      subjects: [{ kind: 'Group', name: 'local:builders' }],
      approvers,
      roleRefs: ['restarter'],
      scope,
    });
    await withPolicies([policy], async () => {
      const question = { ...restart, namespace: 'labelled' };
      await untilShown(question, (items) => items.join() === 'by-label restarter namespace');
      for (const namespace of ['shop', 'missing']) expect((await options({ ...restart, namespace })).items, namespace).to.deep.equal([]);
    });
  });

  it('are empty for a caller who has the right, and show the open request for it', async () => {
    await withPolicies([aPolicy('shop-open', { subjects, approvers, roleRefs: ['restarter', 'deployer'] })], async () => {
      await untilShown(restart, (items) => items.length === 2);
      const request = await access.asked({ as: 'alice' }, { policy: 'shop-open', roleRef: 'restarter' });
      const asked = await eventually(
        () => options(restart),
        ({ open }) => open.length > 0,
      );
      expect(asked.open).to.deep.equal([
        { name: request.metadata.name, policy: 'shop-open', role: 'restarter', scope: 'namespace', namespaces: ['shop'], phase: 'Pending' },
      ]);
      expect(shown(asked)).to.deep.equal(['shop-open deployer namespace']);
      expect((await options({ ...restart, namespace: 'bar' })).open).to.deep.equal([]);

      expect((await access.decide({ as: 'bob' }, request)).status).to.equal(200);
      const active = await eventually(
        () => options(restart),
        ({ allowed, open }) => allowed && open[0]?.phase === 'Active',
      );
      expect(active.items).to.deep.equal([]);
      await access.end({ as: 'alice' }, request);
      await eventually(
        () => options(restart),
        ({ allowed, open }) => !allowed && open.length === 0,
      );
    });
  });

  it('OPT-01 hide roles, bindings and namespaces outside of the matching policies', async () => {
    const policies = [
      aPolicy('of-others', { subjects: [user('viewer')], approvers, scope: { cluster: true }, roleRefs: ['restarter', 'secret-owner'] }),
      aPolicy('of-alice', { subjects, approvers, roleRefs: ['restarter'] }),
    ];
    await withPolicies(policies, async () => {
      await untilShown(restart, (items) => items.length === 1);
      const text = async (question: Record<string, string>) => (await call(question)).text();
      // A role, a namespace and an object that exist, and others that do not.
      const deletes = { verb: 'delete', group: '', resource: 'secrets' };
      expect(await text({ ...deletes, namespace: 'shop' })).to.equal(await text({ ...deletes, resource: 'nothings', namespace: 'shop' }));
      expect(await text({ ...restart, namespace: 'bar' })).to.equal(await text({ ...restart, namespace: 'missing' }));
      expect(await text({ ...restart, namespace: 'bar' })).not.to.match(/of-others|secret-owner/);
      expect(await text({ ...restart, name: 'missing' })).to.equal(await text(restart));
      expect(shown(await options(restart, 'viewer'))).to.deep.equal(['of-others restarter namespace', 'of-others restarter platform']);
    });
  });

  it('ACP-05 leave out policies with a role that is missing', async () => {
    const policy = aPolicy('half', { subjects, approvers, roleRefs: ['restarter', 'later'] });
    await withPolicies([policy], async () => {
      expect((await options(restart)).items).to.deep.equal([]);
      await server.kubernetes.apply(clusterRole('later', { ...deployments, verbs: ['get'] }));
      await untilShown(restart, (items) => items.join() === 'half restarter namespace');
    });
  });

  it('are at most 20, and none for a caller without a User record', async () => {
    const names = Array.from({ length: 15 }, (_, index) => `restarter-${index}`);
    await server.kubernetes.apply(...names.map((name) => clusterRole(name, { ...deployments, verbs: ['patch'] })));
    await withPolicies([aPolicy('many', { subjects, approvers, roleRefs: names, scope: { cluster: true } })], async () => {
      await untilShown(restart, (items) => items.length === 20);
      expect(await options(restart, 'nobody')).to.deep.include({ allowed: false, items: [], open: [] });
    });
  });

  it('are refused without a login, without a verb, and for a place that cannot be', async () => {
    expect((await server.request('/auth/v1/accessrequests/options?verb=get&resource=pods')).status).to.equal(401);
    expect((await call({ resource: 'pods' })).status).to.equal(400);
    expect((await call({ ...restart, namespace: 'shop,metadata.name=bar' })).status).to.equal(400);
  });
});
