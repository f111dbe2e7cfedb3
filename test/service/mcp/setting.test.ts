import { expect } from 'chai';
import { ConfigError, parseConfig } from '../../../src/config/load.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const publicURL = 'https://console.example.com';

describe('the door for agents that is turned off', () => {
  const server = forSuite(() => startServer());

  it('is 404 for each method', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const body = method === 'POST' ? { body: message } : {};
      expect((await server.request('/mcp', { method, as: 'admin', ...body })).status, method).to.equal(404);
    }
  });
});

describe('the setting features.mcp', () => {
  const parse = (config: object) => parseConfig({ yaml: JSON.stringify({ features: { mcp: true }, ...config }) });

  it('needs an address of the service and an issuer', () => {
    for (const config of [{}, { server: { publicURL }, identity: { enabled: false } }])
      expect(() => parse(config)).to.throw(ConfigError, 'features.mcp');
    expect(parse({ server: { publicURL } }).features.mcp).to.equal(true);
  });

  it('takes changes without a confirmation only with mcp.writes: direct, and that only with changes', () => {
    const direct = [{ namespaces: ['shop'], verbs: ['patch'], resources: ['deployments.apps'] }];
    expect(parse({ server: { publicURL }, mcp: { writes: 'direct', direct } }).mcp.direct).to.deep.equal(direct);
    for (const mcp of [{ writes: 'direct' }, { direct }, { writes: 'propose', direct }])
      expect(() => parse({ server: { publicURL }, mcp }), JSON.stringify(mcp)).to.throw(ConfigError, 'mcp.direct');
    for (const rule of [{ namespaces: [] }, { verbs: ['deletecollection'] }, { resources: ['*'] }, { namespaces: ['*'] }]) {
      const mcp = { writes: 'direct', direct: [{ ...direct[0], ...rule }] };
      expect(() => parse({ server: { publicURL }, mcp }), JSON.stringify(rule)).to.throw(ConfigError, 'mcp.direct[0]');
    }
  });
});
