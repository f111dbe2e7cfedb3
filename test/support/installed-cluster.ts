import type { Connection } from '@atrium/kubernetes/connection.ts';
import type { OwnApiServer } from './api-server.ts';
import { ClusterAdmin, serviceNamespace } from './cluster-admin.ts';

type Reached = Pick<OwnApiServer, 'url' | 'certificateAuthority'>;

/** Applies the objects of an installation to a cluster, and returns its administrator. */
export async function install(cluster: Reached & Pick<OwnApiServer, 'token' | 'isInstalled'>): Promise<ClusterAdmin> {
  const admin = new ClusterAdmin(cluster, await cluster.token('admin'));
  await admin.install();
  return admin;
}

/** A connection to no cluster, for a service that is described and not started. */
export const noConnection: Connection = {
  server: 'https://localhost',
  tls: {},
  namespace: undefined,
  authorization: async () => undefined,
  discardAuthorization() {},
};

/** Returns a connection with one permanent token, such as that of the service account. */
export const connectionWith = (token: string, { url, certificateAuthority: ca }: Reached, namespace?: string): Connection => ({
  server: url,
  tls: { ca },
  namespace: namespace ?? serviceNamespace,
  authorization: async () => `Bearer ${token}`,
  discardAuthorization() {},
});
