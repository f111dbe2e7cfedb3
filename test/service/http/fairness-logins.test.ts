import { createServer, type Socket } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { ScriptedDirectory } from '../../support/scripted-directory.ts';
import { Browser } from '../identity/browser.ts';
import { linksOf } from '../one-time-links/office.ts';
import { Crowd, expectServed, fillings, from, networks, runningOf, times } from './crowd.ts';

const password = 'correct horse battery staple';
const own = '/api/v2/token/info';
const people = ['jane', 'joe', 'june', 'jim'].map((name) => `${name}@example.com`);
const locals = ['local-0@example.com', 'local-1@example.com'];
const [stranger] = networks;

/** A mail server that takes connections, and says nothing. */
async function silentMailServer() {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port, sockets, stop };
}

describe('flows that wait for a directory or for mail', () => {
  const mail = forSuite(silentMailServer);
  const directory = forSuite(() => ScriptedDirectory.start({ entries: [] }));
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [...people, ...locals],
      password,
      credentials: 'impersonate',
      trustedProxies: ['127.0.0.1'],
      maxInFlight: 200,
      users: {
        lockout: { failures: 10_000 },
        ldap: [{ id: 'corp', name: 'corp', url: directory.url, baseDN: 'dc=example,dc=com' }],
      },
      smtp: { host: '127.0.0.1', port: mail.port, tls: 'none', from: 'atrium@example.com' },
    }),
  );
  const browsers: Browser[] = [];
  let crowd: Crowd;

  before(async () => {
    for (const email of people) {
      await service.admin.apply(clusterRoleBinding(`manages-${email.split('@')[0]}`, 'atrium-users-admin', { kind: 'User', name: email }));
      const { browser, status } = await service.logIn(email, password);
      expect(status).to.equal(200);
      browsers.push(browser);
    }
  });
  beforeEach(() => {
    crowd = new Crowd();
    directory.script.hold = () => crowd.isOver;
  });
  afterEach(async () => {
    await crowd.end();
  });

  const of = <T>(all: readonly T[], index: number) => all[index % all.length] as T;
  const address = (index: number) => (index % 2 ? stranger : '198.51.100.7');
  const browserAt = (at: string) => new Browser(service.url, [service.url], { dispatcher: service.dispatcher, headers: from(at) });
  const cookieOf = (browser: Browser | undefined) => (browser?.cookies ?? []).map(({ name, value }) => `${name}=${value}`).join('; ');
  const ask = async (path: string, at: string, init: Parameters<typeof service.request>[1] & { headers?: Record<string, string> } = {}) => {
    const response = await service.request(path, { ...init, headers: from(at, init.headers) });
    await response.arrayBuffer();
    return response;
  };
  const askAs = (browser: Browser | undefined, path: string, at: string, body?: unknown) =>
    ask(path, at, {
      headers: {
        cookie: cookieOf(browser),
        'sec-fetch-site': 'same-origin',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  /** Opens the page of the embedded issuer for a password. */
  const loginPage = async (browser: Browser) => {
    const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie`);
    return browser.get(JSON.parse(body).auth_url);
  };
  const logIn = async (email: string, at: string) => {
    const browser = browserAt(at);
    const { url } = await browser.submit(await loginPage(browser), { email, password });
    return (await browser.get(`${service.url}/api/v2/token/callback${url.search}`)).response;
  };
  const others = () => browsers.slice(1);
  /** 20 clients that behave, half of them in the network of the stranger. */
  const behaving = () => ({
    ...times(8, 'session', (index) => askAs(of(others(), index), own, address(index))),
    ...times(2, 'issuer', (index) => askAs(of(others(), index), '/identity/.well-known/openid-configuration', stranger)),
    ...times(2, 'local login', (index) => logIn(of(locals, index), `198.51.100.${index + 20}`)),
    ...times(4, 'page', (index) => ask('/', address(index))),
    ...times(2, 'livez', (index) => ask('/livez', address(index))),
    ...times(2, 'readyz', (index) => ask('/readyz', address(index))),
  });
  /** Sends passwords of users who may be in the directory. */
  const fill = async (count: number, addresses: readonly string[], session: Browser['cookies'] = []) => {
    const pages = await Promise.all(
      addresses.map(async (at) => {
        const browser = browserAt(at);
        const page = await loginPage(browser);
        for (const { name, value, path } of session) browser.keep(`${name}=${value}; Path=${path}`);
        return { browser, page };
      }),
    );
    crowd.send(count, async (index) => {
      const { browser, page } = of(pages, index);
      return (await browser.submit(page, { email: `unknown-${index}@example.com`, password })).response;
    });
  };

  for (const [what, addresses] of Object.entries(fillings))
    it(`LIM-20 leave places to others while passwords of ${what} wait for a directory`, async () => {
      await fill(60 + 60 * addresses.length, addresses);
      await crowd.refused(10);
      expect(await runningOf(service.metricsURL)).to.include({ directory: 3 * addresses.length, passwords: 0 });
      await expectServed(behaving());
    });

  it('LIM-20 leave places to others while passwords of one person wait for a directory', async () => {
    await fill(
      60,
      [stranger],
      (browsers[0]?.cookies ?? []).filter(({ path }) => path === '/'),
    );
    await crowd.refused(40);
    await expectServed(behaving());
    expect((await ask('/api/v2/token/login', stranger)).status).to.equal(200);
  });

  it('LIM-20 hold no place for mail that one person sends', async () => {
    const [manager, second] = browsers;
    const [first = '', other = ''] = locals;
    const send = (browser: Browser | undefined, email: string) =>
      askAs(browser, linksOf(email), stranger, { kind: 'password', mail: true });
    await eventually(
      async () => (await send(manager, first)).status,
      (status) => status === 202,
    );
    for (let sent = 0; sent < 20; sent += 1) expect((await send(manager, first)).status).to.equal(202);
    const before = mail.sockets.size;
    expect(await runningOf(service.metricsURL)).to.include({ mail: 2 });
    expect((await send(second, other)).status).to.equal(202);
    await eventually(
      () => mail.sockets.size,
      (count) => count > before,
    );
    await expectServed(behaving());
  });

  for (const [what, addresses] of Object.entries(fillings))
    it(`LIM-20 hold no place for mail that ${what} asks for`, async () => {
      const forget = (index: number) =>
        ask('/identity/forgotten', of(addresses, index), {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
          body: new URLSearchParams({ email: of(people, index) }).toString(),
        });
      crowd.send(40, forget);
      await eventually(
        () => crowd.count(200),
        (count) => count === 40,
      );
      await expectServed(behaving());
    });
});
