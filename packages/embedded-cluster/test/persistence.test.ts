import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { administratorToken, apiOf } from './api.ts';

const configMap = (name: string, value = '1') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { value },
});
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Cluster',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

describe('a cluster with a data directory', () => {
  let dataDirectory: string;
  let file: string;
  beforeEach(async () => {
    dataDirectory = await mkdtemp(join(tmpdir(), 'atrium-data-'));
    file = join(dataDirectory, 'objects.jsonl');
  });
  afterEach(() => rm(dataDirectory, { recursive: true }));

  /** Runs `work` on a cluster with the data directory, from its start to its stop. */
  async function life<T>(
    work: (cluster: Cluster, get: (path: string) => Promise<{ status: number; body: unknown }>) => Promise<T>,
  ): Promise<T> {
    const cluster = await Cluster.start({ dataDirectory });
    const api = apiOf(cluster, await administratorToken(cluster));
    try {
      return await work(cluster, (path) => api.send('GET', path));
    } finally {
      await api.close();
      await cluster.stop();
    }
  }
  const path = (name: string) => `/api/v1/namespaces/default/configmaps/${name}`;

  it('has the objects, their identity and versions and the custom resources after a restart', async () => {
    const [before] = await life((cluster) =>
      cluster.apply(configMap('kept'), definition, { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'one' } }),
    );
    await life(async (cluster, get) => {
      expect((await get(path('kept'))).body).to.deep.equal(before);
      expect((await get('/apis/example.com/v1/things/one')).status).to.equal(200);
      const [after] = await cluster.apply(configMap('kept', '2'));

      expect(Number(after?.metadata.resourceVersion)).to.be.above(Number(before?.metadata.resourceVersion));
    });
  });

  it('keeps deleted objects deleted', async () => {
    await life(async (cluster) => {
      await cluster.apply(configMap('gone'));
      const api = apiOf(cluster, await administratorToken(cluster));
      await api.send('DELETE', path('gone'));
      await api.close();
    });

    await life(async (_cluster, get) => expect((await get(path('gone'))).status).to.equal(404));
  });

  it('keeps its certificate authority, and the tokens it made stay good', async () => {
    const [authority, token] = await life(async (cluster) => [cluster.certificateAuthority, await administratorToken(cluster)] as const);
    await life(async (cluster) => {
      const api = apiOf({ url: cluster.url, certificateAuthority: authority }, token);
      const answer = await api.send('GET', '/api/v1/namespaces');
      await api.close();

      expect(answer.status).to.equal(200);
    });
  });

  it('answers a version from before the restart with 410', async () => {
    const [old] = await life((cluster) => cluster.apply(configMap('a'), configMap('a', '2')));
    await life(async (_cluster, get) => {
      const list = `/api/v1/configmaps?resourceVersionMatch=Exact&resourceVersion=${old?.metadata.resourceVersion}`;

      expect((await get(list)).status).to.equal(410);
    });
  });

  it('finishes the deletions that the end of the process interrupted', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'leaving' } };
    const contents = { ...configMap('contents'), metadata: { name: 'contents', namespace: 'leaving' } };
    const [marked, owner] = await life((cluster) => cluster.apply(namespace, configMap('owner'), contents));
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: String(owner?.metadata.uid) }];
    await life((cluster) =>
      cluster.apply({ ...configMap('dependent'), metadata: { name: 'dependent', namespace: 'default', ownerReferences } }),
    );
    const lines = [
      {
        revision: 1001,
        collection: '/namespaces',
        object: { ...marked, metadata: { ...marked?.metadata, resourceVersion: '1001', deletionTimestamp: '2026-01-01T00:00:00Z' } },
      },
      { revision: 1002, collection: '/configmaps', deleted: 'default/owner' },
    ];
    await appendFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

    await life(async (_cluster, get) => {
      for (const gone of ['/api/v1/namespaces/leaving', '/api/v1/namespaces/leaving/configmaps/contents', path('dependent')]) {
        await eventually(
          () => get(gone),
          ({ status }) => status === 404,
        );
      }
    });
  });

  it('restricts its files to their owner', async () => {
    await life((cluster) => cluster.apply(configMap('a')));

    for (const name of ['objects.jsonl', 'keys.json']) {
      expect((await stat(join(dataDirectory, name))).mode & 0o777, name).to.equal(0o600);
    }
  });

  it('drops a last line that was cut off, and nothing else', async () => {
    await life((cluster) => cluster.apply(configMap('whole'), configMap('torn')));
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.slice(0, -20));

    await life(async (_cluster, get) => {
      expect((await get(path('whole'))).status).to.equal(200);
      expect((await get(path('torn'))).status).to.equal(404);
    });
    await life(async (_cluster, get) => expect((await get(path('whole'))).status).to.equal(200));
  });

  it('does not start on a file that is damaged in its middle, and leaves it as it is', async () => {
    await life((cluster) => cluster.apply(configMap('a')));
    const text = await readFile(file, 'utf8');
    const damaged = text.replace('"default"', '"defau');
    await writeFile(file, damaged);
    const failure = await Cluster.start({ dataDirectory }).catch((error: unknown) => error);

    expect(failure)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/line \d+ is damaged/);
    expect(await readFile(file, 'utf8')).to.equal(damaged);
  });

  it('appends one line per change', async () => {
    await life(async (cluster) => {
      const before = (await readFile(file, 'utf8')).split('\n').length;
      await cluster.apply(configMap('a'), configMap('a', '2'));

      expect((await readFile(file, 'utf8')).split('\n').length).to.equal(before + 2);
    });
  });
});
