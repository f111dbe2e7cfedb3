import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { ConfigError, effectiveSettings, parseConfig } from '../../../src/config/load.ts';
import { configurationReference } from '../../../src/config/reference.ts';

function problemsOf(sources: Parameters<typeof parseConfig>[0]): Record<string, string> {
  try {
    parseConfig(sources);
  } catch (error) {
    if (error instanceof ConfigError) return Object.fromEntries(error.problems.map(({ path, message }) => [path, message]));
    throw error;
  }
  throw new Error('the configuration was accepted');
}

describe('the configuration', () => {
  it('needs nothing: every setting has a default', () => {
    const config = parseConfig({});

    expect(config.server).to.include({ port: 8080, metricsPort: 9090, bodyLimit: 1024 * 1024, requestTimeout: 30_000, maxInFlight: 1000 });
    expect(config.console.envsFilter).to.equal('^CONSOLE_PUBLIC_');
  });

  it('takes durations and sizes as people write them', () => {
    const { server, kubernetes } = parseConfig({
      yaml: 'server: { bodyLimit: 64KiB, shutdownGrace: 2m }\nkubernetes: { accessCache: 250ms }',
    });

    expect([server.bodyLimit, server.shutdownGrace, kubernetes.accessCache]).to.deep.equal([65_536, 120_000, 250]);
  });

  it('reports every problem at once, each with its path and a valid value', () => {
    const problems = problemsOf({
      yaml: `
        server: { port: eighty, bodyLimit: 3XB, trustedProxies: [10.0.0.0/64], prot: 1 }
        console: { languages: [{ id: "e n", name: English }], envsFilter: "(" }
        sever: {}`,
      environment: { ATRIUM_SERVER__COLOUR: 'red' },
    });

    expect(problems).to.have.all.keys(
      'server.port',
      'server.bodyLimit',
      'server.trustedProxies[0]',
      'server.prot',
      'console.languages[0].id',
      'console.envsFilter',
      'sever',
      'ATRIUM_SERVER__COLOUR',
    );
    expect(problems['server.bodyLimit']).to.equal('must be a size such as 65536, 512KiB or 1MiB');
    expect(problems['server.prot']).to.contain('is not a setting');
  });

  it('names the nearest setting for one that is misspelt', () => {
    const problems = problemsOf({
      yaml: `
        sevrer: { port: 1 }
        server: { publicUrl: https://example.com, tls: { certfile: a, keyFile: b, certFile: c } }
        console: { languages: [{ id: en, name: English, nmae: x }], statics: {}, zzz: 1 }
        login: { issuerUri: https://issuer.example.com }`,
      environment: { ATRIUM_SERVER__PROT: '1', ATRIUM_CONSOLE__STATIC__DIR: 'x', ATRIUM_SERVR__PORT: '1' },
    });

    expect(problems).to.deep.equal({
      sevrer: 'is not a setting; did you mean server?',
      'server.publicUrl': 'is not a setting; did you mean server.publicURL?',
      'server.tls.certfile': 'is not a setting; did you mean server.tls.certFile?',
      'console.languages[0].nmae': 'is not a setting; did you mean console.languages[0].name?',
      'console.statics': 'is not a setting; did you mean console.static?',
      'console.zzz': 'is not a setting; see docs/configuration.md',
      'login.issuerUri': 'is not a setting; did you mean login.issuer?',
      ATRIUM_SERVER__PROT: 'is not a setting; did you mean ATRIUM_SERVER__PORT?',
      ATRIUM_CONSOLE__STATIC__DIR: 'is not a setting; see docs/configuration.md',
      ATRIUM_SERVR__PORT: 'is not a setting; did you mean ATRIUM_SERVER__PORT?',
    });
  });

  it('refuses webhooks without TLS outside of the cluster, with a name twice, and more than five', () => {
    const webhook = (url: string, name = 'chat') => ({ name, url, secretFile: '/etc/secret' });
    const problems = (...webhooks: unknown[]) => problemsOf({ yaml: JSON.stringify({ accessRequests: { webhooks } }) });
    for (const url of ['http://chat.example.com/', 'http://chat.svc.example.com/', 'https://u:p@chat.example.com/', 'ftp://a.svc/', 'chat'])
      expect(Object.keys(problems(webhook(url))), url).to.deep.equal(['accessRequests.webhooks[0].url']);
    for (const url of ['https://chat.example.com/a?b=c', 'http://receiver.shop.svc:8080/', 'http://[::1]:9/', 'http://127.0.0.1:9/'])
      expect(
        parseConfig({ yaml: JSON.stringify({ accessRequests: { webhooks: [webhook(url)] } }) }).accessRequests.webhooks,
      ).to.have.length(1);
    expect(problems(webhook('https://a.example.com/'), webhook('https://b.example.com/'))).to.have.keys('accessRequests.webhooks');
    const many = Array.from({ length: 6 }, (_, index) => webhook('https://a.example.com/', `w${index}`));
    expect(problems(...many)).to.have.keys('accessRequests.webhooks');
  });

  it('refuses a directory whose search has half a credential, or whose TLS would begin twice', () => {
    const url = 'ldaps://directory.example.com';
    const connector = { id: 'corp', name: 'Corporation', url, baseDN: 'dc=example,dc=com', bindDN: 'cn=reader', startTLS: true };
    const problems = problemsOf({ yaml: JSON.stringify({ users: { ldap: [connector] } }) });
    expect(problems).to.have.all.keys('users.ldap[0].bindPasswordFile', 'users.ldap[0].startTLS');
  });

  it('refuses a file that is not a YAML mapping, or holds a key twice', () => {
    expect(problemsOf({ yaml: '- a\n- b' })['']).to.contain('must be a mapping');
    expect(problemsOf({ yaml: 'server: { port: 1 }\nserver: { port: 2 }' })['']).to.contain('unique');
  });

  it('refuses user names from claims that users choose themselves at the embedded issuer', () => {
    const publicURL = 'https://console.example.com';
    const settings = (username: string, login: object = {}, more: object = {}) => ({
      yaml: JSON.stringify({ server: { publicURL }, login: { ...login, claims: { username } }, ...more }),
    });
    for (const username of ['name', 'preferred_username', 'groups', 'federated_claims'])
      expect(problemsOf(settings(username)), username).to.have.all.keys('login.claims.username');
    expect(problemsOf(settings('name', { issuer: `${publicURL}/identity` }, { identity: { enabled: true } }))).to.have.all.keys(
      'login.claims.username',
    );
    for (const username of ['email', 'sub']) expect(() => parseConfig(settings(username))).to.not.throw();
    expect(() => parseConfig(settings('name', { issuer: 'https://issuer.example.com' }))).to.not.throw();
  });

  it('refuses the id_token flow with the embedded issuer on plain http', () => {
    const settings = (publicURL: string) => ({ yaml: `server: { publicURL: "${publicURL}" }\nlogin: { responseMode: id_token }` });

    expect(problemsOf(settings('http://console.example.com'))).to.have.key('login.responseMode');
    expect(() => parseConfig(settings('https://console.example.com'))).not.to.throw();
    expect(() =>
      parseConfig({
        yaml: `${settings('http://console.example.com').yaml}\n`.replace('login: {', 'login: { issuer: "https://idp.example",'),
      }),
    ).not.to.throw();
  });

  it('refuses to require a second factor that nobody can set up', () => {
    const settings = (publicURL: string, factors: object, more: object = {}) => ({
      yaml: JSON.stringify({ server: { publicURL }, login: { factors }, ...more }),
    });
    const [host, address] = ['https://console.example.com', 'https://192.0.2.1'];
    const [never, rule] = [{ passkeys: false, totp: false }, { rules: [{ group: 'admins', factors: 'required' }] }];

    for (const [publicURL, factors] of [
      [host, { default: 'required', ...never }],
      [host, { ...rule, ...never }],
      [address, { ...rule, totp: false }],
    ] as const)
      expect(problemsOf(settings(publicURL, factors)), JSON.stringify(factors)).to.have.all.keys('login.factors.totp');
    for (const [publicURL, factors] of [
      [host, { ...rule, totp: false }],
      [host, { ...rule, passkeys: false }],
      [host, never],
    ] as const)
      expect(() => parseConfig(settings(publicURL, factors)), JSON.stringify(factors)).not.to.throw();
    expect(() => parseConfig(settings(host, { ...rule, ...never }, { features: { factors: false } }))).not.to.throw();
  });

  it('is overridden by variables: text as it is, anything else as YAML', () => {
    const { server, console } = parseConfig({
      yaml: 'server: { port: 1234 }',
      environment: {
        ATRIUM_SERVER__PORT: '4321',
        ATRIUM_SERVER__PUBLICURL: 'https://console.example.com/',
        ATRIUM_CONSOLE__STATIC__FALLBACK: 'true',
        ATRIUM_CONSOLE__LANGUAGES: '[{ id: de, name: Deutsch }]',
      },
    });

    expect([server.port, server.publicURL, console.static.fallback]).to.deep.equal([4321, 'https://console.example.com/', 'true']);
    expect(console.languages).to.deep.equal([{ id: 'de', name: 'Deutsch' }]);
  });

  it('ignores the variables that a kubelet sets for a Service called atrium', () => {
    expect(() => parseConfig({ environment: { ATRIUM_SERVICE_HOST: '10.0.0.1', ATRIUM_PORT: 'tcp://10.0.0.1:80' } })).not.to.throw();
  });

  it('cannot be changed once it is read', () => {
    const config = parseConfig({});

    expect(() => Object.assign(config.server, { port: 1 })).to.throw(TypeError);
    expect(Object.isFrozen(config.console.languages)).to.equal(true);
  });

  it('prints the effective configuration, so that printing it again gives the same', () => {
    const first = effectiveSettings({ yaml: 'server: { port: 1, bodyLimit: 2MiB }' });

    expect(first).to.have.nested.property('server.bodyLimit', '2MiB');
    expect(first).to.have.nested.property('server.requestTimeout', '30s');
    expect(effectiveSettings({ yaml: JSON.stringify(first) })).to.deep.equal(first);
  });

  it('refuses direct shells only where all users are impersonated', () => {
    const login = { issuer: 'https://issuer.example.com', clientID: 'console' };
    const withCredentials = (credentials?: string) => ({
      yaml: JSON.stringify({ audit: { refuseDirectShells: true }, kubernetes: { credentials }, login }),
    });

    expect(problemsOf(withCredentials())).to.have.all.keys('audit.refuseDirectShells');
    expect(parseConfig(withCredentials('impersonate')).audit.refuseDirectShells).to.equal(true);
  });

  it('is described in docs/configuration.md as the schema has it (npm run docs writes the page)', async () => {
    expect(await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')).to.equal(configurationReference());
  });
});
