import { expect } from 'chai';
import type { ApiClient, KubernetesObject } from '../../service/conformance/api-client.ts';
import { bothClusters } from './both-clusters.ts';
import { refused, samples } from './samples.ts';

/** Values that each server chooses by itself. */
const chosen = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b10\.\d+\.\d+\.\d+\b|\d{4}-\d\d-\d\dT[\d:]+Z/g;
const comparable = ({ metadata, ...rest }: KubernetesObject) => {
  const { labels, annotations, generation } = metadata as Record<string, unknown>;
  return JSON.parse(
    JSON.stringify({ labels, annotations, generation, ...rest })
      .replaceAll(chosen, 'CHOSEN')
      .replaceAll(/("nodePort":)\d+/g, '$10'),
  ) as object;
};

describe('the embedded cluster beside kube-apiserver, with workloads', () => {
  const { real, embedded } = bothClusters();

  for (const [title, family] of Object.entries(samples))
    it(`fills in the same defaults: ${title}`, async () => {
      for (const [path, body] of family) {
        const [theirs, ours] = [await real.post(path, body), await embedded.post(path, body)];
        expect(ours.status, `${path} ${ours.text} ${theirs.text}`).to.equal(theirs.status);
        expect(comparable(ours.body as KubernetesObject), `${path} ${JSON.stringify(body)}`).to.deep.equal(
          comparable(theirs.body as KubernetesObject),
        );
      }
    });

  it('refuses the same objects, at the same fields', async () => {
    for (const [path, body] of refused) {
      const causes = async (client: ApiClient) => {
        const { status, body: answer } = await client.post(path, body);
        const { details } = answer as { details?: { causes?: { field: string; reason: string }[] } };
        return { status, causes: details?.causes?.map(({ field, reason }) => `${field} ${reason}`) };
      };
      expect(await causes(embedded), `${path} ${JSON.stringify(body)}`).to.deep.equal(await causes(real));
    }
  });
});
