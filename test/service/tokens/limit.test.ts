import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { holdAnswer } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aPerson, makePath, tokensPath } from './tokens.ts';

describe('the limit of access tokens', () => {
  const server = forSuite(() => startFaultyServer({ objects: [aPerson('carol')] }));
  before(() => server.kubernetes.applyFile('impersonation.yaml'));

  const statusOfOne = async () =>
    (await server.request(makePath, { method: 'POST', as: 'carol', body: { description: 'one of many' } })).status;
  const total = async () => ((await (await server.request(tokensPath, { as: 'carol' })).json()) as { total: number }).total;

  it('counts a token once that the watch shows before the API server has answered', async () => {
    const isOver = Promise.withResolvers<void>();
    server.faults.inject(holdAnswer(isOver.promise), ({ method, path }) => method === 'POST' && path.endsWith('/accesstokens'), 1);
    const first = statusOfOne();
    await eventually(total, (count) => count === 1);

    const others = await Promise.all(Array.from({ length: 99 }, statusOfOne));
    isOver.resolve();

    expect(others.filter((status) => status !== 201)).to.deep.equal([]);
    expect(await first).to.equal(201);
    // A request waits for the watch, but for a moment only.
    await eventually(total, (count) => count === 100);
    expect(await statusOfOne()).to.equal(409);
  });
});
