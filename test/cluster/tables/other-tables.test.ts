import { connect } from '../../service/conformance/api-client.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { compareTables, written } from './compare-tables.ts';
import { samples } from './samples.ts';

describe('the Table of each other kind', () => {
  const server = forSuite(() => apiServer());
  const admin = forSuite(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );

  for (const [title, family] of Object.entries(samples))
    it(`shows ${title} as the API server does`, async () => {
      for (const [path, body, status] of family) await compareTables(admin, path, await written(admin, path, body, status));
    });

  it('shows objects in deletion as the API server does', async () => {
    const kept = new Set(['done', 'failed', 'failing', 'suspended', 'bound']);
    const family = [...(samples.jobs ?? []), ...(samples.storage ?? [])];
    for (const [path, body, status] of family) {
      const { metadata, ...object } = body as { metadata: { name: string } };
      if (!kept.has(metadata.name)) continue;
      const name = `deleted-${metadata.name}`;
      await written(admin, path, { ...object, metadata: { name, finalizers: ['example.com/kept'] } }, status);
      await admin.delete(`${path}/${name}`);
      await compareTables(admin, path, await admin.read(`${path}/${name}`));
    }
  });
});
