import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { claimsOf, RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const secret = 'a secret of the shop: 100% + more';
const shopURL = 'https://shop.example.com/callback';

describe('the clients of the embedded OpenID provider', () => {
  let directory: string;
  let issuers: Issuers;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-clients-'));
    const secretFile = join(directory, 'secret');
    await writeFile(secretFile, `${secret}\n`);
    issuers = await Issuers.start({
      config: {
        identity: {
          clients: [{ id: 'shop', name: 'The Shop', secretFile, redirectURLs: [shopURL] }, { id: 'printer' }],
        },
      },
    });
    await issuers.addPerson(jane.email, jane.password);
  });
  after(async () => {
    await issuers.stop();
    await rm(directory, { recursive: true });
  });

  const shop = () => new RelyingParty({ issuer: issuers.issuer, clientID: 'shop', redirectURI: shopURL });

  it('get tokens for their secret only, and still by PKCE', async () => {
    const relying = shop();
    const codes = [await relying.code(issuers.browser(), jane), await relying.code(issuers.browser(), jane)];
    const without = await relying.redeem(codes[0] ?? '');
    const wrong = await relying.redeem(codes[0] ?? '', { client_secret: 'guess' });
    const right = await relying.redeem(codes[1] ?? '', { client_secret: secret });
    const page = await issuers.browser().get(relying.authorizationURL({ code_challenge: '', code_challenge_method: '' }));

    for (const refused of [without, wrong]) expect(refused).to.have.nested.property('body.error', 'invalid_client');
    expect(claimsOf(tokensOf(right).id_token).aud).to.equal('shop');
    expect(page.url.searchParams.get('error')).to.equal('invalid_request');
  });

  it('are named on the page, and are where its form may end', async () => {
    const { body, response } = await issuers.browser().get(shop().authorizationURL());

    expect(body).to.contain('The Shop');
    expect(response.headers.get('content-security-policy')).to.contain("form-action 'self' https://shop.example.com;");
  });

  it('log people in by the device flow if they have no address', async () => {
    const { status, body } = await new RelyingParty({ issuer: issuers.issuer, clientID: 'printer' }).post('/device/auth', {
      scope: 'openid',
    });

    expect(status).to.equal(200);
    expect(body).to.include.keys('device_code', 'user_code');
  });

  it('are those of the configuration, no others', async () => {
    const page = await issuers.browser().get(new RelyingParty({ issuer: issuers.issuer, clientID: 'stranger' }).authorizationURL());

    expect(page.response.status).to.equal(400);
    expect(page.response.headers.get('location')).to.equal(null);
  });

  it('are named in the login audit, except the console, which records its own logins', async () => {
    const told = () => issuers.auditLines.filter(({ audit }) => audit === 'LoginSucceeded').length;
    const before = told();
    await shop().code(issuers.browser(), jane);
    await new RelyingParty({ issuer: issuers.issuer }).code(issuers.browser(), jane);

    expect(told()).to.equal(before + 1);
  });

  it('make the provider unavailable, with a reason, when their secret cannot be read', async () => {
    const broken = await Issuers.start({
      config: { identity: { clients: [{ id: 'shop', secretFile: join(directory, 'nothing'), redirectURLs: [shopURL] }] } },
    });
    try {
      const response = await fetch(`${broken.issuer}/jwks`);

      expect(response.status).to.equal(503);
      expect(await response.text()).to.not.contain(directory);
      expect(broken.replicas[0]?.identity.checks.map((check) => check.failure())).to.deep.equal([
        'the configuration of a client cannot be used',
      ]);
    } finally {
      await broken.stop();
    }
  });
});

describe('the console as a client that takes ID tokens in the front channel', () => {
  const issuers = forSuite(() => Issuers.start({ publicURL, config: { login: { responseMode: 'id_token' } } }));
  const publicURL = 'https://console.example.com';

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
  });

  it('gets them in the fragment', async () => {
    const relying = new RelyingParty({ issuer: `${publicURL}/identity` });
    const differing = { response_type: 'id_token', code_challenge: '', code_challenge_method: '' };
    const { url, body } = await relying.begin(issuers.browser(), jane, differing);
    const fragment = new URLSearchParams(url.hash.slice(1));

    expect(url.origin, body).to.equal(publicURL);
    expect(claimsOf(fragment.get('id_token') ?? '')).to.include({
      iss: `${publicURL}/identity`,
      aud: 'atrium',
      email: jane.email,
      nonce: 'a-nonce',
    });
  });
});
