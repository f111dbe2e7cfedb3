import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser } from './a-user.ts';

describe('the user list at its limits', () => {
  const server = forSuite(() => startServer());
  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(...Array.from({ length: 200 }, (_, index) => aUser(`person${index}@example.com`)));
    await eventually(
      async () => (await server.request('/auth/v2/users?limit=1', { as: 'viewer' })).json(),
      (list) => (list as { total?: number }).total === 200,
    );
  });

  it('LIM-07 answers probes in between when 300 hostile filters are asked at once, and keeps a bounded number of their results', async () => {
    const answered: string[] = [];
    const filters = Array.from({ length: 300 }, (_, index) =>
      server
        .request(`/auth/v2/users?filterBy=${encodeURIComponent(`username,(a+)+$${index}`)}`, { as: 'viewer' })
        .then(async (response) => {
          answered.push('filter');
          return { status: response.status, list: (await response.json()) as { total: number } };
        }),
    );
    const probe = await server.request('/healthz');
    const before = answered.length;
    const results = await Promise.all(filters);

    expect(probe.status).to.equal(200);
    expect(before).to.be.below(300);
    for (const { status, list } of results) expect([status, list.total]).to.deep.equal([200, 0]);
    const metrics = await (await fetch(`${server.metricsURL}/metrics`)).text();
    expect(Number(/atrium_cache_entries\{cache="users_lists"\} (\d+)/.exec(metrics)?.[1])).to.be.within(1, 200);
  });
});
