/** Key sets and claims that users of other relying parties report, by repository and number. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { Browser, logIn, userInfoOf } from '../login/provider/browser.ts';
import type { Misbehaviour } from '../login/provider/misbehaviour.ts';
import { expectOK, expectStatus, relyingParty } from './conformance/relying-party.ts';

type JWKs = NonNullable<Misbehaviour['jwks']>;

const { x, y } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' });
const ofUnsupportedCurve = { kty: 'EC', crv: 'secp256k1', x, y, use: 'sig' };
/** Encodes a number as base64 with padding and a leading zero byte. */
const inBase64 = (number: string) => Buffer.concat([Buffer.alloc(1), Buffer.from(number, 'base64url')]).toString('base64');

describe('key sets that issuers publish', () => {
  const party = relyingParty();

  const keySets: Record<string, JWKs> = {
    'a key of a curve that is not supported (coreos/go-oidc 452)': (own) => [{ ...ofUnsupportedCurve, kid: 'other' }, ...own],
    'such a key under the same kid': (own) => [...own.map(({ kid }) => ({ ...ofUnsupportedCurve, kid })), ...own],
    'a key of an unknown type under the same kid': (own) => [
      ...own.map(({ kid }) => ({ kty: 'AKP', alg: 'ML-DSA-44', pub: 'x', kid })),
      ...own,
    ],
    'numbers in base64 with padding (OpenIDC/mod_auth_openidc 368)': (own) => own.map((key) => ({ ...key, n: inBase64(key.n ?? '') })),
    'empty members (coreos/go-oidc 459)': (own) => own.map((key) => ({ ...key, crv: '', x5c: [''], exp: '' })),
    'each key twice, once without an algorithm (oidc-wp/openid-connect-generic 647)': (own) =>
      own.flatMap(({ alg, ...key }) => [key, { ...key, alg, kid: `${key.kid}_RS256` }]),
    'an encryption key under the same kid': (own) => [...own.map((key) => ({ ...key, use: 'enc', alg: 'RSA-OAEP' })), ...own],
    'a broken key under the same kid': (own) => [...own.map(({ kid }) => ({ kty: 'RSA', kid, use: 'sig', n: '!', e: 'AQAB' })), ...own],
    'operations of the private key (theam/facility 287)': (own) => own.map((key) => ({ ...key, key_ops: ['sign'], ext: true })),
    'operations of both keys': (own) => own.map((key) => ({ ...key, key_ops: ['sign', 'verify'] })),
  };
  for (const [what, jwks] of Object.entries(keySets))
    it(`verify tokens in spite of ${what}`, async () => {
      const { cluster, provider } = party();
      provider.misbehave({ jwks });
      const service = await cluster.service({ provider });
      expectOK((await logIn(service)).callback);
      expectOK(await new Browser(service.url).info('v2', provider.idToken()));
      await service.stop();
    });

  it('verify no tokens with a key whose operations are those of encryption', async () => {
    const { cluster, provider } = party();
    provider.misbehave({ jwks: (own) => own.map((key) => ({ ...key, key_ops: ['wrapKey'] })) });
    const service = await cluster.service({ provider });
    expectStatus((await logIn(service)).callback, 401);
    expectStatus(await new Browser(service.url).info('v2', provider.idToken()), 401);
    await service.stop();
  });
});

describe('claims that issuers tell', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });
  const groups = [
    ...['stolostron:Team Red Hat', 'CN=BI Sales,OU=Company Groups,DC=Company', 'test(group&)abc', 'Größe', '研发'],
    ...["o'neil", 'a/b', 'a%2Fb', '*', 'x;y="z"'],
  ];
  const people: Record<string, Record<string, unknown>> = {
    'a name with diaeresis (akuity/kargo 4601)': { name: 'Zoë Müller', family_name: 'Müller', given_name: 'Zoë' },
    'an address with an apostrophe and a plus sign': { email: "o'neil+k8s@example.com" },
    'an address in capitals': { email: 'Jane.Capital@Example.COM' },
    'groups with signs and letters of all kinds (openshift/oauth-server 101, rancher/rancher 12593)': { groups },
    'a group that is no list (goharbor/harbor 15416)': { groups: 'ansible:acm' },
    'an audience that is a list (bacularis/bacularis-app 117)': { aud: ['atrium'] },
  };
  for (const [index, [what, claims]] of Object.entries(people).entries())
    it(`log a user in with ${what}`, async () => {
      const { provider, service, forwarding } = party();
      provider.become(`reported-${index}`, claims);
      for (const one of [service, await forwarding()]) {
        const { browser, callback } = await logIn(one);
        expectOK(callback);
        const info = await browser.info('v2');
        expectOK(info);
        if ('groups' in claims) expect(userInfoOf(info).groups).to.deep.equal([claims.groups].flat());
        const asked = { spec: { resourceAttributes: { verb: 'list', resource: 'pods' } } };
        const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
        const review = await browser.request('/auth/v1/selfsubjectaccessreviews', { method: 'POST', body: JSON.stringify(asked), headers });
        expect(review.status, review.text).to.equal(201);
      }
    });
});
