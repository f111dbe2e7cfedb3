import { expect } from 'chai';
import type { ApiClient, KubernetesObject } from '../../service/conformance/api-client.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { bothClusters } from './both-clusters.ts';

const path = '/apis/apps/v1/namespaces/default';
const labels = { app: 'db' };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: 'db', image }] } });
const annotations = { 'kubernetes.io/change-cause': 'first release' };
const hash = /^[a-z0-9]{6,10}$/;

/** Removes the hashes, which differ between the controllers. */
function comparable({ metadata, data, revision }: KubernetesObject, owner: string) {
  const {
    name = '',
    labels: given = {},
    annotations: notes,
    ownerReferences = [],
  } = metadata as {
    name?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: { uid?: string }[];
  };
  const [suffix] = name.split('-').slice(-1);
  expect(name).to.equal(`${owner}-${suffix}`);
  expect(suffix).to.match(hash);
  const masked = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, value === suffix ? 'HASH' : value]));
  const owners = ownerReferences.map(({ uid, ...rest }) => rest);
  return { labels: masked, annotations: notes, owners, data, revision };
}

describe('ControllerRevisions of the embedded cluster beside kube-controller-manager', () => {
  const { real, embedded } = bothClusters('statefulset-controller', 'daemonset-controller');

  /** Returns the revisions of a set after its first template, after a second one, and after the return to the first. */
  async function history(client: ApiClient, resource: string, spec: object) {
    const name = 'db';
    const revisions = async () => {
      const { items } = (await client.get(`${path}/controllerrevisions`)).body as { items: KubernetesObject[] };
      return items
        .filter(
          ({ metadata }) =>
            (metadata as { ownerReferences?: { kind: string }[] }).ownerReferences?.[0]?.kind.toLowerCase() === resource.slice(0, -1),
        )
        .map((item) => comparable(item, name))
        .sort((a, b) => Number(a.revision) - Number(b.revision));
    };
    const reached = (numbers: number[]) =>
      eventually(revisions, (all) => JSON.stringify(all.map(({ revision }) => revision)) === JSON.stringify(numbers));
    const first = template('registry.example.com/db:1');
    await client.create(`${path}/${resource}`, {
      metadata: { name, annotations },
      spec: { selector: { matchLabels: labels }, ...spec, template: first },
    });
    const seen = [await reached([1])];
    await client.patch(`${path}/${resource}/${name}`, { spec: { template: template('registry.example.com/db:2') } });
    seen.push(await reached([1, 2]));
    await client.patch(`${path}/${resource}/${name}`, { spec: { template: first } });
    seen.push(await reached([2, 3]));
    return seen;
  }

  for (const [resource, spec] of Object.entries({ statefulsets: { serviceName: 'db' }, daemonsets: {} }))
    it(`are the same for ${resource}: labels, annotations, owner, data and numbers`, async () => {
      expect(await history(embedded, resource, spec)).to.deep.equal(await history(real, resource, spec));
    });

  it('are named by the status of a StatefulSet', async () => {
    const shown = async (client: ApiClient) => {
      const read = async () => (await client.get(`${path}/statefulsets/db`)).body as { status: Record<string, string> };
      const { status } = await eventually(read, ({ status: is }) => is.updateRevision === is.currentRevision);
      const { body } = await client.get(`${path}/controllerrevisions/${status.updateRevision}`);
      return (body as { revision: number }).revision;
    };
    expect(await shown(embedded)).to.equal(await shown(real));
  });
});
