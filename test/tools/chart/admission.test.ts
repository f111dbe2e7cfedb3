import { expect } from 'chai';
import { startControlPlane } from '../../cluster/control-plane.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { namespace, renderText } from './chart.ts';
import { type Kubectl, kubectlFor, refusalOf } from './kubectl.ts';

const userBinding = (name: string, spec: Record<string, unknown> = {}) =>
  JSON.stringify({
    apiVersion: 'auth.platform.io/v1',
    kind: 'UserBinding',
    metadata: { name },
    spec: {
      subjects: [{ kind: 'User', name: 'jane@example.com' }],
      roleRef: 'view',
      scope: 'namespace',
      constraint: [{ namespace: 'shop' }],
      ...spec,
    },
  });

const group = (name: string, members: readonly string[], spec: Record<string, unknown> = {}) =>
  JSON.stringify({
    apiVersion: 'auth.platform.io/v1',
    kind: 'Group',
    metadata: { name },
    spec: { displayName: name, ...(members.length > 0 && { users: members.map((member) => ({ name: member })) }), ...spec },
  });

/** As many as there may be. */
const crowd = Array.from({ length: 5000 }, (_, index) => `${index}`.padStart(32, 'f'));

/** Lets a person do that with the one object of that name. */
function mayDo(person: string, rule: { apiGroups: string[]; resources: string[]; verbs: string[] }, resourceName: string): string[] {
  const name = `${person}-${rule.verbs}s-${resourceName}`;
  const group = 'rbac.authorization.k8s.io';
  const role = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name }, rules: [{ ...rule, resourceNames: [resourceName] }] };
  const binding = {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name },
    subjects: [{ apiGroup: group, kind: 'User', name: person }],
  };
  return [role, binding].map((object) => JSON.stringify(object));
}

/** Both may write all of them by RBAC; alice may also bind `view` and act as the group `local:oncall`. */
describe('the admission policies of the chart', () => {
  const plane = forSuite(() => startControlPlane({ people: ['admin', 'alice', 'bob'] }));
  let admin: Kubectl;
  let alice: Kubectl;
  let bob: Kubectl;
  const create = (by: Kubectl, object: string) => by(['create', '--filename=-'], object);
  const patch = (by: Kubectl, resource: string, change: unknown) =>
    by(['patch', resource, '--type=merge', `--patch=${JSON.stringify(change)}`]);
  const replace = (by: Kubectl, object: string) => by(['replace', '--filename=-'], object);

  before(async () => {
    admin = kubectlFor(plane.kubeconfig);
    alice = kubectlFor(plane.kubeconfig, 'alice');
    bob = kubectlFor(plane.kubeconfig, 'bob');
    const shown = ['templates/crds.yaml', 'templates/roles.yaml', 'templates/admission-policy.yaml'].map((file) => `--show-only=${file}`);
    await admin(['apply', '--server-side', '--filename=-'], await renderText({}, ...shown));
    await admin(['create', 'clusterrolebinding', 'admins', '--clusterrole=atrium-users-admin', '--user=alice', '--user=bob']);
    for (const object of mayDo('alice', { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] }, 'view'))
      await create(admin, object);
    for (const object of mayDo('alice', { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'] }, 'local:oncall'))
      await create(admin, object);
    await admin(['wait', '--for=condition=Established', 'crd', 'userbindings.auth.platform.io', 'groups.auth.platform.io']);
    // A policy counts a moment after it was made.
    await eventually(
      () =>
        create(bob, userBinding('probe')).then(
          () => bob(['delete', 'userbinding', 'probe']).then(() => false),
          (error: unknown) => String(error).includes('cannot bind'),
        ),
      (isRefused) => isRefused,
    );
  });

  describe('for UserBindings', () => {
    it('lets who may bind the role make one', async () => {
      expect(await create(alice, userBinding('by-alice'))).to.include('created');
    });

    it('refuses one by who may not, and one of another role', async () => {
      expect(await refusalOf(create(bob, userBinding('by-bob')))).to.include('user "bob" cannot bind the ClusterRole "view"');
      expect(await refusalOf(create(alice, userBinding('by-alice-2', { roleRef: 'admin' })))).to.include(
        'cannot bind the ClusterRole "admin"',
      );
    });

    it('refuses to have subjects or places added by who may not bind', async () => {
      await create(alice, userBinding('wide'));
      const subjects = [
        { kind: 'User', name: 'jane@example.com' },
        { kind: 'User', name: 'bob' },
      ];
      const constraint = [{ namespace: 'shop' }, { namespace: 'kube-system' }];

      expect(await refusalOf(patch(bob, 'userbinding/wide', { spec: { subjects } }))).to.include('cannot bind');
      expect(
        await refusalOf(patch(bob, 'userbinding/wide', { spec: { subjects: [{ kind: 'Group', name: 'jane@example.com' }] } })),
      ).to.include('cannot bind');
      expect(await refusalOf(patch(bob, 'userbinding/wide', { spec: { constraint } }))).to.include('cannot bind');
      expect(await patch(alice, 'userbinding/wide', { spec: { subjects, constraint } })).to.include('patched');
    });

    it('lets who may not bind take subjects and places away, label and delete', async () => {
      const subjects = [
        { kind: 'User', name: 'jane@example.com' },
        { kind: 'User', name: 'john@example.com' },
      ];
      await create(alice, userBinding('narrow', { subjects, constraint: [{ namespace: 'shop' }, { namespace: 'bar' }] }));

      expect(
        await patch(bob, 'userbinding/narrow', { spec: { subjects: subjects.slice(0, 1), constraint: [{ namespace: 'bar' }] } }),
      ).to.include('patched');
      expect(await bob(['label', 'userbinding', 'narrow', 'checked=yes'])).to.include('labeled');
      expect(await bob(['delete', 'userbinding', 'narrow'])).to.include('deleted');
    });

    it('refuses them by kubectl apply too, as kubectl sends it and server-side', async () => {
      const wider = { subjects: [{ kind: 'User', name: 'bob' }] };
      for (const how of [[], ['--server-side', '--force-conflicts']]) {
        expect(await refusalOf(bob(['apply', ...how, '--filename=-'], userBinding('applied')))).to.include('cannot bind');
        await alice(['apply', ...how, '--filename=-'], userBinding('applied'));
        expect(await refusalOf(bob(['apply', ...how, '--filename=-'], userBinding('applied', wider)))).to.include('cannot bind');
        expect(await admin(['get', 'userbinding/applied', '--output=jsonpath={.spec.subjects[*].name}'])).to.equal('jane@example.com');
        await bob(['delete', 'userbinding', 'applied']);
      }
    });

    it('lets the service hold one of a role that it may not bind, and widen none', async () => {
      const service: Kubectl = (given, stdin) => admin([`--as=system:serviceaccount:${namespace}:atrium`, ...given], stdin);
      await admin(['create', 'clusterrolebinding', 'keeper', '--clusterrole=atrium-users-admin', `--serviceaccount=${namespace}:atrium`]);
      await create(admin, userBinding('held', { roleRef: 'admin' }));
      const finalizers = ['auth.platform.io/userbinding'];

      expect(await patch(service, 'userbinding/held', { metadata: { finalizers } })).to.include('patched');
      expect(await patch(service, 'userbinding/held', { metadata: { finalizers: null } })).to.include('patched');
      expect(await refusalOf(patch(service, 'userbinding/held', { spec: { constraint: [{ namespace: 'kube-system' }] } }))).to.include(
        'cannot bind',
      );
    });
  });

  describe('for local Groups', () => {
    it('lets who may act as the group make it and change its members', async () => {
      expect(await create(alice, group('oncall', ['jane']))).to.include('created');
      expect(await patch(alice, 'groups.auth.platform.io/oncall', { spec: { users: [{ name: 'john' }] } })).to.include('patched');
    });

    it('refuses members by who may not, however they get in', async () => {
      expect(await refusalOf(create(bob, group('mine', ['bob'])))).to.include('that needs the verb impersonate on the group "local:mine"');
      await create(bob, group('empty', []));
      expect(await refusalOf(patch(bob, 'groups.auth.platform.io/empty', { spec: { users: [{ name: 'bob' }] } }))).to.include(
        'cannot change the members',
      );
      expect(await refusalOf(patch(bob, 'groups.auth.platform.io/oncall', { spec: { users: [] } }))).to.include(
        'cannot change the members',
      );
      expect(await refusalOf(create(alice, group('other', ['jane'])))).to.include('"local:other"');
    });

    it('refuses them by kubectl apply too, as kubectl sends it and server-side', async () => {
      await create(bob, group('applied', []));
      for (const how of [[], ['--server-side', '--force-conflicts']])
        expect(await refusalOf(bob(['apply', ...how, '--filename=-'], group('applied', ['bob'])))).to.include('cannot change the members');
      expect(await admin(['get', 'groups.auth.platform.io/applied', '--output=jsonpath={.spec.users}'])).to.equal('');
      expect(await bob(['apply', '--filename=-'], group('applied', [], { description: 'Empty' }))).to.include('configured');
    });

    describe('by the service', () => {
      const service: Kubectl = (given, stdin) => admin([`--as=system:serviceaccount:${namespace}:atrium`, ...given], stdin);
      const left = (...names: string[]) => ({ spec: { users: names.map((name) => ({ name })) } });
      before(async () => {
        const account = `--serviceaccount=${namespace}:atrium`;
        await admin(['create', 'clusterrolebinding', 'service', '--clusterrole=atrium-users-admin', account]);
        await admin(['create', 'clusterrole', 'cleaner', '--verb=delete', '--resource=groups.auth.platform.io/members']);
        await admin(['create', 'clusterrolebinding', 'cleaner', '--clusterrole=cleaner', account]);
      });

      for (const wanted of ['b c d', 'a c d', 'a b c', 'b d', 'c'])
        it(`lets it take out whose user is deleted, so that of "a b c d" is left "${wanted}"`, async () => {
          const name = `left.${wanted.replaceAll(' ', '')}x`;
          await create(admin, group(name, ['a', 'b', 'c', 'd']));

          expect(await patch(service, `groups.auth.platform.io/${name}`, left(...wanted.split(' ')))).to.include('patched');
        });

      it('refuses to have it change "a b c d" otherwise, also where fewer are left', async () => {
        await create(admin, group('kept', ['a', 'b', 'c', 'd']));

        for (const wanted of ['e', 'a b e', 'e b c', 'a e c', 'a b c e', 'a b c d e', 'c a b', 'd e'])
          expect(
            await refusalOf(patch(service, 'groups.auth.platform.io/kept', left(...wanted.split(' ').filter(Boolean)))),
            wanted,
          ).to.include('cannot change the members');
      });

      it('lets it take out 99 of as many as there may be, wherever they stand, and no more at one time', async () => {
        let left = crowd;
        const takeOut = (isLeaving: (at: number) => boolean) => {
          left = left.filter((_, at) => !isLeaving(at));
          return replace(service, group('multitude', left));
        };
        await create(admin, group('multitude', crowd));

        expect(await refusalOf(replace(service, group('multitude', [...crowd.slice(99), 'bob'])))).to.include('cannot change the members');
        expect(await refusalOf(replace(service, group('multitude', crowd.slice(100))))).to.include('cannot change the members');
        expect(await takeOut((at) => at < 99)).to.include('replaced');
        expect(await takeOut((at) => at >= 1 && at < 100)).to.include('replaced');
        expect(await takeOut((at) => at % 48 === 1 && at <= 99 * 48)).to.include('replaced');
        expect(await takeOut((at) => at >= left.length - 99)).to.include('replaced');
      });
    });

    it('lets who may not change everything else', async () => {
      expect(await patch(bob, 'groups.auth.platform.io/oncall', { spec: { description: 'Night and day' } })).to.include('patched');
      expect(await bob(['label', 'groups.auth.platform.io', 'oncall', 'checked=yes'])).to.include('labeled');
      expect(await bob(['delete', 'groups.auth.platform.io', 'oncall'])).to.include('deleted');
    });

    it('copes with as many members as there may be', async () => {
      await create(admin, group('crowd', crowd));

      expect(await replace(bob, group('crowd', crowd, { description: 'many' }))).to.include('replaced');
      expect(await refusalOf(replace(bob, group('crowd', crowd.slice(1))))).to.include('cannot change the members');
    });
  });
});
