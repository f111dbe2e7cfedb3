import { Readable } from 'node:stream';
import { setImmediate as nextPhase, setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { forSuite } from '../../../test/support/for-suite.ts';
import { clientOf, FakeApiServer, forever } from './fake-api-server.ts';

const tabs = 6;
const rounds = 100;

interface Sent {
  method?: string;
  text?: string;
  signal?: AbortSignal;
}

describe('requests that are passed on', () => {
  const server = forSuite(() => new FakeApiServer().start());
  const passage = forSuite(async () => {
    const client = clientOf(server);
    return { answer: client.passageOf({ token: 'of-jane', hash: 'hash of jane' }), stop: () => client.close() };
  });
  const pass = async (path: string, { method = 'GET', text, signal = forever() }: Sent = {}): Promise<number> => {
    const content = text === undefined ? undefined : { stream: Readable.from([Buffer.from(text)]), length: text.length };
    const call = { method, path, search: '', headers: {}, body: content, isLong: false, signal };
    const { statusCode, body } = await passage.answer.answer(call);
    body.resume();
    return statusCode;
  };

  const calls: Record<string, Sent> = {
    reads: {},
    'writes with a body': { method: 'PATCH', text: '{}' },
    'writes without a body': { method: 'DELETE' },
  };
  for (const [what, call] of Object.entries(calls))
    it(`succeed at the moment at which the page before them is left, as ${what}`, async () => {
      const bodies: string[] = [];
      server.answer(({ path, body }, response) => path === '/api' && bodies.push(body) && response.end('{}'));
      const outcomes: (number | string)[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const page = new AbortController();
        const left = Array.from({ length: tabs }, () => pass('/unanswered', { signal: page.signal }).catch(() => 0));
        await sleep(0);
        page.abort(new Error('the page is left'));
        // The connections of the page are closing now.
        await nextPhase();
        outcomes.push(...(await Promise.all(Array.from({ length: tabs }, () => pass('/api', call).catch(String)))));
        await Promise.all(left);
      }

      expect(outcomes.filter((outcome) => outcome !== 200)).to.deep.equal([]);
      expect(bodies).to.deep.equal(Array.from({ length: rounds * tabs }, () => call.text ?? ''));
    });
});
