import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty } from './relying-party.ts';

const publicURL = 'https://console.example.com/tools';

describe('the embedded OpenID provider behind a proxy that ends TLS', () => {
  const issuers = forSuite(() => Issuers.start({ publicURL }));

  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${issuers.origin}/tools/identity${path}`, { redirect: 'manual', headers });

  it('names its public address everywhere', async () => {
    const metadata = await (await ask('/.well-known/openid-configuration')).text();

    expect(JSON.parse(metadata)).to.include({ issuer: `${publicURL}/identity`, token_endpoint: `${publicURL}/identity/token` });
    expect(metadata).to.not.contain('127.0.0.1');
  });

  it('COO-01 sets Secure cookies for its host or its own paths, and reads them again', async () => {
    const { search } = new RelyingParty({ issuer: `${publicURL}/identity`, redirectURI: `${publicURL}/` }).authorizationURL();
    const redirect = await ask(`/auth${search}`);
    const location = redirect.headers.get('location') ?? '';
    const cookies = redirect.headers.getSetCookie();

    expect(location).to.match(/^\/tools\/identity\/login\/[\w-]+$/);
    expect(cookies).to.have.length.greaterThan(2);
    for (const cookie of cookies) {
      expect(cookie).to.match(
        /^(__Secure-atrium_identity_(log_in|resume)_[^;]+; path=\/tools\/identity\/|__Host-atrium_identity_record_[^;]+; Path=\/;)/,
      );
      expect(cookie)
        .to.match(/; secure(;|$)/i)
        .and.to.match(/; httponly(;|$)/i)
        .and.to.match(/; samesite=lax/i);
      expect(cookie.split(';', 1)[0]).to.have.length.lessThan(4096);
    }
    const cookie = cookies.map((line) => line.split(';', 1)[0]).join('; ');
    const page = await ask(location.replace('/tools/identity', ''), { cookie });
    expect(page.status).to.equal(200);
  });

  it('knows no other path', async () => {
    const response = await ask('/nothing');

    expect(response.status).to.equal(404);
    expect(await response.json()).to.include({ kind: 'Status', reason: 'NotFound' });
  });
});
