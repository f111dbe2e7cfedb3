import type { ApiServer, Person } from './api-server.ts';
import { ClusterAdmin } from './cluster-admin.ts';
import { forSuite } from './for-suite.ts';

/** Returns a client of the cluster itself for that person, for the time of the suite. */
export const clientOf = (cluster: ApiServer, person: Person): ClusterAdmin =>
  forSuite(
    async () => new ClusterAdmin(cluster, await cluster.token(person)),
    (client) => client.close(),
  );
