import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { isControlledBy, isPodOf } from '../../../web/src/pages/cluster/sections/pod/pod-owner.ts';
import { selectedLabels } from '../../../web/src/pages/cluster/sections/selector.ts';
import { connect } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Dice } from './generated.ts';

const controllers = ['deployment-controller', 'replicaset-controller', 'statefulset-controller', 'job-controller'];
const namespace = '/namespaces/default';
const kinds = {
  deployments: `/apis/apps/v1${namespace}/deployments`,
  replicasets: `/apis/apps/v1${namespace}/replicasets`,
  statefulsets: `/apis/apps/v1${namespace}/statefulsets`,
  jobs: `/apis/batch/v1${namespace}/jobs`,
} as const;
type Resource = keyof typeof kinds;

/** A label of each pod: the workload whose template it was made of. No selector has it. */
const madeOf = 'made-of';

interface Workload {
  resource: Resource;
  name: string;
  count: number;
  body: object;
}

/** Returns a workload without labels by which a Deployment would adopt it, whose selector finds the pods of others, too. */
function workload(dice: Dice, index: number): Workload {
  const resource = dice.pick<Resource>('deployments', 'deployments', 'replicasets', 'statefulsets', 'jobs');
  const name = `tree-${index}`;
  const count = 1 + dice.below(3);
  const selector = { app: dice.pick('a', 'b'), ...dice.some({ track: dice.pick('canary', 'stable') }) };
  const template = {
    metadata: { labels: { ...selector, ...dice.some({ track: 'canary' }, 0.2), ...selector, [madeOf]: name } },
    spec: { containers: [{ name: 'c', image: 'registry.example.com/c' }], ...(resource === 'jobs' && { restartPolicy: 'Never' }) },
  };
  const counted =
    resource === 'jobs'
      ? { parallelism: count, completions: count, template }
      : { replicas: count, selector: { matchLabels: selector }, template };
  const spec = { ...counted, ...(resource === 'statefulsets' && { serviceName: 'db', podManagementPolicy: 'Parallel' }) };
  return { resource, name, count, body: { metadata: { name, labels: { [madeOf]: name } }, spec } };
}

const dice = new Dice(56);
/** 80 workloads have more than 200 pods and ReplicaSets. */
const workloads = Array.from({ length: 80 }, (_, index) => workload(dice, index));

describe('the trees of owners that kube-controller-manager makes', () => {
  const server = forSuite(() => apiServer({ controllers }));
  const admin = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );
  const listed = async (path: string) => ((await admin.get(path)).body as { items: ClusterObject[] }).items;

  it('lead from each workload to the pods of its template, and not to others that its selector matches', async () => {
    await mapLimit(8, workloads, ({ resource, body }) => admin.create(kinds[resource], body));
    const total = workloads.reduce((sum, { count }) => sum + count, 0);
    const pods = await eventually(
      () => listed(`/api/v1${namespace}/pods`),
      ({ length }) => length === total,
    );
    const sets = await listed(kinds.replicasets);
    expect(pods.length + sets.length).to.be.above(200);
    const names = (of: readonly ClusterObject[]) => of.map(({ metadata }) => metadata.name).sort();

    let foreign = 0;
    for (const { resource, name } of workloads) {
      const object = (await admin.read(`${kinds[resource]}/${name}`)) as unknown as ClusterObject;
      const kind = { group: resource === 'jobs' ? 'batch' : 'apps', resource };
      const expected = names(pods.filter(({ metadata }) => metadata.labels?.[madeOf] === name));
      const selected = (await listed(
        `/api/v1${namespace}/pods?labelSelector=${encodeURIComponent(selectedLabels(object))}`,
      )) as ClusterObject[];
      foreign += selected.length - expected.length;
      expect(names(selected.filter(isPodOf(kind, object, sets))), name).to.deep.equal(expected);
      // Names of ReplicaSets decide for callers who may not list them.
      expect(names(selected.filter(isPodOf(kind, object))), name).to.deep.equal(expected);
      if (resource !== 'deployments') continue;
      const own = sets.filter(isControlledBy(object.metadata.uid));
      expect(own.map(({ metadata }) => metadata.labels?.[madeOf])).to.deep.equal([name]);
    }
    expect(foreign).to.be.above(200);
  });
});
