import { TokenIssuer } from '@atrium/embedded-cluster/tokens.ts';
import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, type JWTPayload, SignJWT } from 'jose';

const ISSUER = 'https://kubernetes.default.svc';
const NOW = new Date('2026-01-01T12:00:00.500Z');
const ada = { username: 'ada@example.com', uid: '1', groups: ['staff'], extra: { team: ['blue', 'green'] } };

const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

describe('tokens of the embedded cluster', () => {
  let now = NOW;
  let issuer: TokenIssuer;
  before(async () => {
    issuer = await TokenIssuer.create({ now: () => now });
  });
  beforeEach(() => {
    now = NOW;
  });

  /** Returns a token like `issue`, with one change, signed by the issuer's own key. */
  async function forge(change: (claims: JWTPayload) => void): Promise<string> {
    const { token } = await issuer.issue({ user: ada, expiresInSeconds: 600 });
    const claims = decodeJwt(token);
    change(claims);
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(await importJWK(await issuer.exportKey(), 'ES256'));
  }

  it('come back as their user', async () => {
    const { token, expirationTimestamp } = await issuer.issue({ user: ada, expiresInSeconds: 600 });

    expect(expirationTimestamp).to.equal('2026-01-01T12:10:00Z');
    expect(await issuer.verify(token)).to.deep.equal({ ...ada, groups: ['staff', 'system:authenticated'] });
  });

  it('carry the claims of a TokenRequest', async () => {
    const { token } = await issuer.issue({ user: ada, expiresInSeconds: 600 });
    const { iss, sub, aud, iat, nbf, exp, jti } = decodeJwt(token);
    const second = Math.floor(NOW.getTime() / 1000);

    expect(decodeProtectedHeader(token)).to.include({ alg: 'ES256' });
    expect({ iss, sub, aud, iat, nbf, exp }).to.deep.equal({
      iss: ISSUER,
      sub: ada.username,
      aud: [ISSUER],
      iat: second,
      nbf: second,
      exp: second + 600,
    });
    expect(jti).to.match(/^[0-9a-f-]{36}$/);
  });

  it('name the service account as the API server does', async () => {
    const user = { username: 'system:serviceaccount:shop:till', uid: '2', groups: ['system:serviceaccounts'] };
    const { token } = await issuer.issue({ user, expiresInSeconds: 600 });

    expect(decodeJwt(token)).to.have.nested.property('kubernetes\\.io.namespace', 'shop');
    expect(decodeJwt(token)).to.have.deep.nested.property('kubernetes\\.io.serviceaccount', { name: 'till', uid: '2' });
  });

  it('say system:authenticated once', async () => {
    const { token } = await issuer.issue({ user: { ...ada, groups: ['system:authenticated'] }, expiresInSeconds: 600 });

    expect((await issuer.verify(token))?.groups).to.deep.equal(['system:authenticated']);
  });

  it('are valid until they expire, and not a second longer', async () => {
    const { token } = await issuer.issue({ user: ada, expiresInSeconds: 600 });

    now = at(599);
    expect(await issuer.verify(token)).to.include({ username: ada.username });
    now = at(600);
    expect(await issuer.verify(token)).to.equal(undefined);
  });

  it('are not valid before they were issued', async () => {
    const { token } = await issuer.issue({ user: ada, expiresInSeconds: 600 });

    now = at(-60);
    expect(await issuer.verify(token)).to.equal(undefined);
  });

  it('are refused for another audience, unless the review names it', async () => {
    const { token } = await issuer.issue({ user: ada, audiences: ['vault', 'registry'], expiresInSeconds: 600 });

    expect(await issuer.verify(token)).to.equal(undefined);
    expect(await issuer.identify(token, ['registry', 'other'])).to.deep.include({ audiences: ['registry'] });
  });

  it('are valid after a restart with a kept key, and never in another cluster', async () => {
    const { token } = await issuer.issue({ user: ada, expiresInSeconds: 600 });
    const restarted = await TokenIssuer.create({ privateJwk: await issuer.exportKey(), now: () => now });
    const other = await TokenIssuer.create({ now: () => now });

    expect(await restarted.verify(token)).to.include({ username: ada.username });
    expect(await other.verify(token)).to.equal(undefined);
  });

  it('are refused after any change', async () => {
    const { token } = await issuer.issue({ user: ada, expiresInSeconds: 600 });
    const [header = '', payload = '', signature = ''] = token.split('.');
    const asAdmin = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'system:admin' })).toString('base64url');
    const unsigned = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;

    const broken = ['', '.', '..', 'x', 'a.b.c', `${header}.${asAdmin}.${signature}`, `${header}.${payload}.${flipped}`];
    for (const one of [...broken, `${header}.${payload}.`, `${unsigned}.${payload}.`, `${token}.x`, 'x'.repeat(100_000)]) {
      expect(await issuer.verify(one), one.slice(0, 80)).to.equal(undefined);
    }
  });

  it('are refused if another algorithm or key signs them', async () => {
    const claims = decodeJwt((await issuer.issue({ user: ada, expiresInSeconds: 600 })).token);
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const publicKey = JSON.stringify({ ...(await issuer.exportKey()), d: undefined });

    const byMac = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(publicKey));
    const embedded = { alg: 'ES256', jwk: { ...(await exportJWK(privateKey)), d: undefined } };
    const byStranger = await new SignJWT(claims).setProtectedHeader(embedded).sign(privateKey);

    expect(await issuer.verify(byMac)).to.equal(undefined);
    expect(await issuer.verify(byStranger)).to.equal(undefined);
  });

  it('need every claim, of the right form', async () => {
    expect(await issuer.verify(await forge(() => undefined))).to.include({ username: ada.username });
    for (const claim of ['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'kubernetes.io']) {
      for (const value of [undefined, null, {}, true]) {
        expect(await issuer.verify(await forge((claims) => Object.assign(claims, { [claim]: value }))), `${claim}: ${value}`).to.equal(
          undefined,
        );
      }
    }
    expect(await issuer.verify(await forge((claims) => Object.assign(claims, { sub: '' })))).to.equal(undefined);
    expect(await issuer.verify(await forge((claims) => Object.assign(claims, { iss: `${ISSUER}/` })))).to.equal(undefined);
  });
});
