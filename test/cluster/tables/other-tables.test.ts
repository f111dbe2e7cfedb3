import { connect } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { compareTables, written } from './compare-tables.ts';
import { samples } from './samples.ts';

describe('Tables of the other kinds', () => {
  const server = forSuite(() => apiServer());
  const admin = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );

  for (const [title, family] of Object.entries(samples))
    it(`shows ${title} as the API server does`, async () => {
      for (const [path, body, status] of family) await compareTables(admin, path, await written(admin, path, body, status));
    });
});
