/** Agents that describe themselves at the URL that is their client id (OAuth Client ID Metadata Document). */
import type { Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { publicNetwork } from '@atrium/http/outgoing.ts';
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { AgentClient, tokensOf } from './agent.ts';

const password = 'correct horse battery';
const ada = 'ada@example.com';

type Answer = (response: ServerResponse, id: string) => void;

const send = (response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

const documentOf = (id: string, differing: object = {}) => ({
  client_id: id,
  client_name: 'Helper',
  redirect_uris: [`${new URL(id).origin}/callback`, 'http://127.0.0.1/callback'],
  ...differing,
});

/** Server of documents, by path. */
class Documents {
  readonly paths: string[] = [];
  readonly #answers = new Map<string, Answer>();
  #server: Server | undefined;
  port = 0;

  async start(): Promise<void> {
    this.port = await freePort();
  }

  /** Listens with the certificate of the tests. */
  async listen(tls: { cert: string; key: string }): Promise<void> {
    this.#server = createSecureServer(tls, ({ url = '' }, response) => {
      this.paths.push(url);
      const answer = this.#answers.get(url) ?? ((each) => send(each, {}, 404));
      answer(response, this.idOf(url));
    });
    await listen(this.#server, this.port);
  }

  idOf(path: string, host = 'agent.example.com'): string {
    return `https://${host}:${this.port}${path}`;
  }

  /** @returns the client id */
  publish(path: string, answer: Answer = (response, id) => send(response, documentOf(id))): string {
    this.#answers.set(path, answer);
    return this.idOf(path);
  }

  async stop(): Promise<void> {
    if (this.#server) await stopListening(this.#server);
  }
}

describe('an agent that describes itself', () => {
  const documents = forSuite(async () => {
    const made = new Documents();
    await made.start();
    return made;
  });
  /** Names that resolve to addresses inside the network. */
  const inside = new Map([['inside.example.com', '10.0.0.7']]);
  const login = forSuite(async () => {
    const service = await startEmbeddedLogin({
      emails: [ada],
      password,
      credentials: 'impersonate',
      features: { mcp: true },
      languages: ['en', 'de', 'zh'],
      pluginContext: {
        network: {
          resolve: async (hostname) => [inside.get(hostname) ?? '127.0.0.1'],
          isRefused: (address) => address !== '127.0.0.1' && publicNetwork.isRefused(address),
        },
      },
    });
    const { certificate: cert, key } = service.cluster.serving;
    await documents.listen({ cert, key });
    return service;
  });
  const agent = (clientID: string, redirectURI = `https://agent.example.com:${documents.port}/callback`) =>
    new AgentClient(login, { clientID, redirectURI });
  const ask = async (clientID: string, redirectURI?: string) => (await agent(clientID, redirectURI).ask(ada, password)).page;

  it('gets a token after a page with its name, its host and the host of the return', async () => {
    const client = agent(documents.publish('/helper.json'));
    const { browser, page } = await client.ask(ada, password);
    expect(page.body).to.include(`Helper (agent.example.com:${documents.port})`);
    const tokens = tokensOf(await client.redeem(await browser.submit(page, {})));
    expect(await client.isAccepted(tokens.access_token)).to.equal(true);
    expect(tokensOf(await client.refresh(tokens.refresh_token)).scope).to.equal('mcp:read');
  });

  it('is asked about in the languages of the pages', async () => {
    const client = agent(documents.publish('/languages.json'));
    for (const [language, text] of [
      ['en', 'Allow a program to read as you?'],
      ['de', 'Einem Programm erlauben'],
      ['zh', '是否允许程序'],
    ] as const) {
      const browser = client.browser({ 'accept-language': language });
      expect((await client.ask(ada, password, { browser })).page.body).to.include(text);
    }
  });

  it('gets tokens for the door alone, also without a resource', async () => {
    const client = agent(documents.publish('/plain.json'));
    const { browser, page } = await client.ask(ada, password, { differing: { resource: '', scope: 'openid email' } });
    expect(page.body).to.include('Helper');
    const answer = await client.redeem(await browser.submit(page, {}), { resource: '' });
    expect(answer.body).to.not.have.property('id_token');
    expect(await client.isAccepted(tokensOf(answer).access_token)).to.equal(true);
  });

  it('returns to loopback with any port, and to no other address', async () => {
    const id = documents.publish('/loopback.json');
    const page = await ask(id, 'http://127.0.0.1:49152/callback');
    expect(page.body).to.include('this computer');
    for (const uri of [
      'http://127.0.0.1:49152/other',
      'http://localhost:49152/callback',
      `https://agent.example.com:${documents.port}/callback/`,
      `https://agent.example.com:${documents.port}/callback?next=1`,
      'https://agent.example.com/callback',
      'https://evil.example.com/callback',
    ])
      expect((await ask(id, uri)).response.status, uri).to.equal(400);
  });

  it('has no address of another host, and no member that causes calls', async () => {
    const redirect_uris = ['https://evil.example.com/callback', `https://agent.example.com:${documents.port}/callback`];
    const further = ['jwks_uri', 'sector_identifier_uri', 'backchannel_logout_uri', 'logo_uri'];
    const id = documents.publish('/members.json', (response, own) =>
      send(response, documentOf(own, { redirect_uris, ...Object.fromEntries(further.map((name) => [name, documents.idOf(`/${name}`)])) })),
    );
    expect((await ask(id, redirect_uris[0])).response.status).to.equal(400);
    expect((await ask(id)).body).to.include('Helper');
    expect(documents.paths.filter((path) => further.includes(path.slice(1)))).to.deep.equal([]);
  });

  const refused: Record<string, Answer> = {
    'names another client': (response, id) => send(response, documentOf(id, { client_id: `${id}x` })),
    'is a redirect': (response, id) => send(response, {}, 302, { location: id.replace('redirect', 'helper') }),
    'has a mebibyte': (response, id) => send(response, documentOf(id, { client_name: 'Helper', padding: 'x'.repeat(1024 * 1024) })),
    'is no JSON': (response) => void response.writeHead(200).end('<html>'),
    'has a name with a direction mark': (response, id) => send(response, documentOf(id, { client_name: 'Hel\u202eper' })),
    'has no usable address': (response, id) => send(response, documentOf(id, { redirect_uris: ['https://evil.example.com/callback'] })),
    'has an address with a user name': (response, id) =>
      send(response, documentOf(id, { redirect_uris: [`https://user@agent.example.com:${documents.port}/callback`] })),
    'answers 500': (response, id) => send(response, documentOf(id), 500),
  };
  for (const [index, [what, answer]] of Object.entries(refused).entries())
    it(`is refused if its document ${what}`, async () => {
      const id = documents.publish(`/redirect-${index}.json`, answer);
      expect((await ask(id)).response.status).to.equal(400);
      expect((await ask(id)).response.status).to.equal(400);
      expect(documents.paths.filter((path) => path === `/redirect-${index}.json`)).to.have.length(1);
    });

  it('is refused at once unless its id is an https URL with a path at a public host', async () => {
    documents.publish('/helper.json');
    const before = documents.paths.length;
    const id = documents.idOf('/helper.json');
    for (const given of [
      documents.idOf('/'),
      `${id}#part`,
      id.replace('https://', 'https://user@'),
      id.replace('https:', 'http:'),
      id.replace('agent.example.com', 'AGENT.example.com'),
      id.replace('/helper', '/x/../helper'),
      id.replace('agent.example.com', '127.0.0.1'),
      id.replace('agent.example.com', '[::1]'),
      id.replace('agent.example.com', 'localhost'),
      id.replace('agent.example.com', 'inside.example.com'),
      `${id}?${'x'.repeat(600)}`,
    ])
      expect((await ask(given)).response.status, given).to.equal(400);
    expect(documents.paths.length).to.equal(before);
  });
});

describe('the network of agents', () => {
  it('has public addresses alone', () => {
    const refused = [
      '10.1.2.3',
      '127.0.0.1',
      '169.254.169.254',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '198.18.0.1',
      '0.0.0.0',
      '224.0.0.1',
    ];
    const refusedV6 = ['::1', '::', 'fc00::1', 'fd12::1', 'fe80::1', '64:ff9b::a00:1', '2002:a00:1::', '::ffff:10.0.0.1', 'ff02::1'];
    for (const address of [...refused, ...refusedV6]) expect(publicNetwork.isRefused(address), address).to.equal(true);
    for (const address of ['93.184.215.14', '8.8.8.8', '2606:4700::1111'])
      expect(publicNetwork.isRefused(address), address).to.equal(false);
  });
});
