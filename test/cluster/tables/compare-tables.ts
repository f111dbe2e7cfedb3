/** Compares Tables of the API server with the columns of the embedded cluster and the state in the console of the same objects. */

import type { StoredObject } from '@atrium/embedded-cluster/objects.ts';
import { columnsByKind } from '@atrium/embedded-cluster/workloads/columns.ts';
import { wordOf } from '@atrium/objects/object-state.ts';
import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import type { ApiClient, KubernetesObject } from '../../service/conformance/api-client.ts';

/** Kinds whose state the console shows beside their name. */
const stated = ['Pod', 'Job', 'Node', 'PersistentVolume', 'PersistentVolumeClaim'];

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';

/** Creates an object, writes its status, and returns the stored object. */
export async function written(admin: ApiClient, path: string, body: object, status?: object): Promise<KubernetesObject> {
  const made = await admin.create(path, body);
  if (status !== undefined) {
    const answer = await admin.patch(`${path}/${made.metadata.name}/status`, { status });
    expect(answer.status, answer.text).to.equal(200);
  }
  return admin.read(`${path}/${made.metadata.name}`);
}

/** Compares headings and cells of `kubectl get -o wide`. */
export async function compareTables(admin: ApiClient, path: string, object: KubernetesObject): Promise<void> {
  const answer = await admin.send('GET', `${path}/${object.metadata.name}`, { headers: { accept: table } });
  const { columnDefinitions, rows } = answer.body as {
    columnDefinitions: { name: string; type: string; priority: number }[];
    rows: { cells: unknown[] }[];
  };
  const columns = columnsByKind[object.kind] ?? [];
  const now = new Date();
  expect(columns.map(({ name, type, priority }) => ({ name, type, priority }))).to.deep.equal(
    columnDefinitions.map(({ name, type, priority }) => ({ name, type, priority })),
  );
  const shown = (cells: readonly unknown[]) => cells.filter((_, index) => columns[index]?.name !== 'Age');
  expect(shown(columns.map(({ cell }) => cell(object as StoredObject, now))), object.kind).to.deep.equal(shown(rows[0]?.cells ?? []));
  const cellOf = (column: string) => rows[0]?.cells[columns.findIndex(({ name }) => name === column)];
  if (stated.includes(object.kind)) expect(wordOf(object as unknown as ClusterObject), object.metadata.name).to.equal(cellOf('Status'));
}
