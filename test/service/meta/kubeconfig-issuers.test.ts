import { expect } from 'chai';
import { parse } from 'yaml';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { jane, TwoIssuers } from '../login/two-issuers.ts';

const kim = { sub: 'kim-1', email: 'kim@corp.example', email_verified: true, name: 'Kim', groups: ['dev'] };
const scopes = ['openid', 'email', 'groups'];
const path = '/auth/v1/kubeconfig';

interface Kubeconfig {
  clusters: { cluster: { server: string } }[];
  users: { name: string; user: { token?: string; exec: { args: string[] } } }[];
}

/** Its one user, and where that one logs in. */
function userIn(text: string) {
  const [user] = (parse(text) as Kubeconfig).users;
  return { name: user?.name.split('/')[0], args: user?.user.exec.args ?? [] };
}

const fieldOf = (status: unknown) => (status as { details?: { causes?: { field?: string }[] } }).details?.causes?.[0]?.field;

const bearerIn = (body: unknown) => (body as { ext: { token: { access_token: string } } }).ext.token.access_token;

describe('GET /auth/v1/kubeconfig where there are several issuers', () => {
  const two = forSuite(() => TwoIssuers.start({ scopes, cli: { clientID: 'console' } }, { credentials: 'passthrough' }));

  before(async () => {
    const { corp, service } = two;
    corp.person = kim;
    const prefixes = { usernamePrefix: 'corp:', groupsPrefix: 'corp:' };
    // Access tokens act by impersonation.
    await service.admin.applyFile('impersonation.yaml');
    await service.cluster.trustIssuer({ url: corp.issuer, audiences: [corp.clientID], ...prefixes });
  });

  const atCorp = () => [
    'token',
    `--issuer=${two.corp.issuer}`,
    // The first issuer has an authority of its own, which no other issuer gets.
    '--client-id=console',
    '--scopes=openid email groups',
  ];
  const atFirst = () => ['token', `--issuer=${two.service.url}/identity`];

  it('logs in where the session did', async () => {
    const { browser } = await two.logInAtCorp();
    const { status, text } = await two.get(browser, path);
    expect(status, text).to.equal(200);
    expect(userIn(text)).to.deep.equal({ name: 'corp:kim@corp.example', args: atCorp() });

    const here = userIn((await two.get((await two.logInHere()).browser, path)).text);
    expect(here).to.deep.include({ name: jane });
    expect(here.args.slice(0, 2)).to.deep.equal(atFirst());
    expect(here.args.some((argument) => argument.startsWith('--ca-data='))).to.equal(true);
  });

  it('logs in at the issuer of the bearer token', async () => {
    for (const [{ body }, expected] of [
      [await two.logInAtCorp({ storage: 'local' }), atCorp().slice(0, 2)],
      [await two.logInHere('local'), atFirst()],
    ] as const) {
      const answer = await two.service.request(path, { headers: { authorization: `Bearer ${bearerIn(body)}` } });
      const text = await answer.text();
      expect(answer.status, text).to.equal(200);
      expect(userIn(text).args.slice(0, 2)).to.deep.equal(expected);
    }
  });

  it('logs in at the issuer that the query names, as a user whose name is not known yet', async () => {
    const { browser } = await two.logInHere();
    expect(userIn((await two.get(browser, `${path}?issuer=corp`)).text)).to.deep.equal({ name: 'corp', args: atCorp() });
    expect(userIn((await two.get(browser, `${path}?issuer=local`)).text)).to.deep.include({ name: jane });
  });

  it('logs in where the account is that an access token acts as', async () => {
    for (const [{ body }, expected] of [
      [await two.logInAtCorp({ storage: 'local' }), { name: 'corp:kim@corp.example', args: atCorp().slice(0, 2) }],
      [await two.logInHere('local'), { name: jane, args: atFirst() }],
    ] as const) {
      const headers = { authorization: `Bearer ${bearerIn(body)}`, 'content-type': 'application/json' };
      const wanted = JSON.stringify({ description: 'a script' });
      const made = await (await two.service.request('/auth/v1/accesstoken', { method: 'POST', headers, body: wanted })).text();
      const { token: accessToken = '' } = JSON.parse(made) as { token?: string };
      expect(accessToken, made).to.match(/^cat_/);
      const answer = await two.service.request(path, { headers: { authorization: `Bearer ${accessToken}` } });
      const text = await answer.text();
      expect(answer.status, text).to.equal(200);
      const { name, args } = userIn(text);
      expect({ name, args: args.slice(0, 2) }).to.deep.equal(expected);
    }
  });

  it('logs in at the first for callers without an issuer', async () => {
    const answer = await two.service.request(path, { headers: { authorization: `Bearer ${await two.service.cluster.token('admin')}` } });
    const text = await answer.text();
    expect(answer.status, text).to.equal(200);
    expect(userIn(text).args.slice(0, 2)).to.deep.equal(atFirst());
  });

  it('refuses an unknown id, and an issuer for the token of the request', async () => {
    const { browser } = await two.logInAtCorp();
    for (const query of ['issuer=other', 'issuer=', `issuer=${two.corp.issuer}`, 'issuer=corp&issuer=local', 'mode=token&issuer=corp']) {
      const { status, body } = await two.get(browser, `${path}?${query}`);
      expect(status, query).to.equal(400);
      expect(fieldOf(body), query).to.equal('issuer');
    }
  });
});

describe('GET /auth/v1/kubeconfig where one issuer of several is embedded', () => {
  const corp = { id: 'corp', issuer: 'https://corp.example', cli: { clientID: 'corp-cli', scopes: ['openid'] } };
  const partners = { id: 'partners', issuer: 'https://partners.example', claims: { usernamePrefix: 'p:', groupsPrefix: 'p:' } };
  const local = { id: 'local', claims: { usernamePrefix: 'local-user:', groupsPrefix: 'directory:' } };
  const login = { issuers: [corp, partners, local], cli: { clientID: 'cli', scopes: ['openid', 'email'] } };
  const server = forSuite(() => startServer({ config: { server: { publicURL: 'https://console.example' }, login } }));

  it('asks by the client and the scopes of the issuer, or those for all', async () => {
    for (const [query, ...args] of [
      ['', '--issuer=https://corp.example', '--client-id=corp-cli', '--scopes=openid'],
      ['?issuer=partners', '--issuer=https://partners.example', '--client-id=cli', '--scopes=openid email'],
    ]) {
      const answer = await server.request(`${path}${query}`, { as: 'viewer' });
      const text = await answer.text();
      expect(answer.status, text).to.equal(200);
      expect(userIn(text).args).to.deep.equal(['token', ...args]);
    }
  });

  it('names the console for the issuer whose tokens the API server does not accept', async () => {
    const answer = await server.request(`${path}?issuer=local`, { as: 'viewer' });
    const text = await answer.text();
    expect(answer.status, text).to.equal(200);
    expect((parse(text) as Kubeconfig).clusters[0]?.cluster.server).to.equal('https://console.example/api/kubernetes');
    expect(userIn(text).args).to.include.members(['--issuer=https://console.example/identity', '--client-id=cli']);
  });
});
