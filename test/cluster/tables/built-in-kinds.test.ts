import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@atrium/embedded-cluster/objects.ts';
import { expect } from 'chai';
import { request } from 'undici';
import { kubernetesApi } from '../../../packages/embedded-cluster/src/kubernetes-api.ts';
import { decodeProtobuf } from '../../../packages/embedded-cluster/src/protobuf.ts';
import type { ApiClient, KubernetesObject } from '../../service/conformance/api-client.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { kubectl } from '../../support/kubectl.ts';
import { Trusting } from '../../support/trusting.ts';
import { bothClusters } from './both-clusters.ts';
import { samples } from './samples.ts';

const protobufType = 'application/vnd.kubernetes.protobuf';

/** Drops values that only Go's JSON encoder writes: zeros of fields that are no pointers, and times that are not set. */
const withoutZeros = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, part: unknown) =>
    part === null || part === 0 || part === '' || part === false || key === 'managedFields' ? undefined : part,
  );

/** Commands of kubectl that send an object of a built-in kind, and the object that they make. */
const commands: readonly [made: string, command: string][] = [
  ['deployment/web', 'create deployment web --image=registry.example.com/web:1 --replicas=0 --port=8080'],
  ['cronjob/report', 'create cronjob report --image=registry.example.com/report:1 --schedule=0_3_*_*_* -- run --all'],
  ['job/once', 'create job once --from=cronjob/report'],
  ['job/other', 'create job other --image=registry.example.com/report:1'],
  ['service/web', 'create service clusterip web --tcp=80:8080'],
  ['service/alias', 'create service externalname alias --external-name=example.com'],
  ['service/open', 'create service nodeport open --tcp=80 --node-port=30123'],
  ['ingress/web', 'create ingress web --rule=shop.example.com/*=web:80,tls=cert'],
  ['quota/small', 'create quota small --hard=pods=5,requests.cpu=2'],
  ['pdb/web', 'create poddisruptionbudget web --selector=app=web --min-available=50%'],
  ['priorityclass/first', 'create priorityclass first --value=1000 --description=first'],
  ['secret/tls', 'create secret generic tls --from-literal=a=1'],
  ['hpa/web', 'autoscale deployment web --min=1 --max=3 --cpu=60%'],
];

describe('the built-in kinds as the API server publishes them', () => {
  const { server, cluster, real, embedded, ownToken } = bothClusters();
  const agent = forSuite(
    async () => new Trusting(server.certificateAuthority),
    (one) => one.close(),
  );
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const schemasAt = async (client: ApiClient, path: string) => {
    const { body } = await client.get(`/openapi/v3/${path}`);
    return (body as { components: { schemas: Record<string, JsonObject> } }).components.schemas;
  };

  it('have the schemas of the API server, with their descriptions', async () => {
    const { body } = await embedded.get('/openapi/v3');
    const paths = Object.keys((body as { paths: object }).paths).filter((path) => !path.includes('metrics.k8s.io'));
    expect(paths).to.include.members(['api/v1', 'apis/apps/v1', 'apis/autoscaling/v2']);
    for (const path of paths) {
      const [ours, theirs] = [await schemasAt(embedded, path), await schemasAt(real, path)];
      for (const [name, schema] of Object.entries(ours)) expect(schema, `${path} ${name}`).to.deep.equal(theirs[name]);
    }
  });

  it('are read from protobuf as from JSON', async () => {
    const token = await server.token('admin');
    const read = async (path: string, accept: string) => {
      const answer = await request(`${server.url}${path}`, { dispatcher: agent, headers: { authorization: `Bearer ${token}`, accept } });
      return Buffer.from(await answer.body.arrayBuffer());
    };
    for (const [path, body] of Object.values(samples).flat()) {
      const { metadata } = await real.create(path, body);
      const place = `${path}/${metadata.name}`;
      // The garbage collector changes an object whose owner does not exist. Both texts must have the same version.
      const [decoded, json] = await eventually(
        async () =>
          [
            decodeProtobuf(await read(place, protobufType)),
            JSON.parse((await read(place, 'application/json')).toString()) as KubernetesObject,
          ] as const,
        ([ours, theirs]) => (ours as { metadata?: JsonObject }).metadata?.resourceVersion === theirs.metadata.resourceVersion,
      );
      expect(withoutZeros(decoded), place).to.deep.equal(withoutZeros(json));
    }
    expect(Object.keys(kubernetesApi().messages)).to.have.length.above(300);
  });

  it('are created by kubectl as on the API server', async () => {
    const target = async ({ url, certificateAuthority }: typeof cluster | typeof server, token: string) => {
      const caFile = join(folder, `${new URL(url).port}.crt`);
      await writeFile(caFile, certificateAuthority);
      return { url, caFile, token };
    };
    const both = [await target(server, await server.token('admin')), await target(cluster, await ownToken())];
    for (const client of [real, embedded]) await client.create('/api/v1/namespaces', { metadata: { name: 'own' } });
    for (const [made, command] of commands) {
      const [theirs, ours] = await Promise.all(
        both.map(async (one) => {
          const words = command.split(' ').map((word) => word.replaceAll('_', ' '));
          const created = await kubectl(one, '--namespace=own', ...words);
          const { stdout, stderr } = await kubectl(one, '--namespace=own', 'get', made, '--output=json');
          const object = stdout === '' ? {} : (JSON.parse(stdout) as { metadata?: JsonObject; spec?: unknown });
          const { labels = null } = object.metadata ?? {};
          return comparable({ created: `${created.stdout}${created.stderr}`, stderr, labels, spec: object.spec ?? null });
        }),
      );
      expect(ours, command).to.deep.equal(theirs);
    }
  });
});

/** Replaces values that each server chooses by itself. */
const comparable = (value: object): unknown =>
  JSON.parse(
    JSON.stringify(value).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b10\.\d+\.\d+\.\d+\b|\d{4}-\d\d-\d\dT[\d:]+Z/g, 'CHOSEN'),
  );
