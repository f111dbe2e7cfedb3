import { randomUUID } from 'node:crypto';
import { type ApiServer, type Person, sharedApiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type ApiClient, connect } from './api-client.ts';
import { installDefinition, widgetDefinition, widgetsIn } from './widget.ts';

/** The fixture of most suites: the server, its administrator, and a namespace of their own in which widgets are served. */
export interface Workspace {
  server: ApiServer;
  admin: ApiClient;
  namespace: string;
  /** Path of the namespace's widgets. */
  widgets: string;
  /** Path of the namespace's ConfigMaps. */
  configMaps: string;
  as(person: Person): Promise<ApiClient>;
  close(): Promise<void>;
}

/** Creates a workspace for all tests of a `describe`. */
export function suiteWorkspace() {
  const namespace = `conformance-${randomUUID().slice(0, 8)}`;
  const workspace = forSuite(
    () => openWorkspace(namespace),
    (opened) => opened.close(),
  );
  const admin = forSuite<ApiClient>(
    async () => workspace.admin,
    () => {},
  );
  return { workspace, admin, ...pathsIn(namespace) };
}

const pathsIn = (namespace: string) => ({
  widgets: widgetsIn(namespace),
  configMaps: `/api/v1/namespaces/${namespace}/configmaps`,
});

export async function openWorkspace(namespace = `conformance-${randomUUID().slice(0, 8)}`): Promise<Workspace> {
  const server = await sharedApiServer();
  const clients: ApiClient[] = [];
  const as = async (person: Person) => {
    const client = await connect(server, person);
    clients.push(client);
    return client;
  };
  const admin = await as('admin');
  await admin.create('/api/v1/namespaces', { metadata: { name: namespace } });
  await installDefinition(admin, widgetDefinition);
  return {
    server,
    admin,
    namespace,
    ...pathsIn(namespace),
    as,
    async close() {
      await admin.delete(`/api/v1/namespaces/${namespace}`);
      for (const client of clients) await client.close();
      await server.stop();
    },
  };
}
