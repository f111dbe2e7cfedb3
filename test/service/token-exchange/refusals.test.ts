import { expect } from 'chai';
import { describe, it } from 'mocha';
import { ConfigError, parseConfig } from '../../../src/config/load.ts';
import { forSuite } from '../../support/for-suite.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { aMachine, audience, branch, exchange, startExchange, workloadToken } from './workloads.ts';

describe('refused exchanges in the audit', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const trusts = (sub: string) => [{ issuer: provider.issuer, audience, claims: { sub } }];
  const server = forSuite(() =>
    startExchange(provider, [
      aMachine('shop', trusts(branch)),
      aMachine('off', trusts(branch), { is_disabled: true }),
      aMachine('twin-1', trusts('twin')),
      aMachine('twin-2', trusts('twin')),
    ]),
  );
  const events = () =>
    server.auditLines
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ audit }) => audit === 'TokenExchangeRefused')
      .map(({ reason, issuer, workload, code }) => ({ reason, issuer, workload, code }));

  it('have the reason, and verified parts of the token alone', async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const [token, client_id] of [
      ['made-up', 'shop'],
      [workloadToken(provider, { signer: 'unpublished RS256' }), 'shop'],
      [workloadToken(provider, { claims: { iat: now - 7200, exp: now - 3600 } }), 'shop'],
      [workloadToken(provider, { claims: { sub: 'stranger' } }), 'shop'],
      [workloadToken(provider), 'nobody'],
      [workloadToken(provider), 'off'],
      [workloadToken(provider, { claims: { sub: 'twin' } }), undefined],
    ] as const)
      expect((await exchange(server, token, { client_id })).status).to.equal(400);

    expect(events()).to.deep.equal([
      { reason: 'IssuerUnknown', issuer: undefined, workload: undefined, code: 400 },
      { reason: 'TokenInvalid', issuer: 'ci', workload: undefined, code: 400 },
      { reason: 'TokenInvalid', issuer: 'ci', workload: undefined, code: 400 },
      { reason: 'NotTrusted', issuer: 'ci', workload: 'stranger', code: 400 },
      { reason: 'NotTrusted', issuer: 'ci', workload: branch, code: 400 },
      { reason: 'AccountDisabled', issuer: 'ci', workload: branch, code: 400 },
      { reason: 'NotNamed', issuer: 'ci', workload: 'twin', code: 400 },
    ]);
    expect(server.auditLines.join('')).not.to.include('eyJ').and.not.to.include('made-up');
  });

  it('are ten a minute of a network at most, so that a stranger cannot fill it', async () => {
    for (let count = 0; count < 60; count += 1) expect((await exchange(server, 'made-up')).status).to.equal(400);
    // A slow machine needs more than a minute.
    expect(events().length).to.be.within(10, 40);
    // An exchange that is not refused has its event all the same.
    expect((await exchange(server, workloadToken(provider), { client_id: 'shop' })).status).to.equal(200);
    expect(server.auditLines.join('')).to.include('"TokenExchanged"');
  });

  it('do not have faults of the request, such as the id of an operation that does not exist', async () => {
    const before = events().length;
    const ask = (scope: string) => exchange(server, workloadToken(provider), { client_id: 'shop', scope });
    for (const scope of ['operation:', 'operation:NoSuch', 'read operation:listusers', 'operation:ListUsers operation:NoSuch'])
      expect((await ask(scope)).body, scope).to.include({ code: 400, error: 'invalid_scope' });
    expect(events()).to.have.length(before);
    expect((await ask('operation:ListUsers')).body.scope).to.equal('operation:ListUsers');
  });
});

describe('the settings of the exchange', () => {
  const parse = (issuer: object, features: object = {}) =>
    parseConfig({
      yaml: JSON.stringify({
        server: { publicURL: audience },
        features: { tokenExchange: true, ...features },
        tokenExchange: { issuers: [{ id: 'ci', issuer: 'https://ci.example.com', audience, ...issuer }] },
      }),
    });

  it('have no audience of agents, which is the address of /mcp', () => {
    const ofAgents = { audience: `${audience}/mcp` };
    expect(() => parse(ofAgents, { mcp: true })).to.throw(ConfigError, 'tokenExchange.issuers[0].audience');
    expect(parse({}, { mcp: true }).tokenExchange.issuers).to.have.length(1);
    expect(parse(ofAgents).tokenExchange.issuers).to.have.length(1);
  });
});
