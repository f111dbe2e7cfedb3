import type { StoredObject } from '@atrium/embedded-cluster/objects.ts';
import { columnsByKind } from '@atrium/embedded-cluster/workloads/columns.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { KubernetesObject as Listed } from '@atrium/kubernetes/resource.ts';
import { humanDuration } from '@atrium/objects/duration.ts';
import { jobState } from '@atrium/objects/job-state.ts';
import { nodeWord, wordOf } from '@atrium/objects/object-state.ts';
import { troublesOf } from '@atrium/objects/pod-containers.ts';
import { rolloutOf } from '@atrium/objects/rollout.ts';
import { expect } from 'chai';
import { knownColumns } from '../../../src/listed-resources/known-columns.ts';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { type ClusterEvent, lastOf, timesOf } from '../../../web/src/pages/cluster/events/event-times.ts';
import { type ApiClient, connect } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { askAuthority } from './authority.ts';
import {
  cronJob,
  Dice,
  daemonSet,
  deployment,
  event,
  type Generated,
  job,
  node,
  paths,
  pod,
  replicaSet,
  statefulSet,
} from './generated.ts';

type Resource = keyof typeof paths;
type Generator = (dice: Dice, index: number, now: Date) => Generated;

const generators: Readonly<Record<Resource, Generator>> = {
  pods: pod,
  nodes: node,
  events: event,
  jobs: job,
  cronjobs: cronJob,
  deployments: deployment,
  statefulsets: statefulSet,
  daemonsets: daemonSet,
  replicasets: replicaSet,
};

const wanted = 200;
/** The API server refuses some statuses, such as a Job that is complete and failed. */
const generated = 800;
const atOnce = 8;

const groups: Readonly<Record<string, string>> = { jobs: 'batch', cronjobs: 'batch', pods: '', nodes: '', events: '' };

/** Writes objects until enough of them were accepted with their status. @returns their names */
async function write(admin: ApiClient, resource: Resource, now: Date): Promise<ReadonlySet<string>> {
  const dice = new Dice(40);
  const objects = Array.from({ length: generated }, (_, index) => generators[resource](dice, index, now));
  const accepted = new Set<string>();
  await mapLimit(atOnce, objects, async ({ path, body, status, isDeleted }) => {
    const { name } = body.metadata;
    if (accepted.size >= wanted || (await admin.post(path, body)).status !== 201) return;
    if (status && (await admin.patch(`${path}/${name}/status`, { status })).status !== 200) return;
    if (isDeleted) expect((await admin.delete(`${path}/${name}`)).status).to.equal(200);
    accepted.add(name);
  });
  return accepted;
}

interface TableRow {
  object: ClusterObject;
  cells: ReadonlyMap<string, unknown>;
}

/** Reads the cells of `kubectl get -o wide` with the objects that they are of. */
async function tableOf(admin: ApiClient, path: string) {
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const { body } = await admin.send('GET', path, { query: { includeObject: 'Object' }, headers: { accept } });
  const table = body as { columnDefinitions: { name: string }[]; rows: { object: ClusterObject; cells: unknown[] }[] };
  const columns = table.columnDefinitions.map(({ name }) => name);
  const rows = table.rows.map(({ object, cells }): TableRow => ({ object, cells: new Map(columns.map((name, at) => [name, cells[at]])) }));
  return { columns, rows };
}

/** Collects differences by column, so that one run names all of them. */
class Differences {
  readonly #found = new Map<string, string[]>();

  note(object: ClusterObject, column: string, ours: unknown, theirs: unknown): void {
    if (ours === theirs) return;
    const { metadata, spec, status } = object;
    const text = `${JSON.stringify(ours)} instead of ${JSON.stringify(theirs)} of ${JSON.stringify({ name: metadata.name, spec, status })}`;
    this.#found.set(column, [...(this.#found.get(column) ?? []), text]);
  }

  expectNone(): void {
    const texts = [...this.#found].map(([column, all]) => `${column}: ${all.length} differences, such as ${all[0]}`);
    expect(texts.join('\n')).to.equal('');
  }
}

const secondsSince = (time: string, now: Date): number => (now.getTime() - Date.parse(time)) / 1000;

/** Cells that the console computes of an object, by the column of the API server. Undefined: nothing to compare. */
const consoleCells: Partial<Record<Resource, (object: ClusterObject, now: Date) => Readonly<Record<string, unknown>>>> = {
  pods: (object) => ({ Status: wordOf(object) }),
  nodes: (object) => ({ Status: nodeWord(object) }),
  jobs(object, now) {
    const { seconds } = jobState(object, now);
    const isEnded = object.status?.completionTime !== undefined;
    return { Status: wordOf(object), ...(isEnded && { Duration: seconds === undefined ? '' : humanDuration(seconds) }) };
  },
  events(object, now) {
    const event = object as unknown as ClusterEvent;
    const hasTime = Object.keys(event).some((member) => /Time(stamp)?$|^series$/.test(member) && event[member as keyof ClusterEvent]);
    return { ...(hasTime && { 'Last Seen': humanDuration(secondsSince(lastOf(event), now)) }), Count: timesOf(event) };
  },
};

/** Columns of the API server by the name of the same column in our lists. */
const listColumns: Partial<Record<Resource, Readonly<Record<string, string>>>> = {
  pods: { status: 'Status', ready: 'Ready' },
  nodes: { status: 'Status', roles: 'Roles' },
  jobs: { status: 'Status' },
};

/** Notes cells of the console, of the embedded cluster and of lists that differ from those of the API server. */
function compare(resource: Resource, { object, cells }: TableRow, now: Date, differences: Differences): void {
  for (const [column, cell] of Object.entries(consoleCells[resource]?.(object, now) ?? {}))
    differences.note(object, `console ${column}`, cell, cells.get(column));
  for (const { name, cell } of columnsByKind[object.kind] ?? [])
    if (name !== 'Age') differences.note(object, `embedded ${name}`, cell(object as unknown as StoredObject, now), cells.get(name));
  const known = knownColumns({ group: groups[resource] ?? 'apps', resource } as Parameters<typeof knownColumns>[0]);
  for (const { name, read } of known) {
    const column = listColumns[resource]?.[name];
    if (column) differences.note(object, `list ${name}`, read(object as unknown as Listed) ?? '<none>', cells.get(column));
  }
}

describe('objects at random beside the Tables of the API server', () => {
  const server = forSuite(() => apiServer());
  const admin = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );

  for (const resource of Object.keys(generators) as Resource[])
    it(`show ${resource} in the console, in lists and in the embedded cluster as kubectl does`, async () => {
      const names = await write(admin, resource, new Date());
      expect(names.size).to.be.at.least(wanted);
      const { columns, rows } = await tableOf(admin, paths[resource]);
      const now = new Date();
      const differences = new Differences();
      const own = rows.filter(({ object }) => names.has(object.metadata.name));
      expect(own.length).to.be.at.least(wanted);
      for (const { object } of own) expect(columnsByKind[object.kind]?.map(({ name }) => name)).to.deep.equal(columns);
      for (const row of own) compare(resource, row, now, differences);
      differences.expectNone();
    });

  for (const resource of ['deployments', 'statefulsets', 'daemonsets'] as const)
    it(`have the rollout of ${resource} that kubectl reports`, async () => {
      const { rows } = await tableOf(admin, paths[resource]);
      const differences = new Differences();
      const answers = await askAuthority(rows.map(({ object }) => ({ about: 'rollout', object })));
      expect(answers.filter(({ done }) => done).length).to.be.above(20);
      for (const [index, { object }] of rows.entries()) {
        const { value, done, error = '' } = answers[index] ?? { value: '', done: false };
        const { state } = rolloutOf(object);
        // kubectl reports no rollout of pods that are replaced by hand, and no scale down.
        if (error.includes('only available for RollingUpdate')) continue;
        const isLarger = resource !== 'daemonsets' && Number(object.status?.replicas ?? 0) > Number(object.spec?.replicas);
        differences.note(object, 'done', state === 'done' || state === 'stopped', done && !isLarger);
        if (error !== '') differences.note(object, 'stuck', state, 'stuck');
        if (value.includes('to be observed')) differences.note(object, 'unseen', state, 'unseen');
      }
      differences.expectNone();
    });

  it('report no trouble of pods that have ended well', async () => {
    const { rows } = await tableOf(admin, '/api/v1/namespaces/default/pods');
    const done = rows.filter(({ object }) => object.spec?.initContainers && object.metadata.finalizers === undefined);
    expect(done.length).to.be.above(10);
    for (const { object, cells } of done) {
      expect(cells.get('Status')).to.equal('Completed');
      expect(troublesOf(object), object.metadata.name).to.deep.equal([]);
    }
  });
});
