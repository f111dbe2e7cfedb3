import { type ApiServer, type Person, sharedApiServer } from '../../support/api-server.ts';
import { type ApiClient, connect } from './api-client.ts';
import { installDefinition, widgetDefinition, widgetsIn } from './widget.ts';

/** What most suites stand on: the server, its admin, and a namespace of their own in which widgets are served. */
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

export async function openWorkspace(): Promise<Workspace> {
  const server = await sharedApiServer();
  const clients: ApiClient[] = [];
  const as = async (person: Person) => {
    const client = await connect(server, person);
    clients.push(client);
    return client;
  };
  const admin = await as('admin');
  const namespace = (await admin.create('/api/v1/namespaces', { metadata: { generateName: 'conformance-' } })).metadata.name;
  await installDefinition(admin, widgetDefinition);
  return {
    server,
    admin,
    namespace,
    widgets: widgetsIn(namespace),
    configMaps: `/api/v1/namespaces/${namespace}/configmaps`,
    as,
    async close() {
      await admin.delete(`/api/v1/namespaces/${namespace}`);
      for (const client of clients) await client.close();
      await server.stop();
    },
  };
}
