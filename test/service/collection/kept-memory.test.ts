import { queryObjects } from 'node:v8';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { collectedMemory } from '../../support/collected-memory.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const mebibyte = 1024 * 1024;

describe('memory that lists keep', () => {
  const server = forSuite(() => startServer());

  const list = async (query: string) => {
    const response = await server.request(`/auth/v2/users?${query}`, { as: 'admin' });
    expect(response.status).to.equal(200);
    return response.arrayBuffer();
  };

  it('grows by the bytes of cached pages, and not by larger blocks behind them', async () => {
    await list('search=first');
    const before = collectedMemory().arrayBuffers;

    for (let index = 0; index < 200; index += 1) {
      await list(`search=nobody-${index}`);
      // Other requests cut bytes out of the same blocks.
      for (let other = 0; other < 4; other += 1) Buffer.from('x'.repeat(16_000));
    }

    // The pages have 200 bytes each.
    expect(collectedMemory().arrayBuffers - before).to.be.below(2 * mebibyte);
  });

  it('keeps nothing of a live list after its client has left', async () => {
    const alive = () => queryObjects(AbortSignal, { format: 'count' });
    const watch = async () => {
      const leaving = new AbortController();
      const headers = { accept: 'text/event-stream' };
      const response = await server.request('/auth/v2/users?watch=true', { as: 'admin', headers, signal: leaving.signal });
      expect(response.status).to.equal(200);
      leaving.abort();
      await response.text().catch(() => undefined);
    };
    await watch();
    const before = alive();

    for (let index = 0; index < 100; index += 1) await watch();

    await eventually(alive, (count) => count - before < 20);
  });
});
