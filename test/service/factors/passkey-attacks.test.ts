/** Invalid answers of passkeys, or answers for another visit: WebAuthn Level 3, 7.1 and 7.2. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import type { Browser, PageVisit } from '../identity/browser.ts';
import { Issuers } from '../identity/issuers.ts';
import { Authenticator, type Lies, optionsIn } from './authenticator.ts';
import { Person, wasLetIn } from './person.ts';

describe('invalid answers of passkeys', () => {
  const issuers = forSuite(() => Issuers.start({ replicas: 2, host: 'localhost' }));
  const someone = (name: string) => Person.with(issuers, `${name}@example.com`);
  const loginPage = (person: Person, browser: Browser, hint = '') =>
    browser.get(person.party().authorizationURL({ ...(hint !== '' && { login_hint: hint }) }));

  async function enrolled(name: string, options: { count?: number; isBackupEligible?: boolean } = {}) {
    const person = await someone(name);
    const authenticator = new Authenticator(issuers.origin, options);
    expect(wasLetIn(await person.enrolPasskey(authenticator))).to.equal(true);
    return { person, authenticator };
  }

  async function logIn(person: Person, authenticator: Authenticator, lies: Lies = {}): Promise<PageVisit> {
    const browser = person.browser();
    const page = await loginPage(person, browser);
    return browser.submit(page, { assertion: authenticator.get(page, lies) });
  }

  /** Returns another browser with the same cookies. */
  function copyOf(person: Person, browser: Browser): Browser {
    const copy = person.browser();
    for (const { name, value, path } of browser.cookies) copy.keep(`${name}=${value}; path=${path}`);
    return copy;
  }

  it('MFA-01 let in one of several concurrent replays, on both replicas, and none later', async () => {
    const { person, authenticator } = await enrolled('replayed');
    const browser = person.browser();
    const page = await loginPage(person, browser);
    const assertion = authenticator.get(page);
    const copies = Array.from({ length: 4 }, () => copyOf(person, browser));
    const late = copyOf(person, browser);

    const ends = await Promise.all(copies.map((copy) => copy.submit(page, { assertion })));

    expect(ends.filter(wasLetIn)).to.have.length(1);
    expect((await late.submit(page, { assertion })).response.status).to.equal(403);
    // A replay is no sign of a cloned passkey, so the passkey remains valid.
    expect(wasLetIn(await logIn(person, authenticator))).to.equal(true);
  });

  it('MFA-01 let in one of several replays after the password', async () => {
    const { person, authenticator } = await enrolled('replayed-second');
    const browser = person.browser();
    const page = await person.begin(browser);
    const assertion = authenticator.get(page);
    const copies = Array.from({ length: 3 }, () => copyOf(person, browser));

    const ends = await Promise.all(copies.map((copy) => copy.submit(page, { assertion })));

    expect(ends.filter(wasLetIn)).to.have.length(1);
  });

  it('MFA-02 are refused when the counter decreases, and from then on', async () => {
    const { person, authenticator } = await enrolled('cloned', { count: 5 });
    expect(wasLetIn(await logIn(person, authenticator))).to.equal(true);
    expect((await person.passkey())?.status).to.include({ signCount: 6 });

    const before = Date.now();
    expect((await logIn(person, authenticator, { count: 6 })).response.status).to.equal(403);

    const { status } = (await person.passkey()) ?? {};
    // Times have whole seconds.
    expect(Date.parse(String(status?.suspectedTime))).to.be.within(before - 999, Date.now());
    expect(person.events()).to.include('FactorSuspected');
    expect(JSON.stringify((await person.record()).status.notices)).to.contain('"PasskeySuspected"');
    expect((await logIn(person, authenticator, { count: 100 })).response.status).to.equal(403);
    // The passkey is disabled; recovery codes are the way back.
    const browser = person.browser();
    const page = await person.begin(browser);
    expect(page.body).to.contain('name="code"').and.not.to.contain('data-options');
    expect(wasLetIn(await browser.submit(page, { code: person.codes[0] ?? '' }))).to.equal(true);
  });

  it('MFA-02 are refused when the counter stops', async () => {
    const { person, authenticator } = await enrolled('stopped', { count: 5 });

    expect((await logIn(person, authenticator, { count: 0 })).response.status).to.equal(403);
    expect((await person.passkey())?.status).to.have.property('suspectedTime');
  });

  const strangersKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const wrongs: [what: string, lies: Lies][] = [
    ['origin', { origin: 'https://console.example.com' }],
    ['port of the origin', { origin: 'http://localhost:1' }],
    ['relying party', { rpID: 'example.com' }],
    ['challenge', { challenge: 'bWFkZS11cA' }],
    ['frame', { framing: { crossOrigin: true } }],
    ['page around it', { framing: { topOrigin: 'https://evil.example.com' } }],
    ['presence', { isPresent: false }],
  ];
  const wrongsOfLogin: [what: string, lies: Lies][] = [
    ...wrongs,
    ['type', { type: 'webauthn.create' }],
    ['verification of the user', { isVerified: false }],
    ['backup eligibility', { isBackupEligible: true }],
    ['user handle', { userHandle: Buffer.from('another').toString('base64url') }],
    ['user handle, which is missing', { userHandle: undefined }],
    ['key', { key: strangersKey }],
    ['credential', { id: Buffer.from('unknown') }],
  ];

  it('MFA-03 let no user in without a password, whatever is wrong', async () => {
    const { person, authenticator } = await enrolled('lied');
    for (const [what, lies] of wrongsOfLogin) {
      const answer = await logIn(person, authenticator, lies);
      expect(answer.response.status, what).to.equal(403);
      expect(wasLetIn(answer), what).to.equal(false);
    }
    const before = await person.passkey();
    expect(before?.status ?? {}).not.to.have.any.keys('suspectedTime', 'lastUsedTime');
    for (const assertion of ['x', '{}', '{"id":"eA"}', 'x'.repeat(17_000)]) {
      const browser = person.browser();
      const answer = await browser.submit(await loginPage(person, browser), { assertion });
      expect(answer.response.status, assertion.slice(0, 20)).to.equal(403);
    }
    expect(wasLetIn(await logIn(person, authenticator))).to.equal(true);
  });

  it('MFA-03 are not a second factor, and count as a wrong password', async () => {
    const { person, authenticator } = await enrolled('lied-second');
    const other = await enrolled('lied-other');
    const attempts: Lies[] = [{ origin: 'https://console.example.com' }, { type: 'webauthn.create' }, { isBackupEligible: true }];
    for (const lies of attempts) {
      const browser = person.browser();
      const page = await person.begin(browser);
      expect((await browser.submit(page, { assertion: authenticator.get(page, lies) })).response.status).to.equal(403);
    }
    const browser = person.browser();
    const page = await person.begin(browser);
    expect((await browser.submit(page, { assertion: other.authenticator.get(page, { userHandle: undefined }) })).response.status).to.equal(
      403,
    );
    expect((await person.record()).status).to.include({ failedLogins: 4, secondFactorFailures: 4 });
    // After the password user presence is enough, and the user handle may be missing.
    const last = await person.begin(browser);
    const end = await browser.submit(last, { assertion: authenticator.get(last, { isVerified: false, userHandle: undefined }) });
    expect(wasLetIn(end)).to.equal(true);
    expect((await person.record()).status).not.to.have.any.keys('failedLogins', 'secondFactorFailures');
  });

  it('MFA-03 are refused in another visit, and those of the first form in the second', async () => {
    const { person, authenticator } = await enrolled('elsewhere');
    const here = person.browser();
    const elsewhere = person.browser();
    const page = await loginPage(person, here);
    const other = await loginPage(person, elsewhere);
    const challengeOf = ({ body }: PageVisit) => /name="challenge" value="([^"]+)"/.exec(body)?.[1] ?? '';

    const moved = await here.submit(page, { assertion: authenticator.get(other), challenge: challengeOf(other) });
    expect(moved.response.status).to.equal(403);
    const second = await person.begin(here);
    const first = await here.submit(second, { assertion: authenticator.get(page), challenge: challengeOf(page) });
    expect(first.response.status).to.equal(403);
    expect(wasLetIn(first)).to.equal(false);
  });

  it('MFA-03 are not set up', async () => {
    const person = await someone('unset');
    const tries: [what: string, lies: Lies][] = [
      ...wrongs,
      ['type', { type: 'webauthn.get' }],
      ['attestation, whose certificates name hosts to ask', { format: 'apple' }],
    ];
    for (const [what, lies] of tries) {
      const browser = person.browser();
      const page = await person.begin(browser, { prompt: 'enrol', factor: 'passkey' });
      const answer = await browser.submit(page, { assertion: new Authenticator(issuers.origin).create(page, lies) });
      expect(answer.response.status, what).to.equal(422);
    }
    expect(await person.factors()).to.deep.equal([]);
  });

  it('MFA-04 are not set up if they belong to another user, and write nothing', async () => {
    const { person, authenticator } = await enrolled('owner');
    const thief = await someone('thief');
    const browser = thief.browser();
    const page = await thief.begin(browser, { prompt: 'enrol', factor: 'passkey' });

    const answer = await browser.submit(page, { assertion: new Authenticator(issuers.origin).create(page, { id: authenticator.id }) });

    expect(answer.response.status).to.equal(409);
    expect(answer.body).to.contain('role="alert"');
    expect(await thief.factors()).to.deep.equal([]);
    expect(wasLetIn(await logIn(person, authenticator))).to.equal(true);
  });

  it('MFA-11 are requested by the same page, whether or not the user exists, without a call to the API server', async () => {
    const { person } = await enrolled('known');
    const shown = async (hint: string) => {
      const page = await loginPage(person, person.browser(), hint);
      expect(page.response.status).to.equal(200);
      const { challenge, ...options } = optionsIn(page);
      expect(options).to.deep.equal({ rpId: 'localhost', userVerification: 'required', allowCredentials: [] });
      return page.body
        .replaceAll(challenge, '')
        .replace(hint, '')
        .replace(/name="challenge" value="[^"]+"/, '');
    };
    const known = await shown(person.email);
    // No answer may depend on the user, nor may its time, so the page must not call the API server.
    for (const { relay } of issuers.replicas) await relay.cut();
    expect(await shown('unknown@example.com')).to.equal(known);
    expect(await shown(person.email)).to.equal(known);
    for (const { relay } of issuers.replicas) await relay.mend();
  });
});

describe('passkeys from one address', () => {
  const issuers = forSuite(() => Issuers.start({ host: 'localhost', config: { users: { lockout: { failures: 1 } } } }));

  it('are refused after ten wrong ones, of which none is counted while the cluster does not answer', async () => {
    const person = await Person.with(issuers, 'office@example.com');
    const authenticator = new Authenticator(issuers.origin);
    expect(wasLetIn(await person.enrolPasskey(authenticator))).to.equal(true);
    const logIn = async (lies: Lies = {}) => {
      const browser = person.browser();
      const page = await browser.get(person.party().authorizationURL());
      return browser.submit(page, { assertion: authenticator.get(page, lies) });
    };
    const [replica] = issuers.replicas;
    await replica?.relay.cut();
    for (let count = 0; count < 11; count += 1) expect((await logIn()).response.status).to.equal(503);
    await replica?.relay.mend();
    expect(wasLetIn(await logIn())).to.equal(true);

    for (let count = 0; count < 10; count += 1) expect((await logIn({ isVerified: false })).response.status).to.equal(403);
    const { response, body } = await logIn();
    expect(response.status).to.equal(429);
    expect(Number(response.headers.get('retry-after'))).to.be.within(1, 1200);
    expect(body).to.contain('role="alert"');
    expect(issuers.auditLines.at(-1)).to.include({ audit: 'LoginFailed', outcome: 'failure', reason: 'TooManyFromSource' });
  });
});
