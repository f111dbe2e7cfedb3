import { createHash } from 'node:crypto';
import type { RecordingDatabase } from '@atrium/audit-store/recording.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { recordingList } from '../../../src/recordings/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';
import { aRole } from '../access/objects.ts';
import type { ApiServerBetween } from '../proxy/api-server-between.ts';

export const recordings = '/auth/v1/audit/recordings';

export const shellIn = (pod: string, query = 'stdout=true', { namespace = 'shop', subresource = 'exec' } = {}) =>
  `/api/kubernetes/api/v1/namespaces/${namespace}/pods/${pod}/${subresource}?command=sh&${query}`;

interface RecordingServer extends TestServer {
  auditStore: SqliteStore;
}

/** Returns recordings whose parts may be elsewhere than in the database. */
export type RecordingsIn = (database: RecordingDatabase) => RecordingDatabase;

interface RecordingOptions extends ServerOptions {
  recordingsIn?: RecordingsIn | undefined;
}

/** Alice and Bob may use shells, and Carol may read and delete recordings. */
export const people = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  aRole('shells', [{ apiGroups: [''], resources: ['pods/exec', 'pods/attach'], verbs: ['*'] }]),
  clusterRoleBinding('alice-shells', 'shells', { kind: 'User', name: 'alice' }),
  clusterRoleBinding('bob-shells', 'shells', { kind: 'User', name: 'bob' }),
  aRole('recordings', [{ apiGroups: ['auth.platform.io'], resources: ['recordings'], verbs: ['get', 'list', 'delete'] }]),
  clusterRoleBinding('carol-recordings', 'recordings', { kind: 'User', name: 'carol' }),
];

/** Starts a service whose shells end at the test. */
export async function startRecordings(
  between: ApiServerBetween,
  audit: object,
  { recordingsIn, ...options }: RecordingOptions = {},
): Promise<RecordingServer> {
  const auditStore = await SqliteStore.open(':memory:');
  Object.assign(auditStore.recordings, recordingsIn?.({ ...auditStore.recordings }));
  const server = await startServer({
    ...options,
    auditStore,
    between: between.start,
    config: { audit },
    objects: people,
  });
  return {
    ...server,
    auditStore,
    async stop() {
      await server.stop();
      await auditStore.stop();
    },
  };
}

export async function listRecordings(server: TestServer, as: Person, query: Record<string, string> = {}) {
  const response = await server.request(`${recordings}?${new URLSearchParams(query)}`, { as });
  expect(response.status).to.equal(200);
  return recordingList.parse(await response.json());
}

/** Waits for the end of the recording of a pod's shell. */
export async function ended(server: TestServer, as: Person, name: string) {
  const { items } = await eventually(
    () => listRecordings(server, as, { name }),
    ({ items: [found] }) => found?.endedAt !== undefined,
  );
  return items[0] ?? expect.fail('no recording');
}

/** Waits for the event of the end of a pod's shell. */
export async function endEvent(server: TestServer, as: Person, name: string) {
  const event = await eventually(
    async () => {
      const answer = await server.request(`/auth/v1/audit?name=${name}&limit=1`, { as });
      return auditEventList.parse(await answer.json()).items[0];
    },
    (found) => found?.stage === 'ResponseComplete',
  );
  return event ?? expect.fail('no event');
}

type Line = [seconds: number, code: string, text: string];

/** Reads a recording as a player does. */
export async function replay(server: TestServer, as: Person, id: string) {
  const response = await server.request(`${recordings}/${id}`, { as });
  expect(response.status).to.equal(200);
  const text = await response.text();
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const proven = Buffer.from(text).subarray(Buffer.byteLength(head) + 1);
  const events = lines.map((line) => JSON.parse(line) as Line);
  const of = (code: string) => events.filter((event) => event[1] === code).map((event) => event[2]);
  return {
    type: response.headers.get('content-type'),
    head: JSON.parse(head) as { version: number; width: number; height: number; title: string },
    events,
    /** Digest for the event of the end. */
    recorded: { sha256: createHash('sha256').update(proven).digest('hex'), bytes: proven.length, lines: lines.length },
    output: Buffer.from(of('o').join('')),
    sizes: of('r'),
    markers: of('m'),
  };
}
