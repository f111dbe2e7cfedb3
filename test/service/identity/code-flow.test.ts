import { hash } from 'node:crypto';
import { expect } from 'chai';
import * as client from 'openid-client';
import { request } from 'undici';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import { Issuers } from './issuers.ts';
import { claimsOf, RelyingParty, tokensOf } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };
const recordsPath = '/apis/auth.platform.io/v1/namespaces/atrium-system/identityrecords';
const usersPath = '/apis/auth.platform.io/v1/users';

describe('the embedded OpenID provider', () => {
  const issuers = forSuite(() => Issuers.start());
  const party = () => new RelyingParty({ issuer: issuers.issuer });

  before(async () => {
    await issuers.addPerson(jane.email, jane.password, { username: 'Jane Doe', groups: ['dev', 'oncall'] });
  });

  it('describes itself under its configured address, whatever the Host header says', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    const response = await request(`${issuers.issuer}/.well-known/openid-configuration`, { headers });
    const metadata = z.record(z.string(), z.unknown()).parse(await response.body.json());

    expect(response.statusCode).to.equal(200);
    expect(metadata).to.deep.include({
      issuer: issuers.issuer,
      authorization_endpoint: `${issuers.issuer}/auth`,
      token_endpoint: `${issuers.issuer}/token`,
      userinfo_endpoint: `${issuers.issuer}/me`,
      jwks_uri: `${issuers.issuer}/jwks`,
      revocation_endpoint: `${issuers.issuer}/token/revocation`,
      end_session_endpoint: `${issuers.issuer}/session/end`,
      device_authorization_endpoint: `${issuers.issuer}/device/auth`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
    expect(metadata.id_token_signing_alg_values_supported).to.include.members(['RS256', 'ES256']);
  });

  it('shows public keys only', async () => {
    const response = await fetch(`${issuers.issuer}/jwks`);
    const { keys } = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) }).parse(await response.json());

    expect(keys.map(({ kty }) => kty)).to.have.members(['RSA', 'EC']);
    for (const key of keys) expect(key).to.not.have.any.keys('d', 'p', 'q');
  });

  it('serves a relying party that checks everything', async () => {
    const config = await client.discovery(new URL(issuers.issuer), 'atrium', undefined, client.None(), {
      execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    });
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const expectedNonce = client.randomNonce();
    const expectedState = client.randomState();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: `${issuers.origin}/`,
      scope: 'openid profile email groups offline_access',
      state: expectedState,
      nonce: expectedNonce,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    const browser = issuers.browser();
    const end = await browser.submit(await browser.get(url), jane);
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
    const tokens = await client.authorizationCodeGrant(config, end.url, checks);
    const claims = tokens.claims();
    const userinfo = await client.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '');
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');

    expect(claims).to.deep.include({ email: jane.email, name: 'Jane Doe', groups: ['dev', 'oncall'] });
    expect(userinfo).to.deep.include({ email: jane.email, groups: ['dev', 'oncall'] });
    // A manager may have typed the address, so services that link accounts by verified addresses must not treat it as verified.
    for (const told of [claims, userinfo, renewed.claims()]) expect(told).to.not.have.property('email_verified');
    expect(config.serverMetadata().claims_supported).to.include('email').and.not.include('email_verified');
    expect(renewed.claims()).to.include({ sub: claims?.sub, email: jane.email });
  });

  it('does not ask a logged-in user again', async () => {
    const browser = issuers.browser();
    const first = await party().begin(browser, jane);
    const second = await browser.get(party().authorizationURL());

    expect(first.url.searchParams.get('code')).to.be.a('string');
    expect(second.url.searchParams.get('code')).to.be.a('string');
    expect(second.url.searchParams.get('iss')).to.equal(issuers.issuer);
  });

  it('demands PKCE, and gives a code only to its own redirect URL', async () => {
    const withoutChallenge = await issuers.browser().get(party().authorizationURL({ code_challenge: '', code_challenge_method: '' }));
    const plain = await issuers.browser().get(party().authorizationURL({ code_challenge_method: 'plain' }));
    const elsewhere = await issuers.browser().get(party().authorizationURL({ redirect_uri: 'https://evil.example/' }));
    const relying = party();
    const code = await relying.code(issuers.browser(), jane);
    const wrongVerifier = await relying.redeem(code, { code_verifier: 'a'.repeat(43) });

    expect(withoutChallenge.url.searchParams.get('error')).to.equal('invalid_request');
    expect(plain.url.searchParams.get('error')).to.equal('invalid_request');
    expect(elsewhere.response.status).to.equal(400);
    expect(elsewhere.response.headers.get('location')).to.equal(null);
    expect(wrongVerifier).to.deep.include({ status: 400 }).and.to.have.nested.property('body.error', 'invalid_grant');
  });

  it('accepts a code once, and revokes its tokens when the code is sent again', async () => {
    const relying = party();
    const code = await relying.code(issuers.browser(), jane);
    const tokens = tokensOf(await relying.redeem(code));
    const replayed = await relying.redeem(code);

    expect(replayed.status).to.equal(400);
    expect(replayed.body.error).to.equal('invalid_grant');
    expect((await relying.refresh(tokens.refresh_token)).status).to.equal(400);
    expect((await relying.userinfo(tokens.access_token)).status).to.equal(401);
  });

  it('rotates refresh tokens, and ends the family of one that is used again', async () => {
    const relying = party();
    const first = await relying.tokens(issuers.browser(), jane);
    const second = tokensOf(await relying.refresh(first.refresh_token));
    expect(second.refresh_token).to.not.equal(first.refresh_token);
    const reused = await relying.refresh(first.refresh_token);

    expect(reused.body.error).to.equal('invalid_grant');
    expect((await relying.refresh(second.refresh_token)).body.error).to.equal('invalid_grant');
    expect((await relying.userinfo(second.access_token)).status).to.equal(401);
  });

  it('ends a grant when its refresh token is revoked, and another client cannot', async () => {
    const relying = party();
    const tokens = await relying.tokens(issuers.browser(), jane);
    const stranger = await relying.post('/token/revocation', { client_id: 'kubectl', token: tokens.refresh_token });
    expect(stranger.status).to.equal(200);
    expect((await relying.userinfo(tokens.access_token)).status).to.equal(200);
    const revoked = await relying.post('/token/revocation', { token: tokens.refresh_token });

    expect(revoked.status).to.equal(200);
    expect((await relying.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
    expect((await relying.userinfo(tokens.access_token)).status).to.equal(401);
  });

  it('keeps nothing readable in its records', async () => {
    const relying = party();
    const tokens = await relying.tokens(issuers.browser(), jane);
    const { body } = await issuers.kubernetes.call('GET', '/apis/auth.platform.io/v1/identityrecords');
    const text = JSON.stringify(body);

    expect(text).to.contain('RefreshToken');
    for (const secret of [tokens.access_token, tokens.refresh_token, jane.email, claimsOf(tokens.id_token).sub]) {
      expect(text).to.not.contain(String(secret));
    }
  });

  it('takes no identity record for another, even when its object is overwritten', async () => {
    const relying = party();
    const [own, other] = [await relying.tokens(issuers.browser(), jane), await relying.tokens(issuers.browser(), jane)];
    const [from, to] = [own, other].map(({ refresh_token: token }) => `${recordsPath}/refreshtoken-${hash('sha256', token)}`);
    const { spec } = z.object({ spec: z.object({ sealed: z.string() }) }).parse((await issuers.kubernetes.call('GET', from ?? '')).body);
    const swapped = await issuers.kubernetes.call('PATCH', to ?? '', { spec }, { 'content-type': 'application/merge-patch+json' });
    expect(swapped.status).to.equal(200);

    expect((await relying.refresh(other.refresh_token)).body.error).to.equal('invalid_grant');
    expect((await relying.refresh(own.refresh_token)).status).to.equal(200);
  });

  it('answers with a form on request, with no script but its own', async () => {
    const browser = issuers.browser();
    await party().code(browser, jane);
    const { response, body } = await browser.get(party().authorizationURL({ response_mode: 'form_post' }));
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(body) ?? [];

    expect(body).to.match(/<input type="hidden" name="code"/);
    expect(response.headers.get('content-security-policy')).to.contain(`'sha256-${hash('sha256', script, 'base64')}'`);
    expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
  });

  it('answers 503 while its records cannot be reached, and recovers afterwards', async () => {
    const relying = party();
    const tokens = await relying.tokens(issuers.browser(), jane);
    await issuers.replicas[0]?.relay.cut();
    const refused = await relying.refresh(tokens.refresh_token);
    const page = await issuers.browser().get(relying.authorizationURL());
    await issuers.replicas[0]?.relay.mend();

    expect(refused.status).to.equal(503);
    expect(refused.body.error).to.equal('temporarily_unavailable');
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(page.response.status).to.equal(200);
    const again = await eventually(
      () => relying.refresh(tokens.refresh_token),
      ({ status }) => status !== 503,
    );
    expect(again.status).to.equal(200);
  });

  describe('when an account changes', () => {
    const refusals: [string, Parameters<Issuers['change']>[1]][] = [
      ['is disabled', { spec: { is_disabled: true } }],
      ['has expired', { spec: { expired: { end: '2026-01-01T00:00:00Z' } } }],
      ['is gone from its source', { spec: { valid: false } }],
      ['got a new password', { status: { sessionsNotBefore: new Date(Date.now() + 3_600_000).toISOString() } }],
      ['comes from elsewhere now', { spec: { connector_type: 'ldap', connector_id: 'corp' } }],
    ];
    for (const [index, [what, change]] of refusals.entries()) {
      it(`USR-07 ends the session and every token of a user who ${what}`, async () => {
        const person = { email: `person${index}@example.com`, password: 'a password' };
        await issuers.addPerson(person.email, person.password);
        const relying = party();
        const browser = issuers.browser();
        const tokens = await relying.tokens(browser, person);
        const pending = await relying.code(browser, person).catch(() => '');
        await issuers.change(person.email, change);

        const refreshed = await eventually(
          async () => (await relying.userinfo(tokens.access_token)).status,
          (status) => status === 401,
        ).then(() => relying.refresh(tokens.refresh_token));
        expect(refreshed.body.error).to.equal('invalid_grant');
        if (pending !== '') expect((await relying.redeem(pending)).body.error).to.equal('invalid_grant');
        const visit = await browser.get(relying.authorizationURL());
        expect(visit.body).to.contain('name="password"');
      });
    }

    it('refuses the tokens of a user whose name another user has got', async () => {
      const person = { email: 'reborn@example.com', password: 'a password' };
      await issuers.addPerson(person.email, person.password);
      const relying = party();
      const tokens = await relying.tokens(issuers.browser(), person);
      await issuers.kubernetes.remove(`${usersPath}/${nameOf(person.email)}`);
      await issuers.kubernetes
        .remove(`/api/v1/namespaces/atrium-system/secrets/user-password-${nameOf(person.email)}`)
        .catch(() => undefined);
      await issuers.addPerson(person.email, 'another password');

      await eventually(
        async () => (await relying.userinfo(tokens.access_token)).status,
        (status) => status === 401,
      );
      expect((await relying.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
      const successor = await relying.tokens(issuers.browser(), { ...person, password: 'another password' });
      expect(claimsOf(successor.id_token).sub).to.not.equal(claimsOf(tokens.id_token).sub);
    });

    it('USR-12 keeps the session of a locked user', async () => {
      const person = { email: 'locked@example.com', password: 'a password' };
      await issuers.addPerson(person.email, person.password);
      const relying = party();
      const tokens = await relying.tokens(issuers.browser(), person);
      await issuers.change(person.email, { status: { lockedUntil: new Date(Date.now() + 60_000).toISOString() } });

      expect((await relying.refresh(tokens.refresh_token)).status).to.equal(200);
    });
  });
});
