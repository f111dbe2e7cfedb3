import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { revisionsOf, rollbackPatch } from '../../../web/src/pages/cluster/sections/workload/revisions.ts';
import { type ApiClient, objectOf } from '../../service/conformance/api-client.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type KubectlTarget, kubectl } from '../../support/kubectl.ts';
import { bothClusters } from './both-clusters.ts';

const path = '/apis/apps/v1/namespaces/default';
const causeKey = 'kubernetes.io/change-cause';

interface Kind {
  resource: string;
  /** The kind that holds the revisions. */
  held: string;
  spec: object;
}

const kinds: readonly Kind[] = [
  { resource: 'deployments', held: 'replicasets', spec: { replicas: 0 } },
  { resource: 'statefulsets', held: 'controllerrevisions', spec: { replicas: 0, serviceName: 'rb' } },
  { resource: 'daemonsets', held: 'controllerrevisions', spec: {} },
];

describe('a rollback of the console beside `kubectl rollout undo`', () => {
  const { server, cluster, real, embedded, ownToken } = bothClusters(
    'deployment-controller',
    'statefulset-controller',
    'daemonset-controller',
  );
  const folder = forSuite(
    async () => ({ path: await mkdtemp(join(tmpdir(), 'atrium-rollbacks-')) }),
    (one) => rm(one.path, { recursive: true, force: true }),
  );

  async function target({ url, certificateAuthority }: typeof cluster | typeof server, token: string): Promise<KubectlTarget> {
    const caFile = join(folder.path, `${new URL(url).port}.crt`);
    await writeFile(caFile, certificateAuthority);
    return { url, caFile, token };
  }

  /** Returns the revisions of a workload after a number of them exists, with the newest one recorded. */
  async function revisions(client: ApiClient, { resource, held }: Kind, name: string, newest: number) {
    return eventually(
      async () => {
        const workload = (await client.get(`${path}/${resource}/${name}`)).body as ClusterObject;
        const { items } = (await client.get(`${path}/${held}`)).body as { items: ClusterObject[] };
        return { workload, found: revisionsOf(workload, items) };
      },
      ({ workload, found }) =>
        found[0]?.number === newest && found[0].isCurrent && workload.status?.observedGeneration === workload.metadata.generation,
    );
  }

  /** Makes two releases with annotations of their own. */
  async function released(client: ApiClient, kind: Kind, name: string) {
    const labels = { app: name };
    const container = (release: number) => [{ name: 'rb', image: `registry.example.com/rb:${release}` }];
    const at = `${path}/${kind.resource}/${name}`;
    await client.create(`${path}/${kind.resource}`, {
      metadata: { name, annotations: { [causeKey]: 'first release', team: 'blue' } },
      spec: { ...kind.spec, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: container(1) } } },
    });
    await revisions(client, kind, name, 1);
    const annotations = {
      [causeKey]: 'second release',
      team: null,
      since: 'second',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    };
    objectOf(await client.patch(at, { metadata: { annotations }, spec: { template: { spec: { containers: container(2) } } } }));
    return revisions(client, kind, name, 2);
  }

  /** Returns annotations, template and history after a rollback, without names. */
  async function outcome(client: ApiClient, one: KubectlTarget, kind: Kind, name: string) {
    const { workload, found } = await revisions(client, kind, name, 3);
    const { stdout, stderr } = await kubectl(one, 'rollout', 'history', `${kind.resource}/${name}`);
    const { metadata, spec } = workload;
    const text = JSON.stringify({
      ...{ annotations: metadata.annotations, template: spec?.template, history: `${stdout}${stderr}` },
      revisions: found.map(({ number, cause }) => `${number} ${cause}`),
    });
    return JSON.parse(text.replaceAll(name, 'NAME')) as { annotations: Record<string, string>; revisions: string[]; history: string };
  }

  for (const kind of kinds)
    it(`leaves ${kind.resource}, their annotations and their history the same, on both clusters`, async () => {
      const clusters: [string, ApiClient, KubectlTarget][] = [
        ['real', real, await target(server, await server.token('admin'))],
        ['embedded', embedded, await target(cluster, await ownToken())],
      ];
      const seen = new Map<string, unknown>();
      for (const [title, client, one] of clusters) {
        const [byKubectl, byConsole] = [`kubectl-${kind.resource}`, `console-${kind.resource}`];
        await released(client, kind, byKubectl);
        const undone = await kubectl(one, 'rollout', 'undo', `${kind.resource}/${byKubectl}`, '--to-revision=1');
        expect(undone, title).to.include({ isDone: true });

        const { workload, found } = await released(client, kind, byConsole);
        const first = found.find(({ number }) => number === 1);
        expect(first, title).not.to.equal(undefined);
        if (first) objectOf(await client.patch(`${path}/${kind.resource}/${byConsole}`, rollbackPatch(workload, first), 'json'));

        const [theirs, ours] = [await outcome(client, one, kind, byKubectl), await outcome(client, one, kind, byConsole)];
        expect(ours, title).to.deep.equal(theirs);
        expect(ours.revisions, title).to.deep.equal(['3 first release', '2 second release']);
        seen.set(title, ours);
      }
      expect(seen.get('embedded')).to.deep.equal(seen.get('real'));
    });
});
