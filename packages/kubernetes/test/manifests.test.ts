import { expect } from 'chai';
import { commandGranting, manifestRights } from '../src/manifests.ts';

const command = (file: string) => `run kubectl apply -f deploy/manifests/${file}, or set `;

describe('the command that grants a denied permission', () => {
  it('names the manifest that has it, for each right of the manifests', () => {
    const wrong = manifestRights.flatMap(({ file, where, verbs, group, resources, names }) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          (names.length === 0 ? [undefined] : names).flatMap((name) => {
            const denied = { verb, group, resource, name, isClusterWide: where === 'cluster' };
            const granting = manifestRights.filter(
              (right) => right.group === group && right.resources.includes(resource) && right.verbs.includes(verb),
            );
            const isShared = granting.some((right) => right.file !== file && right.names.length === names.length);
            const found = commandGranting(denied);
            return isShared || verb.startsWith('impersonate') || found.startsWith(command(file))
              ? []
              : [`${verb} ${resource} ${name}: ${found}`];
          }),
        ),
      ),
    );

    expect(wrong).to.deep.equal([]);
  });

  it('names the manifest of each Lease', () => {
    const files = {
      'atrium-user-states': 'rbac.yaml',
      'atrium-administrators': 'rbac.yaml',
      'atrium-user-sync': 'rbac.yaml',
      'atrium-user-bindings': 'user-bindings.yaml',
      'atrium-access-requests': 'access-requests.yaml',
    };
    for (const [name, file] of Object.entries(files))
      for (const verb of ['get', 'update'])
        expect(commandGranting({ verb, group: 'coordination.k8s.io', resource: 'leases', name, isClusterWide: false }), name).to.include(
          command(file),
        );
  });

  it('names the manifest of the scope in which the permission is missing', () => {
    const denied = { verb: 'list', group: '', resource: 'configmaps', name: undefined };

    expect(commandGranting({ ...denied, isClusterWide: false })).to.equal(`${command('rbac.yaml')}rbac.create in the chart`);
    expect(commandGranting({ ...denied, isClusterWide: true })).to.equal(
      `${command('workload-lists.yaml')}config.lists.preset in the chart`,
    );
  });

  it('names no manifest for a resource that none grants', () => {
    const denied = { verb: 'list', group: 'example.com', resource: 'widgets', name: undefined, isClusterWide: true };

    expect(commandGranting(denied)).to.equal('grant it list and watch on them');
  });

  it('names both forms of impersonation', () => {
    const denied = { verb: 'impersonate', group: '', resource: 'users', name: 'jane', isClusterWide: true };

    expect(commandGranting(denied))
      .to.include(command('constrained-impersonation.yaml'))
      .and.include('before Kubernetes 1.36 impersonation.yaml');
  });
});
