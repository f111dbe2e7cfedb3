import { expect } from 'chai';
import { sendRaw } from '../../support/raw-http.ts';
import { authorize, Browser, logIn, loginInfoOf, type Reply, userInfoOf } from '../login/provider/browser.ts';
import { publicURL } from '../login/support.ts';
import { expectOK, expectStatus, type RelyingParty, relyingParty } from './conformance/relying-party.ts';
import { hostileForms, scriptForms } from './redirect-forms.ts';

/** Names of redirect parameters in other systems. The service has only `redirect_uri` and `return_to`. */
const foreignNames = [
  ...['redirect', 'rd', 'return_url', 'return', 'returnTo', 'next', 'url', 'target', 'continue', 'dest', 'goto', 'callback'],
  ...['post_logout_redirect_uri', 'client_id', 'response_mode', 'request_uri', 'externalURL', 'referer'],
];
const navigation = { 'sec-fetch-mode': 'navigate', accept: 'text/html' };
const own = new URL(publicURL).host;
const forms = hostileForms(own);

/** Returns every address to which an answer sends a client. */
function targetsOf({ headers, body }: Reply): string[] {
  const said = (body ?? {}) as { auth_url?: string; logout_url?: string };
  const refresh = headers.get('refresh')?.replace(/^\d+;\s*url=/i, '');
  const link = /<([^>]*)>/.exec(headers.get('link') ?? '')?.[1];
  return [headers.get('location'), refresh, link, said.auth_url, said.logout_url].filter((one) => typeof one === 'string');
}

/** Checks the address and the addresses in its parameters. */
function expectOwn({ provider }: RelyingParty, reply: Reply, form: string): void {
  expect(reply.status, form).to.be.oneOf([200, 302, 400, 401, 404]);
  for (const target of targetsOf(reply)) {
    const url = new URL(target, publicURL);
    expect([publicURL, provider.origin], form).to.include(url.origin);
    for (const name of ['redirect_uri', 'post_logout_redirect_uri']) {
      expect([null, `${publicURL}/`], form).to.include(url.searchParams.get(name));
    }
  }
  const names = [...reply.headers.keys()];
  expect(names, form).to.not.include('x');
  expect(
    reply.cookies.every((line) => /^atrium_/.test(line)),
    form,
  ).to.equal(true);
}

describe('redirects', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });

  /** Sends one request for each form, some of them concurrently. */
  async function withEach(ask: (form: string, browser: Browser) => Promise<void>): Promise<void> {
    const left = [...forms];
    const work = async () => {
      for (let form = left.pop(); form !== undefined; form = left.pop()) await ask(form, new Browser(party().service.url));
    };
    await Promise.all(Array.from({ length: 8 }, work));
  }

  const everywhere = (form: string) => new URLSearchParams(Object.fromEntries(foreignNames.map((name) => [name, form]))).toString();
  const isTooLong = (query: string) => query.length > 15_000;

  it('RED-01 are tried in more than five hundred forms', () => {
    expect(forms.length).to.be.above(500);
    expect(hostileForms(own)).to.deep.equal(forms);
  });

  for (const path of ['/api/v1/token/login', '/api/v2/token/login', '/api/v2/token/redirect']) {
    it(`RED-01 use no parameter of another name: ${path}`, () =>
      withEach(async (form, browser) => {
        const query = everywhere(form);
        if (isTooLong(query)) return;
        const reply = await browser.request(`${path}?${query}`, { headers: { ...navigation, referer: 'https://evil.example/' } });
        expect(reply.status, form).to.equal(path.endsWith('redirect') ? 302 : 200);
        expectOwn(party(), reply, form);
      }));

    it(`RED-01 use no issuer but those of the settings: ${path}`, () =>
      withEach(async (form, browser) => {
        const reply = await browser.request(`${path}?${new URLSearchParams({ issuer: form })}`, { headers: navigation });
        expect(reply.status, form).to.equal(400);
        expectOwn(party(), reply, form);
      }));

    it(`RED-01 use no redirect_uri but those of the settings: ${path}`, () =>
      withEach(async (form, browser) => {
        const reply = await browser.request(`${path}?${new URLSearchParams({ redirect_uri: form })}`, { headers: navigation });
        expectStatus(reply, 400, 'redirect_uri');
        expectOwn(party(), reply, form);
        expect(reply.cookies, form).to.deep.equal([]);
      }));

    it(`RED-01 use no return_to that leads elsewhere: ${path}`, () =>
      withEach(async (form, browser) => {
        const reply = await browser.request(`${path}?${new URLSearchParams({ return_to: form })}`, { headers: navigation });
        expectOwn(party(), reply, form);
        if (reply.status === 400) return expectStatus(reply, 400, 'return_to');
        for (const reading of [form, decodeURIComponent(form)]) {
          expect(new URL(reading, publicURL).origin, form).to.equal(publicURL);
        }
        expect(form)
          .to.match(/^\/[^\\]*$/)
          .and.not.match(/\/\/|\p{Cc}/u);
      }));
  }

  it('RED-01 send a browser that lands on the callback nowhere else', async () => {
    const harmless: string[] = [];
    await withEach(async (form, browser) => {
      const login = await browser.login('v2', { return_to: form });
      if (login.status !== 200) return;
      harmless.push(form);
      const answer = await authorize(loginInfoOf(login).auth_url);
      const reply = await browser.request(`/api/v2/token/callback?${answer}&${everywhere('//evil.example')}`, { headers: navigation });
      expect(reply.status, form).to.equal(200);
      expectOwn(party(), reply, form);
      expect(userInfoOf(reply).ext.return_to, form).to.equal(form);
    });
    // The service may refuse all forms; the accepted ones must have been paths.
    for (const form of harmless) expect(form).to.match(/^\/(?!\/)/);
  });

  it('RED-01 use no address in the query of the callback', () =>
    withEach(async (form, browser) => {
      const query = everywhere(form);
      if (isTooLong(query)) return;
      const reply = await browser.request(`/api/v2/token/callback?code=a&state=${'b'.repeat(43)}&${query}`, { headers: navigation });
      expectStatus(reply, 400);
      expectOwn(party(), reply, form);
    }));

  it('RED-01 use no address in the query of logout, when it ends a session', async () => {
    const names = [...foreignNames, 'state', 'redirect_uri', 'return_to'];
    for (let begin = 0; begin < forms.length; begin += names.length) {
      const { browser, callback } = await logIn(party().service);
      const some = names.map((name, index) => [name, forms[begin + index] ?? 'https://evil.example/']);
      const query = new URLSearchParams({
        ...Object.fromEntries(some),
        refresh_token: userInfoOf(callback).ext.token?.refresh_token ?? '',
      });
      const reply = await browser.request(`/api/v2/token/logout?${query}`, { headers: navigation });
      expectOK(reply);
      expectOwn(party(), reply, query.toString());
      expect(new URL(targetsOf(reply)[0] ?? '').searchParams.get('state')).to.match(/^[\w-]{22,}$/);
    }
  });

  for (const operation of ['/api/v1/token/refresh', '/api/v2/token/refresh', '/api/v2/token/logout']) {
    it(`RED-01 use no address in the query of ${operation}, when it refuses`, async () => {
      const { browser } = await logIn(party().service);
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      await withEach(async (form, other) => {
        const query = `refresh_token=${'x'.repeat(43)}&${everywhere(form)}`;
        if (isTooLong(query)) return;
        const reply = await other.request(`${operation}?${query}`, { headers: { ...navigation, cookie } });
        expectStatus(reply, 400);
        expectOwn(party(), reply, form);
      });
    });
  }

  for (const uri of [
    `http://${own}.evil.example/`,
    `http://evil${own}/`,
    `http://${own}@evil.example/`,
    `http://${own}:3838/`,
    `https://${own}/`,
    `http://${own}/console/../admin`,
    `http://${own}`,
    `http://${own}/?`,
    `http://${own}/#`,
    'http://CONSOLE.test/',
  ]) {
    it(`RED-02 never lead to ${uri} as redirect_uri`, async () => {
      for (const path of ['v1/token/login', 'v2/token/login', 'v2/token/redirect']) {
        const reply = await new Browser(party().service.url).request(`/api/${path}?${new URLSearchParams({ redirect_uri: uri })}`);
        expectStatus(reply, 400, 'redirect_uri');
      }
    });
  }

  for (const [what, value] of Object.entries({
    'a line break': '/%0d%0aSet-Cookie:x=1',
    'a line break and a header': '/a%0aLocation:%20https://evil.example',
    'a tab': '/a%09b',
    'U+2028': '/a%E2%80%A8b',
  })) {
    it(`RED-03 refuse ${what}, and write no header of it`, async () => {
      for (const name of ['redirect_uri', 'return_to']) {
        for (const path of ['/api/v1/token/login', '/api/v2/token/login', '/api/v2/token/redirect']) {
          const head = `GET ${path}?${name}=${value} HTTP/1.1\r\nHost: ${own}\r\nSec-Fetch-Mode: navigate\r\nConnection: close\r\n\r\n`;
          const answer = await sendRaw(party().service.port, head);
          expect(answer.status).to.equal(400);
          expect(answer.headers).to.not.have.any.keys('set-cookie', 'location');
          // A refused browser is led to the start page.
          expect(answer.headers.refresh).to.equal(path.endsWith('/redirect') ? '3; url=/' : undefined);
          expect(JSON.parse(answer.body)).to.include({ kind: 'Status', code: 400 });
        }
      }
    });
  }

  it('RED-04 lead to the issuer, whatever the Referer says', async () => {
    const { provider, service } = party();
    const headers = { ...navigation, referer: 'https://evil.example/', origin: 'https://evil.example' };
    const reply = await new Browser(service.url).request('/api/v2/token/redirect', { headers });
    expect(reply.status).to.equal(302);
    const location = new URL(reply.headers.get('location') ?? '');
    expect(location.origin + location.pathname).to.equal(`${provider.issuer}/authorize`);
    expect(location.href).to.equal(loginInfoOf(reply).auth_url);
    expect(location.href).to.not.include('evil.example');
  });

  for (const form of scriptForms) {
    it(`RED-05 refuse ${form}`, async () => {
      for (const name of ['redirect_uri', 'return_to']) {
        for (const path of ['v1/token/login', 'v2/token/login', 'v2/token/redirect']) {
          const query = new URLSearchParams({ [name]: form });
          const reply = await new Browser(party().service.url).request(`/api/${path}?${query}`, { headers: navigation });
          expectStatus(reply, 400, name);
          expect(reply.headers.get('location')).to.equal(null);
        }
      }
    });
  }
});
