import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { startDoor } from './support.ts';

const mayI = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'may_i', arguments: { verb: 'get', resource: 'pods' } } };

interface Result {
  result: { isError?: boolean; structuredContent: { error?: { code: number }; allowed?: boolean } };
}

describe('the bounds of agents', () => {
  const door = forSuite(() => startDoor({ alice: {}, bob: {} }));
  const ask = async (person: string) => ((await (await door.post(person, mayI)).json()) as Result).result;

  /** Calls that alice's agent has made. */
  let calls = 0;

  it('refuse a user whose agent loops, and no other user', async () => {
    const codes = new Set<number | undefined>();
    while (!codes.has(429) && calls < 2_000) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask('alice')));
      calls += answers.length;
      for (const { structuredContent } of answers) codes.add(structuredContent.error?.code);
    }
    expect([...codes]).to.have.members([undefined, 429]);
    expect((await ask('bob')).structuredContent).to.include({ allowed: false });
  });

  it('leave an event for each call, refused or not', () => {
    const events = door.auditLines.map((line) => JSON.parse(line)).filter(({ audit }) => audit === 'AgentCalledTool');
    expect(events).to.have.length(calls + 1);
    expect(new Set(events.map(({ code }) => code))).to.deep.equal(new Set([200, 429]));
  });
});
