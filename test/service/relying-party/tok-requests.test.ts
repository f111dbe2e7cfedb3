/** Forms in which a bearer token is accepted, and in which it is refused. */
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type RawAnswer, sendRaw } from '../../support/raw-http.ts';
import { Browser, logIn, userInfoOf } from '../login/provider/browser.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import { cookieName as sessionCookie } from '../sessions/support.ts';
import { expectStatus } from './conformance/relying-party.ts';
import { expectNoBearer, logInWith, tokenWays } from './token-ways.ts';

const versions = ['v1', 'v2'] as const;
const part = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('bearer tokens', () => {
  const ways = tokenWays();

  const withHeaders = (version: string, ...headers: string[]): Promise<RawAnswer> =>
    sendRaw(
      ways().service.port,
      `GET /api/${version}/token/info HTTP/1.1\r\nHost: console.test\r\nConnection: close\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`,
    );

  it('TOK-12 are read from the Authorization header alone', async () => {
    const { provider, service } = ways();
    const token = provider.idToken();
    for (const version of versions) {
      const path = `/api/${version}/token/info`;
      const browser = new Browser(service.url);
      for (const name of ['access_token', 'token', 'id_token', 'bearer', 'authorization']) {
        expectStatus(await browser.request(`${path}?${name}=${token}`), 401);
      }
      for (const name of ['token', 'access_token', 'id_token', 'Authorization', sessionCookie, `__Host-${sessionCookie}`, 'session']) {
        expectStatus(await new Browser(service.url).request(path, { headers: { cookie: `${name}=${token}` } }), 401);
      }
      for (const name of [
        'x-access-token',
        'x-forwarded-access-token',
        'x-auth-request-access-token',
        'proxy-authorization',
        'x-id-token',
      ]) {
        expectStatus(await browser.request(path, { headers: { [name]: `Bearer ${token}` } }), 401);
      }
      const form = { method: 'POST' as const, body: new URLSearchParams({ access_token: token }) };
      expect((await browser.request(path, form)).status).to.equal(405);
      expect((await browser.info(version, token)).status, 'and it would be a good one').to.equal(200);
    }
  });

  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    it(`TOK-13 may call the scheme ${scheme}`, async () => {
      const token = ways().provider.idToken();
      for (const version of versions) expect((await withHeaders(version, `Authorization: ${scheme} ${token}`)).status).to.equal(200);
    });
  }

  const malformed: Record<string, (token: string) => string[]> = {
    'no token': () => ['Authorization: Bearer'],
    'a space for a token': () => ['Authorization: Bearer  '],
    'an empty header': () => ['Authorization:'],
    'two tokens': (token) => [`Authorization: Bearer ${token} ${token}`],
    'two words': () => ['Authorization: Bearer a b'],
    'tokens with a comma': (token) => [`Authorization: Bearer ${token}, Bearer ${token}`],
    'no scheme': (token) => [`Authorization: ${token}`],
    Basic: () => ['Authorization: Basic amFuZTpzZWNyZXQ='],
    'Basic with the token': (token) => [`Authorization: Basic ${token}`],
    Digest: () => ['Authorization: Digest username="jane"'],
    'two headers': (token) => [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`],
    'two headers, one empty': (token) => [`Authorization: Bearer ${token}`, 'Authorization:'],
    'one part': () => ['Authorization: Bearer abc'],
    'two parts': (token) => [`Authorization: Bearer ${token.split('.').slice(0, 2).join('.')}`],
    'four parts': (token) => [`Authorization: Bearer ${token}.abc`],
    'five parts': (token) => [`Authorization: Bearer ${token}.abc.def`],
    dots: () => ['Authorization: Bearer ....'],
    'a header that is no JSON': (token) => [`Authorization: Bearer ${part('{')}.${token.split('.').slice(1).join('.')}`],
    'a header that is a list': (token) => [`Authorization: Bearer ${part([])}.${token.split('.').slice(1).join('.')}`],
    'a payload that is no object': (token) => [`Authorization: Bearer ${token.split('.')[0]}.${part('"x"')}.${token.split('.')[2]}`],
    'an encrypted token that asks for two thousand million rounds': () => [
      `Authorization: Bearer ${part({ alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 2 ** 31, p2s: 'AAAAAAAAAAA' })}.AAAA.AAAA.AAAA.AAAA`,
    ],
    'an encrypted token that inflates': () => [
      `Authorization: Bearer ${part({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' })}..AAAAAAAAAAAAAAAA.${gzipSync(Buffer.alloc(1024 * 1024)).toString('base64url')}.AAAA`,
    ],
  };
  for (const [what, headers] of Object.entries(malformed)) {
    it(`TOK-13 are not ${what}`, async () => {
      const token = ways().provider.idToken();
      for (const version of versions) {
        const answer = await withHeaders(version, ...headers(token));
        expect(answer.status).to.equal(401);
        expect(answer.headers['www-authenticate']).to.equal('Bearer realm="atrium", error="invalid_token"');
        expect(JSON.parse(answer.body)).to.include({ kind: 'Status', status: 'Failure', reason: 'Unauthorized', code: 401 });
      }
    });
  }

  it('TOK-13 are no longer than a header may be', async () => {
    for (const version of versions) {
      const answer = await withHeaders(version, `Authorization: Bearer ${'a'.repeat(100_000)}`);
      expect(answer.status).to.equal(431);
    }
  });

  it('TOK-13 are required if none is sent', async () => {
    for (const version of versions) {
      const reply = await new Browser(ways().service.url).info(version);
      expectStatus(reply, 401);
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer realm="atrium"');
    }
  });

  const deep = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
  // Pairs, because an object literal would use `__proto__` as its own prototype.
  const strange: [what: string, TokenChange][] = [
    ['__proto__', { text: (json) => json.replace(/}$/, ',"__proto__":{"x":1,"email":"admin@example.com","is_admin":true}}') }],
    ['constructor', { text: (json) => json.replace(/}$/, ',"constructor":{"prototype":{"x":1}}}') }],
    ['sub twice', { text: (json) => json.replace(/}$/, ',"sub":"somebody-else"}') }],
    ['names of the prototype as groups', { claims: { groups: ['__proto__', 'constructor', 'toString'] } }],
  ];
  for (const [what, change] of strange) {
    it(`TOK-15 do no harm with ${what}`, async () => {
      const replies = await logInWith(ways(), change);
      replies.set('bearer', await new Browser(ways().service.url).info('v2', ways().provider.idToken(change)));
      for (const [way, reply] of replies) {
        expect(reply.status, `${way}: ${reply.text.slice(0, 300)}`).to.be.oneOf([200, 401]);
        if (reply.status === 200) expect(userInfoOf(reply), way).to.deep.include({ name: 'jane@example.com', email: 'jane@example.com' });
      }
      expect(({} as { x?: unknown }).x).to.equal(undefined);
      expect((await logIn(ways().service)).callback.status, 'and the next one is as ever').to.equal(200);
    });
  }

  it('TOK-15 do no harm with claims ten thousand deep', async () => {
    const { provider, service } = ways();
    const change: TokenChange = { text: (json) => json.replace(/}$/, `,"deep":${deep}}`) };
    provider.misbehave({ redeemed: change });
    for (const version of versions) expect((await logIn(service, { version })).callback.status).to.be.oneOf([200, 401]);
    provider.misbehave();
    // The token is too long for a header.
    expect((await withHeaders('v2', `Authorization: Bearer ${provider.idToken(change)}`)).status).to.equal(431);
    expect((await logIn(service)).callback.status).to.equal(200);
  });

  it('TOK-15 are refused with claims that are all wrong', async () => {
    const { provider } = ways();
    for (const payload of ['null', '[]', '7', '"text"', '{}', '', '{"iss":']) {
      await expectNoBearer(ways(), provider.idToken({ text: () => payload }));
    }
  });
});
