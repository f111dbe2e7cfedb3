import { expect } from 'chai';
import type { Answer, ApiClient } from '../../service/conformance/api-client.ts';
import { bothClusters } from './both-clusters.ts';

const pods = '/api/v1/namespaces/default/pods';
const pod = {
  metadata: { name: 'web' },
  spec: {
    serviceAccountName: 'web',
    initContainers: [{ name: 'fetch', image: 'registry.example.com/fetch:1' }],
    containers: [{ name: 'main', image: 'registry.example.com/web:1' }],
  },
};
const path = `${pods}/web/ephemeralcontainers`;
const debug = { name: 'debug', image: 'registry.example.com/busybox:1' };
const patchOf = (...ephemeralContainers: object[]) => ({ spec: { ephemeralContainers } });

type Change = readonly [title: string, change: (client: ApiClient) => Promise<Answer>];
/** Changes in order. An accepted change stays for the next ones. */
const changes: readonly Change[] = [
  ['one that is accepted', (client) => client.patch(path, patchOf({ ...debug, targetContainerName: 'main', stdin: true }), 'strategic')],
  ['another member of the pod, which is ignored', (client) => client.patch(path, { spec: { nodeName: 'x' } }, 'strategic')],
  ['a second one', (client) => client.patch(path, patchOf({ ...debug, name: 'second' }), 'strategic')],
  ['a name that a container has', (client) => client.patch(path, patchOf({ ...debug, name: 'fetch' }), 'strategic')],
  ['a target that does not exist', (client) => client.patch(path, patchOf({ ...debug, name: 'c', targetContainerName: 'x' }), 'strategic')],
  [
    'ports, probes and resources',
    (client) =>
      client.patch(
        path,
        patchOf({
          ...{ ...debug, name: 'd', ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1' } } },
          ...{ livenessProbe: { exec: { command: ['true'] } }, lifecycle: { preStop: { exec: { command: ['true'] } } } },
        }),
        'strategic',
      ),
  ],
  ['a container without an image', (client) => client.patch(path, patchOf({ name: 'e' }), 'strategic')],
  [
    'a change of one that is there',
    (client) => client.patch(path, patchOf({ ...debug, image: 'registry.example.com/other:1' }), 'strategic'),
  ],
  ['the removal of all', (client) => client.patch(path, patchOf(), 'merge')],
  ['one through the pod itself', (client) => client.patch(`${pods}/web`, patchOf({ ...debug, name: 'f' }), 'strategic')],
  ['the pod as it is, by PUT', async (client) => client.put(path, (await client.get(path)).body)],
  ['a pod that does not exist', (client) => client.patch(`${pods}/none/ephemeralcontainers`, patchOf(debug), 'strategic')],
];

describe('ephemeral containers of the embedded cluster beside kube-apiserver', () => {
  const { real, embedded } = bothClusters();

  it('are accepted and refused in the same cases, with the same defaults', async () => {
    for (const client of [real, embedded]) await client.create(pods, pod);
    for (const [title, change] of changes) {
      const shown = async (client: ApiClient) => {
        const { status, body } = await change(client);
        const { spec, details } = body as {
          spec?: object;
          details?: { causes?: { field: string; reason: string }[] };
        };
        return { status, spec, causes: details?.causes?.map(({ field, reason }) => `${field} ${reason}`) };
      };
      expect(await shown(embedded), title).to.deep.equal(await shown(real));
    }
  });
});
