import { createLog } from '@atrium/http/telemetry/log.ts';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { issuersOf } from '../../../src/config/issuers.ts';
import { ConfigError, parseConfig } from '../../../src/config/load.ts';
import { TestApp } from '../../support/test-app.ts';
import { asDex } from './provider/misbehaviour.ts';
import { TestProvider } from './provider/provider.ts';

type Login = Record<string, unknown>;

const server = { publicURL: 'https://console.example.com' };
const parsed = (login: Login, identity: Login = {}) => parseConfig({ yaml: stringify({ server, login, identity }) });

/** Paths of the problems. */
function problemsOf(login: Login, identity: Login = {}): string[] {
  try {
    parsed(login, identity);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path }) => path);
    throw error;
  }
}

const corp = { id: 'corp', issuer: 'https://corp.example.com', claims: { usernamePrefix: 'corp:', groupsPrefix: 'corp:' } };
const partners = { id: 'partners', issuer: 'https://partners.example.com', claims: { usernamePrefix: 'p:', groupsPrefix: 'p:' } };
const local = { id: 'local' };

describe('the settings of several issuers', () => {
  it('take the embedded issuer for one that names none, beside others and before or behind them', () => {
    for (const issuers of [
      [local, corp, partners],
      [corp, partners, local],
    ]) {
      const found = issuersOf(parsed({ issuers }));
      expect(found.map(({ id }) => id)).to.deep.equal(issuers.map(({ id }) => id));
      expect(found.find(({ isEmbedded }) => isEmbedded)?.issuer).to.equal('https://console.example.com/identity');
    }
    expect(issuersOf(parsed({ issuers: [corp, partners] })).some(({ isEmbedded }) => isEmbedded)).to.equal(false);
  });

  it('take `login.issuer` for a list of one', () => {
    const [one, ...further] = issuersOf(parsed({ issuer: corp.issuer, claims: { groupsPrefix: 'x:' }, audiences: ['kubectl'] }));
    expect(further).to.deep.equal([]);
    expect(one).to.deep.include({ id: 'oidc', issuer: corp.issuer, isEmbedded: false, audiences: ['kubectl'] });
    expect(one?.claims.groupsPrefix).to.equal('x:');
    expect(issuersOf(parsed({}))[0]).to.deep.include({ id: 'local', isEmbedded: true });
  });

  for (const [what, issuers, path] of [
    ['two ids that are equal', [corp, { ...partners, id: 'corp' }], 'login.issuers'],
    ['two issuers that are equal', [corp, { ...partners, issuer: corp.issuer }], 'login.issuers[1].issuer'],
    ['two entries of the embedded one', [local, { ...partners, issuer: undefined }], 'login.issuers[1].issuer'],
    ['two without a prefix of names', [local, { ...corp, claims: { groupsPrefix: 'c:' } }], 'login.issuers[1].claims.usernamePrefix'],
    [
      'two with one prefix of names',
      [corp, { ...partners, claims: { usernamePrefix: 'corp:', groupsPrefix: 'p:' } }],
      'login.issuers[1].claims.usernamePrefix',
    ],
    [
      'a prefix of names that begins with another',
      [corp, { ...partners, claims: { usernamePrefix: 'corp:p:', groupsPrefix: 'p:' } }],
      'login.issuers[1].claims.usernamePrefix',
    ],
    ['two without a prefix of groups', [local, { ...corp, claims: { usernamePrefix: 'c:' } }], 'login.issuers[1].claims.groupsPrefix'],
    [
      'a prefix of groups that another begins with',
      [corp, { ...partners, claims: { usernamePrefix: 'p:', groupsPrefix: 'co' } }],
      'login.issuers[1].claims.groupsPrefix',
    ],
    [
      'one domain twice',
      [
        { ...corp, emailDomains: ['example.com'] },
        { ...partners, emailDomains: ['example.com'] },
      ],
      'login.issuers[1].emailDomains',
    ],
    [
      'a redirect URL that does not say whose it is',
      [corp, { ...partners, redirectURL: 'https://console.example.com/partners' }],
      'login.issuers[1].redirectURL',
    ],
    ['an id that is no label', [{ ...corp, id: 'Corp.1' }], 'login.issuers[0].id'],
    ['a username claim that local users choose', [{ ...local, claims: { username: 'name' } }], 'login.issuers[0].claims.username'],
  ] as const)
    it(`ISS-05 refuse ${what}`, () => {
      expect(problemsOf({ issuers })).to.deep.equal([path]);
    });

  it('ISS-05 refuse settings of one issuer beside the list, and the embedded one where it is off', () => {
    expect(problemsOf({ issuers: [corp], issuer: partners.issuer, clientID: 'x' })).to.have.members(['login.issuer', 'login.clientID']);
    expect(problemsOf({ issuers: [local, corp] }, { enabled: false })).to.deep.equal(['login.issuers[0].issuer']);
    expect(problemsOf({ issuers: [corp], redirectURLs: ['https://console.example.com/'], perMinute: 60 })).to.deep.equal([]);
  });
});

describe('Dex among several issuers', () => {
  /** No API server is needed to refuse a start. */
  async function startOf(entry: Login): Promise<unknown> {
    const app = new TestApp({
      config: parseConfig({
        yaml: stringify({ server: { ...server, host: '127.0.0.1', port: 0, metricsPort: 0 }, login: { issuers: [local, entry] } }),
      }),
      connection: {
        server: 'https://127.0.0.1:1',
        namespace: 'default',
        tls: {},
        authorization: async () => undefined,
        discardAuthorization() {},
      },
      environment: {},
      log: createLog({ level: 'silent', format: 'json' }),
    });
    try {
      return await app.start();
    } catch (error) {
      return error;
    } finally {
      await app.stop();
    }
  }

  it('ISS-05 keeps the service from starting, unless it has a redirect URL of its own', async () => {
    const dex = await TestProvider.start();
    dex.misbehave(asDex);
    try {
      const entry = { ...corp, id: 'dex', issuer: dex.issuer };
      const refused = await startOf(entry);
      expect(refused).to.be.instanceOf(ConfigError);
      expect((refused as ConfigError).problems.map(({ path }) => path)).to.deep.equal(['login.issuers[1].redirectURL']);
      expect(await startOf({ ...entry, redirectURL: `${server.publicURL}/?issuer=dex` })).to.have.property('port');
    } finally {
      await dex.stop();
    }
  });
});
