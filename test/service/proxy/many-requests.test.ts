import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from './api-server-between.ts';
import { things } from './support.ts';

describe('many requests of one caller to the Kubernetes API at once', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startServer({ between: between.start }));

  it('LIM-11 are answered up to 100 at a time, and others have their turn', async () => {
    const held: ServerResponse[] = [];
    between.handle = (_request, response) => void held.push(response);
    const ask = (as: 'alice' | 'bob') => server.request(things, { as });
    const asked = Array.from({ length: 100 }, () => ask('alice'));
    await eventually(
      () => held.length,
      (count) => count === 100,
    );

    const oneMore = await ask('alice');
    const { code, message } = (await oneMore.json()) as { code: number; message: string };
    const ofBob = ask('bob');
    await eventually(
      () => held.length,
      (count) => count === 101,
    );
    for (const response of held) response.setHeader('Content-Type', 'application/json').end('{}');
    const answers = await Promise.all([...asked, ofBob]);
    between.handle = (_request, response) => response.setHeader('Content-Type', 'application/json').end('{}');

    expect(oneMore.status).to.equal(429);
    expect(oneMore.headers.get('retry-after')).to.equal('1');
    expect(code).to.equal(429);
    expect(message).to.equal('too many requests of yours are under way, try again');
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(101).fill(200));
    // An answer that has arrived at the client may still be in progress in the service.
    await eventually(
      () => ask('alice'),
      ({ status }) => status === 200,
    );
  });
});
