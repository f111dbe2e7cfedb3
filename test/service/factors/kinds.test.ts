/** Kinds of second factors that are switched off. The first replica offers all of them, the others have older or newer settings. */
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { claimsOf, tokensOf } from '../identity/relying-party.ts';
import { Authenticator, optionsIn } from './authenticator.ts';
import { codeOf, codesIn, Person, secretIn, wasLetIn } from './person.ts';

const required = { factors: { default: 'required', totp: false } };
const [withAll, withoutPasskeys, withoutApps] = [0, 1, 2];

describe('a kind of factor that is off', () => {
  const issuers = forSuite(() =>
    Issuers.start({ host: 'localhost', others: [{ login: { factors: { passkeys: false } } }, { login: required }] }),
  );
  const someone = (name: string) => Person.with(issuers, `${name}@example.com`);
  const enrolled = async (name: string) => {
    const person = await someone(name);
    const authenticator = new Authenticator(issuers.origin);
    expect(wasLetIn(await person.enrolPasskey(authenticator, issuers.browserAt(withAll)))).to.equal(true);
    return { person, authenticator };
  };

  it('is missing from all pages: passkeys', async () => {
    const person = await someone('app');
    const first = await issuers.browserAt(withoutPasskeys).get(person.party().authorizationURL());
    expect(first.body).not.to.match(/<script|data-passkey="/);
    const refused = await person.begin(issuers.browserAt(withoutPasskeys), { prompt: 'enrol', factor: 'passkey' });
    expect(refused.response.status).to.equal(400);

    const browser = issuers.browserAt(withoutPasskeys);
    const app = await person.begin(browser, { prompt: 'enrol', factor: 'totp' });
    expect(app.body).to.contain('class="key"').and.not.to.contain('name="instead"');
    expect((await browser.submit(app, { instead: 'passkey' })).response.status).to.equal(400);
    expect(await person.factors()).to.deep.equal([]);
  });

  it('is missing from all pages: apps. A required factor is a passkey then', async () => {
    const person = await someone('key');
    const refused = await person.begin(issuers.browserAt(withoutApps), { prompt: 'enrol', factor: 'totp' });
    expect(refused.response.status).to.equal(400);

    const browser = issuers.browserAt(withoutApps);
    const page = await person.begin(browser);
    expect(optionsIn(page).rp?.id, page.body).to.equal('localhost');
    expect(page.body).to.contain('name="later"').and.not.to.contain('name="instead"');
    const authenticator = new Authenticator(issuers.origin);
    const codes = await browser.submit(page, { assertion: authenticator.create(page) });
    expect(codesIn(codes)).to.have.length(10);
    expect(wasLetIn(await browser.submit(codes, {}))).to.equal(true);
  });

  it('is refused in the form of an earlier page', async () => {
    const person = await someone('quick');
    const [before, after] = [issuers.browserAt(withAll), issuers.browserAt(withoutApps)];
    const page = await person.begin(before, { prompt: 'enrol', factor: 'totp' });
    for (const { name, value, path } of before.cookies) after.keep(`${name}=${value}; path=${path}`);
    expect((await after.submit(page, { code: codeOf(secretIn(page)) })).response.status).to.equal(400);
    expect(await person.factors()).to.deep.equal([]);

    const [begun, late] = [issuers.browserAt(withAll), issuers.browserAt(withoutPasskeys)];
    const keyPage = await person.begin(begun, { prompt: 'enrol', factor: 'passkey' });
    for (const { name, value, path } of begun.cookies) late.keep(`${name}=${value}; path=${path}`);
    const assertion = new Authenticator(issuers.origin).create(keyPage);
    expect((await late.submit(keyPage, { assertion })).response.status).to.equal(400);
    expect(await person.factors()).to.deep.equal([]);
  });

  it('MFA-05 is asked after the password if it exists, and is accepted: a passkey', async () => {
    const { person, authenticator } = await enrolled('keeper');
    const browser = issuers.browserAt(withoutPasskeys);
    const party = person.party();
    const page = await party.begin(browser, person);
    expect(optionsIn(page).allowCredentials).to.have.length(1);
    const end = await browser.submit(page, { assertion: authenticator.get(page) });
    expect(wasLetIn(end), end.body).to.equal(true);
    const claims = claimsOf(tokensOf(await party.redeem(end.url.searchParams.get('code') ?? '')).id_token);
    expect(claims).to.deep.include({ acr: 'urn:atrium:acr:2' });
  });

  it('MFA-05 is asked after the password if it exists, and is accepted: an app', async () => {
    const person = await someone('coder');
    await person.enrol(issuers.browserAt(withAll));
    const browser = issuers.browserAt(withoutApps);
    const page = await person.begin(browser);
    expect(page.body).to.contain('name="code"');
    expect(wasLetIn(await browser.submit(page, { code: codeOf(person.secret, 1) }))).to.equal(true);
  });

  it('MFA-05 logs no user in without the password, also by an earlier page', async () => {
    const { person, authenticator } = await enrolled('sole');
    const [before, after] = [issuers.browserAt(withAll), issuers.browserAt(withoutPasskeys)];
    const page = await before.get(person.party().authorizationURL());
    for (const { name, value, path } of before.cookies) after.keep(`${name}=${value}; path=${path}`);
    const refused = await after.submit(page, { assertion: authenticator.get(page) });
    expect(refused.response.status).to.equal(400);
    expect(wasLetIn(refused)).to.equal(false);
  });
});
