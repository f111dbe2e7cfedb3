import { once } from 'node:events';
import { expect } from 'chai';
import { forSuite } from '../../../support/for-suite.ts';
import { ApiServerBetween } from '../../proxy/api-server-between.ts';
import { startDoor } from '../support.ts';

describe('the tool logs', () => {
  const path = '/api/v1/namespaces/shop/pods/cart/log';
  const between = new ApiServerBetween(path);
  const door = forSuite(() => startDoor({ alice: {} }, { between: between.start }));
  const cart = { namespace: 'shop', pod: 'cart' };
  const log = (text: string) => {
    between.handle = (_request, response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end(text);
  };

  it('asks for the newest lines as the user, and returns them with escapes', async () => {
    log('begin\n\u001b[31mred\u001b[0m \u202eevil\nend\n');
    const { note, data } = await door.call('alice', 'logs', { ...cart, container: 'web', previous: true, lines: 3, sinceSeconds: 60 });
    expect(note).to.equal('3 lines, oldest first.');
    expect(data).to.deep.equal({ pod: 'cart', container: 'web', lines: ['begin', '\\u001b[31mred\\u001b[0m \\u202eevil', 'end'] });
    const asked = new URL(between.last.url ?? '', 'https://cluster').searchParams;
    expect(Object.fromEntries(asked)).to.include({ container: 'web', previous: 'true', tailLines: '3', sinceSeconds: '60' });
    expect(between.last.headers['impersonate-user']).to.equal('alice');
  });

  it('keeps the newest lines of a long log, each whole', async () => {
    const lines = Array.from({ length: 2_000 }, (_, index) => `line ${index} ${'x'.repeat(90)}`);
    log(`${lines.join('\n')}\n`);
    const { note, data } = await door.call('alice', 'logs', { ...cart, lines: 1000 });
    expect(note).to.match(/^\d+ lines, oldest first\. Older lines are left out: ask for fewer lines\.$/);
    const shown = data.lines as string[];
    expect(shown).to.deep.equal(lines.slice(-shown.length));
    expect(shown.length).to.be.greaterThan(300);
  });

  it('ends the call to the API server when the agent leaves', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<{ closed: Promise<unknown> }>();
    between.handle = (_request, response) => {
      response.writeHead(200).write('begin\n');
      resolve({ closed: once(response, 'close') });
    };
    const left = new AbortController();
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'logs', arguments: cart } };
    const answer = door.post('alice', call, {}, left.signal);
    const { closed } = await asked;
    left.abort();
    await Promise.all([closed, answer.catch(() => undefined)]);
  });
});
