import type { Connection } from '../../src/kubernetes/connection.ts';
import type { OwnApiServer } from './api-server.ts';
import { ClusterAdmin, serviceNamespace } from './cluster-admin.ts';

type Reached = Pick<OwnApiServer, 'url' | 'certificateAuthority'>;

/** The administrator of a cluster that gets all that an installation applies. */
export async function install(cluster: Reached & Pick<OwnApiServer, 'token' | 'isInstalled'>): Promise<ClusterAdmin> {
  const admin = new ClusterAdmin(cluster, await cluster.token('admin'));
  await admin.install();
  return admin;
}

/** A connection to no cluster, for a service that is looked at and not started. */
export const noConnection: Connection = {
  server: 'https://localhost',
  tls: {},
  namespace: undefined,
  authorization: async () => undefined,
  discardAuthorization() {},
};

/** A connection with one token for ever, such as that of the service's account. */
export const connectionWith = (token: string, { url, certificateAuthority: ca }: Reached, namespace?: string): Connection => ({
  server: url,
  tls: { ca },
  namespace: namespace ?? serviceNamespace,
  authorization: async () => `Bearer ${token}`,
  discardAuthorization() {},
});
