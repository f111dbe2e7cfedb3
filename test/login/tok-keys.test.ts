/** Which key judges a token. */
import { expect } from 'chai';
import { expectOK } from './conformance/relying-party.ts';
import { Browser, logIn } from './provider/browser.ts';
import type { Misbehaviour } from './provider/misbehaviour.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster, type Service } from './support.ts';

const flows = ['code', 'hybrid'] as const;
const withoutKeyID: Misbehaviour = { idToken: { header: { kid: undefined } } };

describe('the keys of the issuer', () => {
  let cluster: LoginCluster;
  let provider: TestProvider;

  const newService = (): Promise<Service> => cluster.service({ provider });
  const infoOf = ({ url }: Service, token: string) => new Browser(url).info('v2', token);

  before(async () => {
    cluster = await LoginCluster.start();
  });
  beforeEach(async () => {
    provider = await TestProvider.start();
  });
  afterEach(() => provider.stop());
  after(() => cluster.stop());

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
});
