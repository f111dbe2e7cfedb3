/** Passkeys at the embedded issuer, with a correct authenticator. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { relyingPartyOf } from '../../../src/config/factors.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { claimsOf, tokensOf } from '../identity/relying-party.ts';
import { Authenticator, optionsIn } from './authenticator.ts';
import { codeOf, codesIn, Person, secretIn, wasLetIn } from './person.ts';

describe('a passkey at the embedded issuer', () => {
  const issuers = forSuite(() => Issuers.start({ replicas: 2, host: 'localhost' }));
  const someone = (name: string) => Person.with(issuers, `${name}@example.com`);

  it('is set up after a full login, with recovery codes, and kept without its key being readable', async () => {
    const person = await someone('new');
    const browser = person.browser();
    const page = await person.begin(browser, { prompt: 'enrol', factor: 'passkey' });
    expect(page.response.status, page.body).to.equal(200);
    const options = optionsIn(page);
    expect(options.rp).to.deep.equal({ id: 'localhost', name: 'Atrium' });
    const authenticator = new Authenticator(issuers.origin);
    const codes = await browser.submit(page, { assertion: authenticator.create(page), name: 'laptop' });
    expect(codesIn(codes), codes.body).to.have.length(10);
    expect(wasLetIn(await browser.submit(codes, {}))).to.equal(true);

    const [passkey] = (await person.factors()).filter(({ spec }) => spec.type === 'Passkey');
    expect(passkey?.spec).to.deep.include({
      name: 'laptop',
      passkey: {
        rpID: 'localhost',
        aaguid: '00000000-0000-0000-0000-000000000000',
        backupEligible: false,
        discoverable: true,
        transports: ['internal'],
      },
    });
    expect(JSON.stringify(passkey)).not.to.contain(authenticator.id.toString('base64url'));

    const party = person.party();
    const visitor = person.browser();
    const first = await visitor.get(party.authorizationURL());
    expect(optionsIn(first)).to.deep.include({ allowCredentials: [], userVerification: 'required', rpId: 'localhost' });
    const end = await visitor.submit(first, { assertion: authenticator.get(first) });
    expect(wasLetIn(end), end.body).to.equal(true);
    const claims = claimsOf(tokensOf(await party.redeem(end.url.searchParams.get('code') ?? '')).id_token);
    expect(claims).to.deep.include({ acr: 'phr', amr: ['pop', 'user', 'mfa'] });
  });

  const enrolled = async (name: string, authenticator = new Authenticator(issuers.origin)) => {
    const person = await someone(name);
    expect(wasLetIn(await person.enrolPasskey(authenticator))).to.equal(true);
    return { person, authenticator };
  };
  const logIn = async (person: Person, authenticator: Authenticator) => {
    const browser = person.browser();
    const page = await browser.get(person.party().authorizationURL());
    return { browser, end: await browser.submit(page, { assertion: authenticator.get(page) }) };
  };

  it('is requested after the right password, together with the other factors, and named in the ID token', async () => {
    const begunAt = Math.floor(Date.now() / 1000);
    const { person, authenticator } = await enrolled('second');
    const party = person.party();
    const browser = person.browser();
    const page = await party.begin(browser, person);
    expect(page.body).to.contain('name="code"').and.to.contain('data-passkey="get"');
    expect(optionsIn(page)).to.deep.include({
      userVerification: 'preferred',
      allowCredentials: [{ id: authenticator.id.toString('base64url') }],
    });
    const end = await browser.submit(page, { assertion: authenticator.get(page) });
    const claims = claimsOf(tokensOf(await party.redeem(end.url.searchParams.get('code') ?? '')).id_token);

    expect(claims).to.deep.include({ acr: 'urn:atrium:acr:2', amr: ['pwd', 'pop', 'user', 'mfa'] });
    expect(Number(claims.auth_time)).to.be.within(begunAt, Date.now() / 1000);
    expect(wasLetIn(await person.logIn(person.codes[0] ?? ''))).to.equal(true);
  });

  it('comes on pages with the one script that the policy allows, and no other page has it', async () => {
    const { person } = await enrolled('policy');
    const browser = person.browser();
    const page = await browser.get(person.party().authorizationURL());
    const policy = page.response.headers.get('content-security-policy') ?? '';
    const [, script = ''] = /<script>(.*?)<\/script>/s.exec(page.body) ?? [];
    expect(policy).to.contain(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}';`);
    expect(page.body.match(/<script/g)).to.have.length(1);

    const codes = await person.begin(browser, { prompt: 'enrol', factor: 'codes' });
    expect(codes.response.headers.get('content-security-policy')).to.contain('script-src');
    const shown = await browser.submit(codes, { code: person.codes[0] ?? '' });
    expect(codesIn(shown)).to.have.length(10);
    expect(shown.response.headers.get('content-security-policy')).not.to.contain('script-src');
  });

  it('may be one of ten, each of which names the others to the browser', async () => {
    const { person, authenticator } = await enrolled('many');
    for (let count = 1; count <= 10; count += 1) {
      const browser = person.browser();
      const first = await browser.get(person.party().authorizationURL({ prompt: 'enrol', factor: 'passkey' }));
      const page = await browser.submit(first, { assertion: authenticator.get(first) });
      expect(optionsIn(page).excludeCredentials).to.have.length(count);
      const answer = await browser.submit(page, { assertion: new Authenticator(issuers.origin).create(page) });
      if (count < 10) expect(wasLetIn(answer), String(count)).to.equal(true);
      else expect(answer.response.status).to.equal(409);
    }
    expect((await person.factors()).filter(({ spec }) => spec.type === 'Passkey')).to.have.length(10);
  });

  it('refuses a user who is locked or disabled, and ends the count of wrong passwords', async () => {
    const { person, authenticator } = await enrolled('locked');
    for (let miss = 0; miss < 3; miss += 1) await person.party().begin(person.browser(), { email: person.email, password: 'a wrong one' });
    expect((await person.record()).status).to.include({ failedLogins: 3 });
    expect(wasLetIn((await logIn(person, authenticator)).end)).to.equal(true);
    expect((await person.record()).status).not.to.have.property('failedLogins');

    await issuers.change(person.email, { status: { lockedUntil: new Date(Date.now() + 60_000).toISOString() } });
    expect((await logIn(person, authenticator)).end.response.status).to.equal(403);
    await person.unlock();
    await issuers.change(person.email, { spec: { is_disabled: true } });
    expect((await logIn(person, authenticator)).end.response.status).to.equal(403);
    expect(person.events()).to.include('LoginFailed');
  });

  it('leads to the new password that is due', async () => {
    const { person, authenticator } = await enrolled('due');
    await issuers.change(person.email, { status: { mustChangePassword: true } });
    const { browser, end } = await logIn(person, authenticator);
    expect(end.body).to.contain('name="new_password"');

    const next = { new_password: 'a new password', new_password_again: 'a new password' };
    expect(wasLetIn(await browser.submit(end, next))).to.equal(true);
  });

  it('comes after the password for a directory user', async () => {
    const { person, authenticator } = await enrolled('listed');
    await issuers.change(person.email, { spec: { connector_type: 'ldap', connector_id: 'corp' } });

    const { end } = await logIn(person, authenticator);
    expect(end.response.status).to.equal(403);
    expect(end.body).to.contain('logs in with its password first');
  });

  it('may replace an app, and an app a passkey', async () => {
    const person = await someone('undecided');
    const browser = person.browser();
    const app = await person.begin(browser, { prompt: 'enrol', factor: 'totp' });
    expect(app.body).to.contain('name="instead" value="passkey"');
    const passkey = await browser.submit(app, { instead: 'passkey' });
    expect(optionsIn(passkey).rp?.id).to.equal('localhost');
    const again = await browser.submit(passkey, { instead: 'totp' });
    expect(secretIn(again)).to.match(/^[A-Z2-7]{32}$/);
    expect(codesIn(await browser.submit(again, { code: codeOf(secretIn(again)) }))).to.have.length(10);
  });

  it('may be postponed, and is not set up by a form without one', async () => {
    const person = await someone('later');
    const browser = person.browser();
    const page = await person.begin(browser, { prompt: 'enrol', factor: 'passkey' });
    expect((await browser.submit(page, {})).response.status).to.equal(422);
    expect(wasLetIn(await browser.submit(page, { later: 'yes' }))).to.equal(true);
    expect(await person.factors()).to.deep.equal([]);
  });
});

describe('a passkey at an IP address', () => {
  const issuers = forSuite(() => Issuers.start());

  it('is unavailable: no page mentions it', async () => {
    const person = await Person.with(issuers, 'somewhere@example.com');
    const page = await person.browser().get(person.party().authorizationURL());
    expect(page.body).not.to.match(/<script|data-passkey="/);
    const refused = await person.begin(person.browser(), { prompt: 'enrol', factor: 'passkey' });
    expect(refused.response.status).to.equal(400);
    expect(refused.body).to.contain('https');
    const app = await person.begin(person.browser(), { prompt: 'enrol', factor: 'totp' });
    expect(app.body).to.contain('class="key"').and.not.to.contain('name="instead"');
  });
});

describe('a host for passkeys', () => {
  for (const [publicURL, expected] of [
    ['https://console.example.com', { id: 'console.example.com', origin: 'https://console.example.com' }],
    ['https://example.com:8443/console/', { id: 'example.com', origin: 'https://example.com:8443' }],
    ['http://localhost:8080', { id: 'localhost', origin: 'http://localhost:8080' }],
    ['http://console.example.com', undefined],
    ['https://192.0.2.1', undefined],
    ['https://[2001:db8::1]', undefined],
    ['http://127.0.0.1:8080', undefined],
  ] as const)
    it(`${expected ? 'is' : 'is not'} ${publicURL}`, () => expect(relyingPartyOf(publicURL)).to.deep.equal(expected));
});
