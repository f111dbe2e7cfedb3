import { expect } from 'chai';
import { Browser, logIn, loginInfoOf, userInfoOf } from '../login/provider/browser.ts';
import { createSigningKey } from '../login/provider/keys.ts';
import { changePayload, dropSignature, flipSignature, type TokenChange } from '../login/provider/tokens.ts';
import { expectOK } from './conformance/relying-party.ts';
import { expectNoBearer, expectNoLogIn, expectRefusedEverywhere, logInWith, tokenWays } from './token-ways.ts';

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

/** Returns a change to numbers that JSON.stringify would not write. */
const writing = (name: string, value: string): TokenChange => ({
  claims: { [name]: 'PUT HERE' },
  text: (json) => json.replace('"PUT HERE"', value),
});

const refused: Record<string, Record<string, TokenChange>> = {
  'TOK-01': {
    'a flipped bit in the signature': { spoil: flipSignature },
    'another payload': { spoil: (token) => changePayload(token, { email: 'admin@example.com', sub: 'admin' }) },
    'no signature': { spoil: dropSignature },
    'the signature of another token': { spoil: (token) => `${token.slice(0, token.lastIndexOf('.'))}.${'A'.repeat(342)}` },
  },
  'TOK-02': {
    'alg none': { signer: 'nobody' },
    'alg nOnE': { signer: 'nobody', header: { alg: 'nOnE' } },
    'an empty alg': { header: { alg: '' } },
    'no alg': { header: { alg: undefined } },
    'a list as alg': { header: { alg: ['RS256'] } },
    'alg none over a good signature': { header: { alg: 'none' } },
    'the public key as HMAC secret': { signer: 'public key' },
    'the client secret as HMAC secret': { signer: 'client secret' },
    'an algorithm that does not fit the key': { header: { alg: 'ES256' } },
    'an extension that we do not know': { header: { crit: ['exp2'], exp2: 1 } },
  },
  'TOK-07': {
    'another iss': { claims: { iss: 'https://other.example/tenant' } },
    'no iss': { claims: { iss: undefined } },
    'a list as iss': { claims: { iss: ['https://other.example'] } },
  },
  'TOK-08': {
    'another aud': { claims: { aud: 'other' } },
    'no aud': { claims: { aud: undefined } },
    'a number as aud': { claims: { aud: 7 } },
    'an empty aud': { claims: { aud: [] } },
    'a list of others as aud': { claims: { aud: ['other'] } },
    'us and another without azp': { claims: { aud: ['atrium', 'other'] } },
    'another azp': { claims: { aud: ['atrium', 'other'], azp: 'other' } },
    'another azp, and us alone as aud': { claims: { azp: 'other' } },
    'a token of another client of the same issuer': { claims: { aud: 'other', azp: 'other' } },
    'our name in another case': { claims: { aud: 'Atrium' } },
  },
  'TOK-09': {
    'an exp beyond the leeway': { claims: { exp: inSeconds(-90), iat: inSeconds(-990) } },
    'no exp': { claims: { exp: undefined } },
    'a text as exp': { claims: { exp: '9999999999' } },
    'an infinite exp': writing('exp', '1e400'),
    'a negative exp': { claims: { exp: -1 } },
    'an nbf ahead': { claims: { nbf: inSeconds(86_400) } },
    'no iat': { claims: { iat: undefined } },
    'an iat of tomorrow': { claims: { iat: inSeconds(86_400), exp: inSeconds(2 * 86_400) } },
    'a text as iat': { claims: { iat: 'now' } },
  },
  'TOK-10': {
    'no sub': { claims: { sub: undefined } },
    'an empty sub': { claims: { sub: '' } },
    'a number as sub': { claims: { sub: 7 } },
    'a sub of 4 kB': { claims: { sub: 'x'.repeat(4096) } },
    'an email that is none': { claims: { email: 'a@x@corp' } },
    'an email that is a list': { claims: { email: ['jane@example.com'] } },
    'an email that nobody verified': { claims: { email_verified: false } },
    'an email that is verified in words': { claims: { email_verified: 'false' } },
    'groups that are an object': { claims: { groups: { admins: true } } },
    'groups with a number': { claims: { groups: ['dev', 7] } },
    'a name of Kubernetes itself': { claims: { email: 'system:admin' } },
  },
  'TOK-14': {
    'a logout token': {
      header: { typ: 'logout+jwt' },
      claims: { events: { 'http://schemas.openid.net/event/backchannel-logout': {} }, jti: 'a' },
    },
    'a logout token that calls itself a JWT': {
      claims: { events: { 'http://schemas.openid.net/event/backchannel-logout': {} }, jti: 'a' },
    },
    'a token of another type': { header: { typ: 'secevent+jwt' } },
  },
};

describe('the check of invalid tokens', () => {
  const ways = tokenWays({ clientSecret: 'the secret of the client, which it shares' });

  for (const [id, changes] of Object.entries(refused)) {
    for (const [what, change] of Object.entries(changes)) {
      // The redeemed token identifies the user; a token beside the code only has to agree.
      it(`${id} refuses ${what}`, () => expectRefusedEverywhere(ways(), change, id === 'TOK-10' ? 'idToken' : undefined));
    }
  }

  for (const [what, change] of Object.entries<(issuer: string) => string>({
    'a trailing slash': (issuer) => `${issuer}/`,
    'another case': (issuer) => issuer.replace('tenant', 'Tenant'),
    'a query': (issuer) => `${issuer}?`,
  })) {
    it(`TOK-07 refuses an iss with ${what}`, () => expectRefusedEverywhere(ways(), { claims: { iss: change(ways().provider.issuer) } }));
  }

  it('TOK-04 goes nowhere for a key that a token names or brings', async () => {
    const { provider } = ways();
    const key = await createSigningKey('RS256');
    const url = `${provider.issuer}/evil/keys`;
    const headers: Record<string, unknown>[] = [
      { jku: url },
      { jku: url, kid: key.kid },
      { x5u: url },
      { x5c: ['MIIB'] },
      { jwk: key.jwk },
      { jwk: key.jwk, kid: undefined },
      { kid: url },
      { kid: '../../../../etc/passwd' },
      { kid: "' OR '1'='1" },
      { kid: '__proto__' },
      { kid: { kid: 'x' } },
      { kid: 'x'.repeat(5000) },
    ];
    // Keys are read before, so that later requests for them are caused by these tokens.
    await new Browser(ways().service.url).info('v2', provider.idToken());
    for (const header of headers) {
      provider.forgetRequests();
      await expectRefusedEverywhere(ways(), { header, signer: 'unpublished RS256' });
      expect(provider.hits('elsewhere'), JSON.stringify(header)).to.equal(0);
      // ID tokens at a callback cause one reading of the keys each, and bearer tokens with all these headers two in all.
      expect(provider.hits('jwks'), JSON.stringify(header)).to.be.at.most(6 + 2);
    }
    provider.forgetRequests();
    for (const header of headers) await expectNoBearer(ways(), provider.idToken({ header, signer: 'unpublished RS256' }));
    expect(provider.hits('jwks')).to.be.at.most(2);
  });

  for (const [what, change] of Object.entries<TokenChange>({
    'no nonce': { claims: { nonce: undefined } },
    'another nonce': { claims: { nonce: 'A'.repeat(43) } },
    'an empty nonce': { claims: { nonce: '' } },
    'a list as nonce': { claims: { nonce: ['A'.repeat(43)] } },
  })) {
    it(`TOK-11 refuses ${what}`, () => expectNoLogIn(ways(), change));
  }

  it('TOK-11 refuses the nonce of another flow of the same browser', async () => {
    const { provider, service, implicit } = ways();
    for (const { url } of [service, implicit]) {
      const browser = new Browser(url);
      const [first, second] = [await beginFlow(browser), await beginFlow(browser)];
      const idToken = provider.idToken({ claims: { nonce: first.nonce } });
      const reply = await browser.callback('v2', { code: '', id_token: idToken, state: second.state });
      expect(reply.status, reply.text).to.equal(401);
    }
    expect(provider.hits('token')).to.equal(0);
  });

  for (const [what, claims] of Object.entries<Record<string, unknown>>({
    'another c_hash': { c_hash: 'AAAAAAAAAAAAAAAAAAAAAA' },
    'no c_hash': { c_hash: undefined },
    'half a c_hash': { c_hash: '' },
  })) {
    it(`TOK-11 refuses ${what} beside a code`, async () => {
      const replies = await logInWith(ways(), { claims });
      for (const version of ['v1', 'v2']) {
        expect(replies.get(`hybrid ${version}`)?.status).to.equal(401);
      }
    });
  }

  it('TOK-11 refuses an at_hash of another access token', async () => {
    const replies = await logInWith(ways(), { claims: { at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' } });
    for (const version of ['v1', 'v2']) expect(replies.get(`code ${version}`)?.status).to.equal(401);
  });

  it('TOK-14 takes an access token as bearer token, never as ID token', async () => {
    const change: TokenChange = { header: { typ: 'at+jwt' } };
    await expectNoLogIn(ways(), change);
    const reply = await new Browser(ways().service.url).info('v2', ways().provider.idToken(change));
    expectOK(reply);
  });
});

async function beginFlow(browser: Browser): Promise<{ state: string; nonce: string }> {
  const asked = new URL(loginInfoOf(await browser.login('v2')).auth_url).searchParams;
  return { state: asked.get('state') ?? '', nonce: asked.get('nonce') ?? '' };
}

describe('the check of unusual tokens', () => {
  const ways = tokenWays();

  /** Returns the UserInfo of each way, and of the bearer token. */
  async function acceptedWith(change: TokenChange) {
    const { provider, service } = ways();
    const replies = await logInWith(ways(), change, 'idToken');
    replies.set('bearer', await new Browser(service.url).info('v2', provider.idToken(change)));
    return [...replies].map(([way, reply]) => {
      expect(reply.status, `${way}: ${reply.text.slice(0, 300)}`).to.equal(200);
      return userInfoOf(reply);
    });
  }

  it('TOK-08 accepts a token for several audiences if azp names the service', async () => {
    await acceptedWith({ claims: { aud: ['other', 'atrium'], azp: 'atrium' } });
    await acceptedWith({ claims: { aud: ['atrium'] } });
  });

  it('TOK-09 tolerates clocks that differ by less than a minute', async () => {
    const { provider, service } = ways();
    await acceptedWith({ claims: { iat: inSeconds(30), nbf: inSeconds(30) } });
    const justOver = provider.idToken({ claims: { exp: inSeconds(-20), iat: inSeconds(-900) } });
    expect((await new Browser(service.url).info('v2', justOver)).status).to.equal(200);
  });

  it('TOK-10 takes one group in words for a list of one', async () => {
    for (const { groups } of await acceptedWith({ claims: { groups: 'oncall' } })) expect(groups).to.deep.equal(['oncall']);
  });

  it('TOK-10 gives no right without a group, and no group of Kubernetes itself', async () => {
    for (const { groups } of await acceptedWith({ claims: { groups: [] } })) expect(groups).to.deep.equal([]);
    const named = { groups: ['dev', 'system:masters', 'dev', '', 'system:authenticated'] };
    for (const { groups } of await acceptedWith({ claims: named })) expect(groups).to.deep.equal(['dev']);
  });

  it('TOK-10 makes no user an administrator by a name of Kubernetes itself', async () => {
    const { cluster, provider, service } = ways();
    const forwarding = await cluster.service({ provider, config: { kubernetes: { credentials: 'passthrough' } } });
    const spec = { resourceAttributes: { verb: '*', group: '*', resource: '*' } };
    const review = JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec });
    for (const groups of [['system:masters'], 'system:masters', ['dev', ' system:masters'], ['system:masters\t']]) {
      const token = provider.idToken({ claims: { groups } });
      for (const { url } of [service, forwarding]) {
        const reply = await new Browser(url).request('/auth/v1/selfsubjectaccessreviews', {
          method: 'POST',
          body: review,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        });
        expect(reply.status, reply.text).to.be.oneOf([201, 401]);
        if (reply.status === 201) expect(reply.body).to.have.nested.property('status.allowed', false);
      }
    }
  });

  it('TOK-10 survives ten thousand groups', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `g${index}`);
    const { provider, service } = ways();
    provider.misbehave({ redeemed: { claims: { groups: many } } });
    const { callback } = await logIn(service);
    expect(callback.status).to.be.oneOf([200, 401]);
    if (callback.status === 200) for (const group of userInfoOf(callback).groups) expect(many).to.include(group);
  });
});
