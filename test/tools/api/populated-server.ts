import { demoBindings, demoConfigMaps, demoGroups, demoPeople, demoUser, recordName } from '@atrium/demo/objects.ts';
import { aUser } from '../../service/users/a-user.ts';
import type { Person } from '../../support/api-server.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { grant } from '../../support/grants.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aGroup, aPerson, people as directoryPeople, Slapd } from '../directory/slapd.ts';

const people = demoPeople(500);

/** Names of existing objects, which schemathesis cannot guess. */
export const dictionaries = {
  users: people.map(({ email }) => recordName(email)),
  'config-maps': ['console-logo', 'release-poster', 'cost-report-console'],
  keys: ['logo.png', 'mark.svg', 'poster.svg', 'entry.js', 'style.css'],
  selectors: [
    'auth.platform.io/user.state=active',
    'auth.platform.io/user.valid in (true,false)',
    '!auth.platform.io/user.email',
    'auth.platform.io/user.connector_type notin (local)',
    'a=b,c',
    'a in ()',
  ],
  'field-selectors': ['metadata.name=x', 'spec.email=jane@example.com', 'spec.connector_type!=ldap', 'status.phase=Normal', 'spec.hash=x'],
  sorts: ['a,username', 'd,email', 'd,email,a,username', 'phase', 'a', 'd,creationTimestamp'],
  files: ['index.html', 'console.js', 'console', 'api', 'identity'],
  'dry-run': ['All'],
  // The API server waits for a future version until 504.
  versions: ['0', '1', '100'],
} satisfies Record<string, string[]>;

export interface PopulatedServer {
  server: TestServer;
  /** Users by role. `admin` manages users only, because a cluster administrator could delete objects that the service needs. */
  people: Record<'admin' | 'viewer' | 'nobody', Person>;
  stop(): Promise<void>;
}

/** Starts the service with the embedded issuer and a directory, on a cluster with hundreds of users, images, plugins and roles. */
export async function startPopulatedServer(): Promise<PopulatedServer> {
  const uids = Array.from({ length: 20 }, (_, index) => `member${index}`);
  const members = uids.map((uid) => aPerson({ uid, cn: `Member ${uid}`, mail: `${uid}@corp.example.com` }));
  const slapd = await Slapd.start([...members, aGroup('dev', [`uid=member1,${directoryPeople}`])]);
  const port = await freePort();
  const now = new Date();
  const objects = [...people.map((person) => demoUser(person, now)), ...demoGroups(people), ...demoBindings(people), ...demoConfigMaps()];
  const server = await startServer({
    config: {
      server: { port, publicURL: `http://127.0.0.1:${port}` },
      login: { perMinute: 1_000_000 },
      users: { ldap: [slapd.connector()] },
      console: { envsConfigMap: 'console-environment' },
    },
    objects: [...objects.map(manifest), aUser('manager@people.example.com', { subjectName: 'manager', is_admin: true })],
  });
  for (const role of ['atrium-users-admin', 'atrium-certificates', 'view', 'system:monitoring'])
    await grant(server.kubernetes, 'manager', role);
  await grant(server.kubernetes, 'viewer', 'atrium-users-view');
  return {
    server,
    people: { admin: 'manager', viewer: 'viewer', nobody: 'nobody' },
    async stop() {
      await server.stop();
      await slapd.stop();
    },
  };
}

function manifest({ metadata, ...object }: ReturnType<typeof demoUser>): Manifest {
  const { name } = metadata;
  if (name === undefined) throw new Error(`a ${object.kind} without a name`);
  return { ...object, metadata: { ...metadata, name } };
}
