import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { ApiClient, connect } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';

/**
 * Starts kube-apiserver and the embedded cluster for a suite, each with an administrator's client.
 *
 * @param controllers further ones of kube-controller-manager, beside those of every test
 */
export function bothClusters(...controllers: string[]) {
  const server = forSuite(() => apiServer({ controllers }));
  const cluster = forSuite(() => Cluster.start({ hasWorkloads: true }));
  const real = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );
  /** Issues a token of the embedded cluster's administrator. */
  const ownToken = () => cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
  const embedded = forSuite(
    async () => {
      const { url, certificateAuthority } = cluster;
      const token = await ownToken();
      return new ApiClient({ url, certificateAuthority, token: async () => token, stop: async () => {} }, token);
    },
    (client) => client.close(),
  );
  return { server, cluster, real, embedded, ownToken };
}
