import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { sendRaw } from '../../../test/support/raw-http.ts';
import { type BareService, startBareService } from './bare-service.ts';
import { operations } from './frame-operations.ts';

const trustedProxies = ['127.0.0.1', '10.0.0.0/8', '2001:db8:ffff::/48', '::ffff:172.16.0.0/108'];

/** Values of `X-Forwarded-For` as proxies send them, with the resulting source. */
const sources: Record<string, string> = {
  '203.0.113.8': '203.0.113.8',
  '203.0.113.8:51001': '203.0.113.8',
  ' 203.0.113.8:51001 ': '203.0.113.8',
  '"203.0.113.8:51001"': '203.0.113.8',
  '[203.0.113.8]:51001': '203.0.113.8',
  '2001:db8::1': '2001:db8::1',
  '2001:DB8:0:0:0:0:0:1': '2001:db8::1',
  '[2001:db8::1]': '2001:db8::1',
  '[2001:db8::1]:443': '2001:db8::1',
  '"[2001:db8::1]:443"': '2001:db8::1',
  '::ffff:203.0.113.8': '203.0.113.8',
  '::ffff:cb00:7108': '203.0.113.8',
  '[::FFFF:203.0.113.8]:51001': '203.0.113.8',
  'fe80::1%eth0': 'fe80::1',
  '[fe80::1%25eth0]:443': 'fe80::1',
  // A trusted proxy vouches for the address before its own.
  '203.0.113.8:51001, 10.0.0.2:8080': '203.0.113.8',
  '203.0.113.8, [2001:db8:ffff::1]:443': '203.0.113.8',
  '203.0.113.8, ::ffff:10.0.0.2': '203.0.113.8',
  '203.0.113.8, 172.16.0.1': '203.0.113.8',
  '198.51.100.1, 203.0.113.8:51001': '203.0.113.8',
  ', 203.0.113.8:51001,, ,10.0.0.2,': '203.0.113.8',
  '10.0.0.3, 10.0.0.2': '10.0.0.3',
  // Values that are no address: the source is the peer that sent them.
  unknown1: '127.0.0.1',
  _hidden: '127.0.0.1',
  'unknown, 10.0.0.2': '10.0.0.2',
  '198.51.100.1, unknown': '127.0.0.1',
  '203.0.113.8:port': '127.0.0.1',
  '203.0.113.8:510011': '127.0.0.1',
  '203.0.113.008': '127.0.0.1',
  '203.0.113.8:1:2': '127.0.0.1',
  '[203.0.113.8': '127.0.0.1',
  '[2001:db8::1]443': '127.0.0.1',
  '[[2001:db8::1]]': '127.0.0.1',
  '203.0.113.8/24': '127.0.0.1',
  'for=203.0.113.8': '127.0.0.1',
  '""': '127.0.0.1',
  ', ,': '127.0.0.1',
  [':'.repeat(15_000)]: '127.0.0.1',
  ['10.0.0.2,'.repeat(1_600)]: '10.0.0.2',
};

describe('the address of a client behind trusted proxies', () => {
  let service: BareService;
  before(async () => {
    service = await startBareService(operations, { trustedProxies });
  });
  after(() => service.stop());

  const sourceOf = async (lines: string) => {
    const id = crypto.randomUUID();
    const answer = await sendRaw(
      service.port,
      `GET /api/tagged HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: ${id}\r\n${lines}\r\n`,
    );
    expect(answer.status).to.equal(200);
    const line = await eventually(
      () => service.logLines.find((text) => text.includes(id)),
      (found) => found !== undefined,
    );
    return JSON.parse(line ?? '{}').source;
  };

  for (const [header, source] of Object.entries(sources))
    it(`cases/06 is ${source} by ${JSON.stringify(header.slice(0, 60))}`, async () => {
      expect(await sourceOf(`X-Forwarded-For: ${header}\r\n`)).to.equal(source);
    });

  it('cases/06 is found in several headers as in one list', async () => {
    expect(await sourceOf('X-Forwarded-For: 203.0.113.8:51001\r\nX-Forwarded-For: 10.0.0.2:8080\r\n')).to.equal('203.0.113.8');
  });

  it('S1 reads the last 32 entries', async () => {
    const proxies = (count: number) => Array.from({ length: count }, (_, index) => `10.0.1.${index}`).join();

    expect(await sourceOf(`X-Forwarded-For: 203.0.113.8,${proxies(31)}\r\n`)).to.equal('203.0.113.8');
    expect(await sourceOf(`X-Forwarded-For: 203.0.113.8,${proxies(32)}\r\n`)).to.equal('10.0.1.0');
  });
});
