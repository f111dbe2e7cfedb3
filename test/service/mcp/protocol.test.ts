import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { publicURL, startDoor } from './support.ts';

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('the door for agents', () => {
  const door = forSuite(() => startDoor({ alice: {} }));

  it('answers a message in JSON, without a session', async () => {
    const answer = await door.post('alice', listTools);
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('content-type')).to.match(/^application\/json/);
    expect(answer.headers.has('mcp-session-id')).to.equal(false);
    expect(await answer.json()).to.have.nested.property('result.tools[0].name');
  });

  it('has no streams and no sessions: GET and DELETE are 405', async () => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await fetch(door.doorURL, { method, headers: { Authorization: 'Bearer alice' } });
      expect(answer.status, method).to.equal(405);
    }
  });

  it('answers 401 without a token', async () => {
    expect((await door.post(undefined, listTools)).status).to.equal(401);
  });

  it('takes no other token of the service', async () => {
    const answer = await door.request('/mcp', { method: 'POST', as: 'admin', body: listTools });
    expect(answer.status).to.equal(401);
  });

  it('refuses pages of other origins', async () => {
    expect((await door.post('alice', listTools, { Origin: 'https://evil.example.com' })).status).to.equal(403);
    expect((await door.post('alice', listTools, { Origin: publicURL })).status).to.equal(200);
  });

  it('refuses bodies above 256 KiB, and bodies that are not JSON', async () => {
    const long = JSON.stringify({ ...listTools, params: { text: 'x'.repeat(256 * 1024) } });
    expect((await door.post('alice', long)).status).to.equal(413);
    expect((await door.post('alice', '{')).status).to.equal(400);
    expect((await door.post('alice', listTools, { 'Content-Type': 'text/plain' })).status).to.equal(415);
  });
});
