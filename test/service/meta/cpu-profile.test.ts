import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const path = '/debug/v1/cpuprofile';

/** Runtime.Profile of the Chrome DevTools Protocol, as far as it is read here. */
const profile = z.object({
  nodes: z.array(z.object({ callFrame: z.object({ functionName: z.string(), url: z.string() }) })).min(1),
  startTime: z.number(),
  endTime: z.number(),
  samples: z.array(z.number()),
});

describe('POST /debug/v1/cpuprofile', () => {
  const server = forSuite(() => startServer({ environment: { HOSTNAME: 'pod-1' }, config: { features: { cpuProfile: true } } }));
  const post = (seconds: number | string, as?: 'admin' | 'alice', signal?: AbortSignal) =>
    server.request(`${path}?seconds=${seconds}`, { method: 'POST', ...(as && { as }), ...(signal && { signal }) });
  const audited = () => server.auditLines.map((line): Record<string, unknown> => JSON.parse(line));

  it('records a profile for callers who may post to that path', async () => {
    const response = await post(1, 'admin');

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-disposition')).to.equal('attachment; filename="atrium-pod-1.cpuprofile"');
    const { startTime, endTime, nodes } = profile.parse(await response.json());
    expect(endTime - startTime).to.be.at.least(1e6);
    expect(nodes.map(({ callFrame }) => callFrame.functionName)).to.include('(root)');
    expect(audited().at(-1)).to.deep.include({ audit: 'CpuProfileTaken', outcome: 'success', code: 200 });
  });

  it('refuses other callers', async () => {
    expect((await post(1)).status).to.equal(401);
    const response = await post(1, 'alice');

    expect(response.status).to.equal(403);
    expect(await response.json()).to.deep.include({ message: `forbidden: User "alice" cannot post path "${path}"` });
    expect(audited().at(-1)).to.deep.include({ audit: 'AccessDenied', outcome: 'failure', code: 403 });
  });

  it('bounds the seconds', async () => {
    for (const seconds of [0, 31, 'x']) expect((await post(seconds, 'admin')).status, String(seconds)).to.equal(400);
  });

  it('records one profile at a time, and ends when its caller leaves', async () => {
    const leaving = new AbortController();
    const both = [post(30, 'admin', leaving.signal), post(30, 'admin', leaving.signal)];
    const first = await Promise.race(both);
    expect(first.status).to.equal(429);
    expect(Number(first.headers.get('retry-after'))).to.be.within(1, 30);

    leaving.abort();
    await Promise.allSettled(both);
    await eventually(
      async () => (await post(1, 'admin')).status,
      (status) => status === 200,
    );
  });
});

describe('POST /debug/v1/cpuprofile by default', () => {
  const server = forSuite(() => startServer());

  it('is off', async () => {
    expect((await server.request(path, { method: 'POST', as: 'admin' })).status).to.equal(405);
  });
});
