import type { ApiServer, Person } from './api-server.ts';
import { ClusterAdmin } from './cluster-admin.ts';
import { forSuite } from './for-suite.ts';

/** Speaks to the cluster itself as that person, for as long as the suite runs. */
export const clientOf = (cluster: ApiServer, person: Person): ClusterAdmin =>
  forSuite(
    async () => new ClusterAdmin(cluster, await cluster.token(person)),
    (client) => client.close(),
  );
