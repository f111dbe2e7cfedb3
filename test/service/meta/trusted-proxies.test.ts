import { expect } from 'chai';
import { startServer } from '../../support/server.ts';

describe('X-Forwarded-For from a peer that is not trusted', () => {
  const warnings = (lines: readonly string[]) =>
    lines.map((line): Record<string, unknown> => JSON.parse(line)).filter(({ msg }) => String(msg).includes('server.trustedProxies'));
  const forwarded = { 'X-Forwarded-For': '203.0.113.7' };

  it('is reported once in the log, and in /readyz?verbose, and changes nothing else', async () => {
    const server = await startServer();
    try {
      const readiness = async () => (await fetch(`${server.metricsURL}/readyz?verbose`)).text();
      expect(await readiness()).to.include('[+]trustedProxies ok');
      expect(warnings(server.logLines)).to.deep.equal([]);

      for (let n = 0; n < 3; n += 1) expect((await server.request('/version', { headers: forwarded })).status).to.equal(200);

      expect(warnings(server.logLines)).to.have.length(1);
      expect(warnings(server.logLines)[0]).to.include({ level: 'warn', peer: '127.0.0.1' });
      expect(await readiness()).to.include('[-]trustedProxies failed (not critical): 127.0.0.1 sends X-Forwarded-For');
      expect((await server.request('/readyz')).status).to.equal(200);
      const told = await (await server.request('/readyz?verbose')).text();
      expect(told, 'S12').to.include('[-]trustedProxies failed (not critical): reason withheld').and.to.not.include('127.0.0.1');
      expect(server.logLines.join('')).to.not.include('203.0.113.7');
    } finally {
      await server.stop();
    }
  });

  it('is not logged where the peer is trusted', async () => {
    const server = await startServer({ config: { server: { trustedProxies: ['127.0.0.1'] } } });
    try {
      await server.request('/version', { headers: forwarded });
      expect(warnings(server.logLines)).to.deep.equal([]);
      expect(await (await server.request('/readyz?verbose')).text()).to.include('[+]trustedProxies ok');
    } finally {
      await server.stop();
    }
  });
});
