import { setImmediate as nextPhase, setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { forSuite } from '../../../test/support/for-suite.ts';
import { clientOf, FakeApiServer, forever } from './fake-api-server.ts';

const tabs = 6;
const rounds = 100;

describe('requests that are passed on', () => {
  const server = forSuite(() => new FakeApiServer().start());
  const passage = forSuite(async () => {
    const client = clientOf(server);
    return { answer: client.passageOf({ token: 'of-jane', hash: 'hash of jane' }), stop: () => client.close() };
  });
  const pass = async (path: string, signal = forever()): Promise<number> => {
    const call = { method: 'GET', path, search: '', headers: {}, isLong: false, signal };
    const { statusCode, body } = await passage.answer.answer(call);
    body.resume();
    return statusCode;
  };

  it('succeed at the moment at which the page before them is left', async () => {
    server.answer(({ path }, response) => path === '/api' && response.end('{}'));
    const outcomes: (number | string)[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const page = new AbortController();
      const left = Array.from({ length: tabs }, () => pass('/unanswered', page.signal).catch(() => 0));
      await sleep(0);
      page.abort(new Error('the page is left'));
      // The connections of the page are closing now.
      await nextPhase();
      outcomes.push(...(await Promise.all(Array.from({ length: tabs }, () => pass('/api').catch(String)))));
      await Promise.all(left);
    }

    expect(outcomes.filter((outcome) => outcome !== 200)).to.deep.equal([]);
  });
});
