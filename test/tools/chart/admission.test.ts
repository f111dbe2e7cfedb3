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

/** Maximum of members. */
const crowd = Array.from({ length: 5000 }, (_, index) => `${index}`.padStart(32, 'f'));

/** Returns a ClusterRole and its binding as JSON, which allow a user verbs on one named object. */
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

/** alice and bob may write all objects by RBAC. alice may also bind `view` and impersonate the group `local:oncall`. */
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
    // A policy takes effect a moment after its creation.
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
    it('let users create one if they may bind the role', async () => {
      expect(await create(alice, userBinding('by-alice'))).to.include('created');
    });

    it('refuse one from users who may not bind the role, and one of another role', async () => {
      expect(await refusalOf(create(bob, userBinding('by-bob')))).to.include('user "bob" cannot bind the ClusterRole "view"');
      expect(await refusalOf(create(alice, userBinding('by-alice-2', { roleRef: 'admin' })))).to.include(
        'cannot bind the ClusterRole "admin"',
      );
    });

    it('refuse additional subjects or namespaces from users who may not bind', async () => {
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

    it('let users who may not bind remove subjects and namespaces, label and delete', async () => {
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

    it('refuse them by kubectl apply too, client-side and server-side', async () => {
      const wider = { subjects: [{ kind: 'User', name: 'bob' }] };
      for (const how of [[], ['--server-side', '--force-conflicts']]) {
        expect(await refusalOf(bob(['apply', ...how, '--filename=-'], userBinding('applied')))).to.include('cannot bind');
        await alice(['apply', ...how, '--filename=-'], userBinding('applied'));
        expect(await refusalOf(bob(['apply', ...how, '--filename=-'], userBinding('applied', wider)))).to.include('cannot bind');
        expect(await admin(['get', 'userbinding/applied', '--output=jsonpath={.spec.subjects[*].name}'])).to.equal('jane@example.com');
        await bob(['delete', 'userbinding', 'applied']);
      }
    });

    it('let the service keep one of a role that it may not bind, and widen none', async () => {
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
    it('let users create it and change its members if they may impersonate the group', async () => {
      expect(await create(alice, group('oncall', ['jane']))).to.include('created');
      expect(await patch(alice, 'groups.auth.platform.io/oncall', { spec: { users: [{ name: 'john' }] } })).to.include('patched');
    });

    it('refuse members from users who may not, on all ways', async () => {
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

    it('refuse them by kubectl apply too, client-side and server-side', async () => {
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
        it(`let it remove members of deleted users, so that "${wanted}" is left of "a b c d"`, async () => {
          const name = `left.${wanted.replaceAll(' ', '')}x`;
          await create(admin, group(name, ['a', 'b', 'c', 'd']));

          expect(await patch(service, `groups.auth.platform.io/${name}`, left(...wanted.split(' ')))).to.include('patched');
        });

      it('refuse other changes of "a b c d", even if fewer members are left', async () => {
        await create(admin, group('kept', ['a', 'b', 'c', 'd']));

        for (const wanted of ['e', 'a b e', 'e b c', 'a e c', 'a b c e', 'a b c d e', 'c a b', 'd e'])
          expect(
            await refusalOf(patch(service, 'groups.auth.platform.io/kept', left(...wanted.split(' ').filter(Boolean)))),
            wanted,
          ).to.include('cannot change the members');
      });

      it('let it remove 99 of the maximum of members at any position, and no more at a time', async () => {
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

    it('let users change all other fields without that right', async () => {
      expect(await patch(bob, 'groups.auth.platform.io/oncall', { spec: { description: 'Night and day' } })).to.include('patched');
      expect(await bob(['label', 'groups.auth.platform.io', 'oncall', 'checked=yes'])).to.include('labeled');
      expect(await bob(['delete', 'groups.auth.platform.io', 'oncall'])).to.include('deleted');
    });

    it('handle the maximum of members', async () => {
      await create(admin, group('crowd', crowd));

      expect(await replace(bob, group('crowd', crowd, { description: 'many' }))).to.include('replaced');
      expect(await refusalOf(replace(bob, group('crowd', crowd.slice(1))))).to.include('cannot change the members');
    });
  });
});
