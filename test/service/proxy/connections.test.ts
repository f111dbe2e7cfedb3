import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from './api-server-between.ts';
import { things } from './support.ts';

describe('connections to the API server', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startServer({ between: between.start }));

  it('are opened once for a list and the watch that follows it', async () => {
    // The service has 14 lists with their watches; short calls, for leases and keys, have some connections of their own.
    expect(server.relay.accepted).to.be.within(14, 23);
  });

  it('end with the watches of callers who leave, and none is opened instead', async () => {
    const held = new Set<ServerResponse>();
    between.handle = (_request, response) => {
      held.add(response);
      response.once('close', () => held.delete(response));
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{}\n');
    };
    const leaving = new AbortController();
    const watch = (signal?: AbortSignal) => server.request(`${things}?watch=true`, { as: 'alice', ...(signal && { signal }) });
    await Promise.all(Array.from({ length: 30 }, () => watch(leaving.signal)));
    const opened = server.relay.accepted;

    leaving.abort();
    await eventually(
      () => held.size,
      (count) => count === 0,
    );
    const after = await watch();

    expect(after.status).to.equal(200);
    // The watch needs one connection; a lease may have needed one meanwhile.
    expect(server.relay.accepted - opened).to.be.within(1, 10);
    await after.body?.cancel();
  });
});
