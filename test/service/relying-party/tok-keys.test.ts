/** Selection of the key that verifies a token. */

import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { html } from '../login/provider/answers.ts';
import { authorize, Browser, logIn, loginInfoOf } from '../login/provider/browser.ts';
import type { Misbehaviour } from '../login/provider/misbehaviour.ts';
import { TestProvider } from '../login/provider/provider.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import { LoginCluster, type Service } from '../login/support.ts';
import { type LoggedIn, refresh, session } from '../sessions/support.ts';
import { expectOK, expectStatus } from './conformance/relying-party.ts';

const flows = ['code', 'hybrid'] as const;
const withoutKeyID: Misbehaviour = { idToken: { header: { kid: undefined } } };

describe('the keys of the issuer', () => {
  const cluster = forSuite(() => LoginCluster.start());
  let provider: TestProvider;

  const newService = (): Promise<Service> => cluster.service({ provider });
  /** Replaces the only key by another with the same key id. */
  const changeKey = () => provider.rotateKeys({ keepsOld: false, kid: provider.keys[0]?.kid ?? '' });
  const infoOf = ({ url }: Service, token: string) => new Browser(url).info('v2', token);
  beforeEach(async () => {
    provider = await TestProvider.start();
  });
  afterEach(() => provider.stop());

  for (const [what, rotate] of Object.entries<() => Promise<void>>({
    'one key': async () => undefined,
    'three keys': async () => {
      await provider.rotateKeys({ alg: 'ES256' });
      await provider.rotateKeys();
    },
  })) {
    it(`TOK-05 verify a token that names none of them (${what})`, async () => {
      await rotate();
      const service = await newService();
      provider.misbehave(withoutKeyID);
      for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
      expectOK(await infoOf(service, provider.idToken({ header: { kid: undefined } })));
      expect(provider.hits('jwks')).to.equal(1);
      for (const signer of ['unpublished RS256', 'unpublished ES256', 'public key', 'nobody'] as const) {
        const token = provider.idToken({ header: { kid: undefined }, signer });
        expect((await infoOf(service, token)).status, signer).to.equal(401);
      }
    });
  }

  it('TOK-05 are read again, once, for a token of a new one', async () => {
    const service = await newService();
    expectOK(await infoOf(service, provider.idToken()));
    await provider.rotateKeys();
    provider.forgetRequests();
    const tokens = Array.from({ length: 20 }, (_, index) => provider.idToken({ claims: { jti: String(index) } }));
    for (const reply of await Promise.all(tokens.map((token) => infoOf(service, token)))) expectOK(reply);
    for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
    expect(provider.hits('jwks')).to.equal(1);
  });

  const reused: Record<string, { jwks?: Misbehaviour; header: Record<string, undefined> }> = {
    'its kid': { header: {} },
    'a kid in no token': { header: { kid: undefined } },
    'a kid nowhere': { jwks: { jwks: (keys) => keys.map((key) => ({ ...key, kid: undefined })) }, header: { kid: undefined } },
  };
  for (const [what, { jwks = {}, header }] of Object.entries(reused))
    it(`cases/89 are read again, once, if one changes without ${what}, and an administrator is told`, async () => {
      provider.misbehave({ ...jwks, idToken: { header } });
      const service = await newService();
      const { browser, handle } = await session(service);
      expectOK(await infoOf(service, provider.idToken({ header })));
      await changeKey();
      provider.forgetRequests();
      const tokens = Array.from({ length: 20 }, (_, index) => provider.idToken({ header, claims: { jti: String(index) } }));
      for (const reply of await Promise.all(tokens.map((token) => infoOf(service, token)))) expectOK(reply);
      for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
      expectOK(await refresh(browser, handle));
      expect(provider.hits('jwks')).to.equal(1);
      expect(service.logLines.filter((line) => line.includes('without changing its key id'))).to.have.length(1);
    });

  it('cases/89 are read once in thirty seconds for bearers of a known key with made-up signatures', async () => {
    const service = await newService();
    expectOK(await infoOf(service, provider.idToken()));
    cluster.clock.freeze();
    try {
      for (const reads of [1, 2]) {
        const { kid } = provider.keys[0] ?? {};
        const forged = () => provider.idToken({ signer: 'unpublished RS256', header: { kid }, claims: { jti: String(Math.random()) } });
        const replies = await Promise.all(Array.from({ length: 30 }, () => infoOf(service, forged())));
        for (const reply of replies) expectStatus(reply, 401);
        for (let index = 0; index < 5; index += 1) expectStatus(await infoOf(service, forged()), 401);
        // The first read of the service, and one for each thirty seconds.
        expect(provider.hits('jwks')).to.equal(1 + reads);
        expectOK(await infoOf(service, provider.idToken({ claims: { jti: String(reads) } })));
        cluster.clock.advance(31);
      }
      expect(service.logLines.filter((line) => line.includes('without changing its key id'))).to.have.length(0);
    } finally {
      cluster.clock.thaw();
      cluster.clock.reset();
    }
  });

  const others: Record<string, (own: readonly object[]) => unknown[]> = {
    'one of a type that we do not know': (own) => [{ kty: 'XMSS', kid: 'x', use: 'sig' }, ...own],
    'one of a curve that we do not know': (own) => [{ kty: 'EC', crv: 'P-9999', x: 'AA', y: 'AA', kid: 'x', alg: 'ES256' }, ...own],
    'one of an algorithm that we do not know': (own) => [{ ...own[0], kid: 'x', alg: 'XS999' }, ...own],
    'one for encryption': (own) => [{ ...own[0], kid: 'x', use: 'enc', alg: 'RSA-OAEP' }, ...own],
    'one for encryption of the same id': (own) => [{ ...own[0], use: 'enc', alg: 'RSA-OAEP' }, ...own],
    'a symmetric one': (own) => [{ kty: 'oct', k: 'AAAA', kid: 'x', alg: 'HS256' }, ...own],
    'one without an id': (own) => [{ ...own[0], kid: undefined }, ...own],
    'no word about algorithm and use': (own) => own.map((key) => ({ ...key, alg: undefined, use: undefined })),
    'a broken one': (own) => [{ kty: 'RSA', n: '', e: '', kid: 'x' }, ...own],
    'members that we do not know': (own) => own.map((key) => ({ ...key, x5t: 'AA', x5c: ['AA'], 'vendor:thing': { a: 1 } })),
  };
  for (const [what, jwks] of Object.entries(others)) {
    it(`TOK-06 serve with ${what} among them`, async () => {
      provider.misbehave({ jwks });
      const service = await newService();
      for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
      expect((await infoOf(service, provider.idToken({ signer: 'unpublished RS256' }))).status).to.equal(401);
    });
  }

  it('TOK-06 serve with two of one id among them', async () => {
    await provider.rotateKeys();
    const kid = provider.keys[0]?.kid;
    provider.misbehave({ jwks: (keys) => [...keys].reverse().map((key) => ({ ...key, kid })) });
    const service = await newService();
    for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
    const forged = provider.idToken({ signer: 'unpublished RS256', header: { kid } });
    expect((await infoOf(service, forged)).status).to.equal(401);
  });

  for (const isReused of [false, true])
    describe(`after a rotation${isReused ? ' under the same kid' : ''}, with bearers of made-up keys before it`, () => {
      const rotate = () => (isReused ? changeKey() : provider.rotateKeys({ keepsOld: false }));
      let service: Service;
      let current: LoggedIn;

      const logOutThere = async () => {
        const body = new URLSearchParams({ logout_token: provider.logoutToken() });
        return (await fetch(`${service.url}/api/v2/token/backchannel-logout`, { method: 'POST', body })).status;
      };

      beforeEach(async () => {
        service = await newService();
        current = await session(service);
        await rotate();
        await arm();
      });

      /** Sends a forged token, as any client can every thirty seconds. */
      const arm = async () => {
        const kid = isReused ? provider.keys[0]?.kid : `made-up-${Math.random()}`;
        const forged = provider.idToken({ signer: 'unpublished RS256', header: { kid } });
        expect((await infoOf(service, forged)).status).to.equal(401);
      };

      for (const [what, isArmedAgain] of [
        ['one rotation', false],
        ['another rotation within the thirty seconds', true],
      ] as const) {
        it(`TOK-05 let people log in, sessions renew and logout tokens arrive (${what})`, async () => {
          if (isArmedAgain) {
            await rotate();
            await arm();
          }
          for (const flow of flows) expectOK((await logIn(service, { flow })).callback);
          await rotate();
          expectOK(await refresh(current.browser, current.handle));
          await rotate();
          expect(await logOutThere()).to.equal(200);
        });
      }

      it('TOK-05 end nothing while they cannot be read: 503', async () => {
        await rotate();
        provider.misbehave({ answer: { jwks: html(500) } });
        expectStatus((await logIn(service)).callback, 503);
        expectStatus((await logIn(service, { flow: 'hybrid' })).callback, 503);
        const reply = await refresh(current.browser, current.handle);
        expectStatus(reply, 503);
        expect(reply.headers.get('retry-after')).to.match(/^\d+$/);
        expect(await logOutThere()).to.equal(503);
        provider.misbehave();
        expectOK(await current.browser.info('v2'));
        expect(await logOutThere()).to.equal(200);
      });

      it('TOK-05 are read once for many tokens of unknown keys at once, and those are refused', async () => {
        const answers = await Promise.all(
          Array.from({ length: 10 }, () =>
            authorized(service, { signer: 'unpublished RS256', ...(isReused && { header: { kid: provider.keys[0]?.kid } }) }),
          ),
        );
        provider.forgetRequests();
        const begunAt = performance.now();
        const replies = await Promise.all(answers.map(({ browser, answer }) => browser.callback('v2', answer)));
        const lastedMs = performance.now() - begunAt;
        for (const reply of replies) expectStatus(reply, 401, 'id_token');
        // Concurrent requests share one reading; on a slow machine later ones cause four readings a second at most.
        expect(provider.hits('jwks')).to.be.within(1, 1 + Math.floor(lastedMs / 240));
      });

      async function authorized({ url }: Service, frontChannel: TokenChange) {
        provider.misbehave({ frontChannel });
        const browser = new Browser(url);
        const { auth_url } = loginInfoOf(await browser.login('v2'));
        return { browser, answer: await authorize(auth_url, 'code id_token') };
      }
    });
});
