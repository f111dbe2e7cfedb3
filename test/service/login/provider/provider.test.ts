import { expect } from 'chai';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { Agent, fetch as fetchWith } from 'undici';
import { failureOf } from '../../../../packages/kubernetes/test/fake-api-server.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { html, never, oauthError } from './answers.ts';
import { authorize } from './browser.ts';
import type { Misbehaviour } from './misbehaviour.ts';
import { TestProvider } from './provider.ts';
import { changePayload, dropSignature, flipSignature } from './tokens.ts';

const redirectURI = 'http://console.test/';

describe('the provider for tests, as openid-client sees it', () => {
  const provider = forSuite(() => TestProvider.start({ clientSecret: 'secret of the client' }));
  afterEach(() => {
    provider.misbehave();
    provider.forgetRequests();
  });

  async function configuration(...extra: ((config: client.Configuration) => void)[]): Promise<client.Configuration> {
    return client.discovery(new URL(provider.issuer), provider.clientID, 'secret of the client', undefined, {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks, ...extra],
    });
  }

  async function redeem(config: client.Configuration, responseType = 'code') {
    const verifier = client.randomPKCECodeVerifier();
    const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()];
    const asked = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectURI,
      scope: 'openid email offline_access',
      state: expectedState,
      nonce: expectedNonce,
      response_type: responseType,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const answer = await authorize(asked.href);
    const callback = new URL(redirectURI);
    if (answer.has('id_token')) callback.hash = answer.toString();
    else callback.search = answer.toString();
    return client.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: verifier,
      expectedState,
      expectedNonce,
      idTokenExpected: true,
    });
  }

  const refused = async (misbehaviour: Misbehaviour) => {
    provider.misbehave(misbehaviour);
    return failureOf(configuration().then((config) => redeem(config)));
  };

  it('logs in, tells the claims, refreshes, revokes', async () => {
    const config = await configuration();
    const tokens = await redeem(config);
    const { refresh_token = '' } = tokens;

    expect(tokens.claims()).to.include({ iss: provider.issuer, sub: 'jane-1', aud: 'atrium', email: 'jane@example.com' });
    expect(await client.fetchUserInfo(config, tokens.access_token, 'jane-1')).to.include({ name: 'Jane Doe' });
    const renewed = await client.refreshTokenGrant(config, refresh_token);
    expect(renewed.refresh_token).to.be.a('string').that.is.not.equal(refresh_token);
    expect(await failureOf(client.refreshTokenGrant(config, refresh_token))).to.include({ error: 'invalid_grant' });
    await client.tokenRevocation(config, renewed.refresh_token ?? '');
    expect(await failureOf(client.refreshTokenGrant(config, renewed.refresh_token ?? ''))).to.include({ error: 'invalid_grant' });
    expect({ token: provider.hits('token'), userinfo: provider.hits('userinfo'), revocation: provider.hits('revocation') }).to.deep.equal({
      token: 4,
      userinfo: 1,
      revocation: 1,
    });
  });

  it('answers code and ID token in the fragment', async () => {
    const tokens = await redeem(await configuration(client.useCodeIdTokenResponseType), 'code id_token');

    expect(tokens.claims()).to.include({ sub: 'jane-1' });
  });

  it('sends back from the end of the session', async () => {
    const url = client.buildEndSessionUrl(await configuration(), { post_logout_redirect_uri: redirectURI, state: 'abc' });

    expect((await fetch(url, { redirect: 'manual' })).headers.get('location')).to.equal(`${redirectURI}?state=abc`);
  });

  for (const [what, misbehaviour] of Object.entries<Misbehaviour>({
    'another issuer': { idToken: { claims: { iss: 'https://evil.example' } } },
    'another audience': { idToken: { claims: { aud: 'another' } } },
    'no subject': { idToken: { claims: { sub: undefined } } },
    'another nonce': { idToken: { claims: { nonce: 'another' } } },
    'a changed signature': { idToken: { spoil: flipSignature } },
    'no signature': { idToken: { spoil: dropSignature } },
    'a changed payload': { idToken: { spoil: (token) => changePayload(token, { sub: 'admin' }) } },
    'alg none': { idToken: { signer: 'nobody' } },
    'the client secret as key': { idToken: { signer: 'client secret' } },
    'the public key as secret': { idToken: { signer: 'public key' } },
    'an EC key that is not published': { idToken: { signer: 'unpublished ES256' } },
    'an RSA key that is not published': { idToken: { signer: 'unpublished RS256' } },
    'no issuer in the response though announced': {
      metadata: { authorization_response_iss_parameter_supported: true },
      response: { iss: undefined },
    },
    'another issuer in the response': { response: { iss: 'https://evil.example' } },
    'another state': { response: { state: 'another' } },
    'a discovery document of another issuer': { metadata: { issuer: 'https://evil.example' } },
    'HTML instead of discovery': { answer: { discovery: html() } },
    'HTML instead of tokens': { answer: { token: html() } },
    'a refused code': { answer: { token: oauthError(400, 'invalid_grant') } },
  })) {
    it(`is refused with ${what}`, async () => {
      expect(await refused(misbehaviour)).to.be.an('error');
    });
  }

  it('can be silent', async () => {
    provider.misbehave({ answer: { discovery: never } });
    const asked = fetch(`${provider.issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(100) });

    expect(await failureOf(asked)).to.include({ name: 'TimeoutError' });
  });

  it('signs with a new key, the old one still published or not', async () => {
    const keySet = () => createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
    const old = provider.idToken();
    await provider.rotateKeys({ alg: 'ES256' });
    expect((await jwtVerify(provider.idToken(), keySet())).protectedHeader).to.include({ alg: 'ES256' });
    expect((await jwtVerify(old, keySet())).protectedHeader).to.include({ alg: 'RS256' });
    await provider.rotateKeys({ keepsOld: false });

    expect(await failureOf(jwtVerify(old, keySet()))).to.include({ code: 'ERR_JWKS_NO_MATCHING_KEY' });
  });

  it('speaks https with a certificate of its own authority', async () => {
    const secure = await TestProvider.start({ tls: true });
    const dispatcher = new Agent({ connect: { ca: secure.certificateAuthority ?? '' } });
    try {
      const url = `${secure.issuer}/.well-known/openid-configuration`;
      expect((await fetchWith(url, { dispatcher })).status).to.equal(200);
      expect(await failureOf(fetchWith(url))).to.be.an('error');
    } finally {
      await dispatcher.close();
      await secure.stop();
    }
  });
});
