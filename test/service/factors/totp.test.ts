import { expect } from 'chai';
import { asService } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { claimsOf, tokensOf } from '../identity/relying-party.ts';
import { codeOf, codesIn, factorsPath, Person, secretIn, wasLetIn, wrongCodeOf } from './person.ts';

describe('a second factor at the embedded issuer', () => {
  const issuers = forSuite(() => Issuers.start({ replicas: 2 }));
  const someone = (name: string) => Person.with(issuers, `${name}@example.com`);

  it('is set up by a QR code and a code of the app, with ten recovery codes', async () => {
    const person = await someone('new');
    const browser = person.browser();
    const page = await person.begin(browser, { prompt: 'enrol', factor: 'totp' });

    expect(page.response.status).to.equal(200);
    expect(page.body).to.match(/<svg class="qr" role="img" aria-label="[^"]+" viewBox="0 0 \d+ \d+"/);
    expect(secretIn(page)).to.match(/^[A-Z2-7]{32}$/);
    expect(page.body).not.to.match(/<script|style="|https?:\/\//i);
    expect(await person.factors()).to.deep.equal([]);

    const wrong = await browser.submit(page, { code: wrongCodeOf(secretIn(page)) });
    expect(wrong.response.status).to.equal(422);
    expect(secretIn(wrong)).to.equal(secretIn(page));

    const codes = await browser.submit(wrong, { code: codeOf(secretIn(page)) });
    expect(new Set(codesIn(codes)).size).to.equal(10);
    expect(wasLetIn(await browser.submit(codes, {}))).to.equal(true);

    const { metadata } = await person.record();
    const stored = await person.factors();
    expect(stored.map(({ spec }) => spec.type)).to.have.members(['TOTP', 'RecoveryCodes']);
    for (const { metadata: own, spec } of stored) {
      expect(own.ownerReferences.map(({ uid }) => uid)).to.deep.equal([metadata.uid]);
      expect(spec.userUID).to.equal(metadata.uid);
      for (const secret of [secretIn(page), ...codesIn(codes)]) expect(JSON.stringify(spec)).not.to.contain(secret);
    }
    expect(person.events().filter((name) => name === 'FactorAdded')).to.have.length(2);
    const written = JSON.stringify([issuers.logLines, issuers.auditLines]);
    for (const secret of [secretIn(page), ...codesIn(codes)]) expect(written).not.to.contain(secret);
  });

  it('is requested after the right password only, and named in the ID token with a time that a refresh does not change', async () => {
    const begunAt = Math.floor(Date.now() / 1000);
    const person = await someone('asked');
    await person.enrol();
    const browser = person.browser();
    const party = person.party();

    const wrong = await party.begin(person.browser(), { email: person.email, password: 'a wrong one' });
    expect(wrong.body).not.to.contain('name="code"');
    const page = await party.begin(browser, person);
    expect(page.body).to.contain('autocomplete="one-time-code"').and.not.to.contain('<script');
    const end = await browser.submit(page, { code: codeOf(person.secret, 1) });
    const tokens = tokensOf(await party.redeem(end.url.searchParams.get('code') ?? ''));
    const claims = claimsOf(tokens.id_token);

    expect(claims).to.deep.include({ acr: 'urn:atrium:acr:2', amr: ['pwd', 'otp', 'mfa'] });
    expect(Number(claims.auth_time)).to.be.within(begunAt, Date.now() / 1000);
    const renewed = claimsOf(tokensOf(await party.refresh(tokens.refresh_token)).id_token);
    for (const name of ['acr', 'amr', 'auth_time']) expect(renewed[name]).to.deep.equal(claims[name]);
  });

  it('leaves a login by password alone as it was, and names it in the ID token', async () => {
    const person = await someone('plain');
    const party = person.party();

    const claims = claimsOf((await party.tokens(person.browser(), person)).id_token);

    expect(claims).to.deep.include({ acr: 'urn:atrium:acr:1', amr: ['pwd'] });
    expect(claims.auth_time).to.be.a('number');
  });

  it('MFA-05 is asked whatever the request leaves out, and cannot be skipped by a form of a later step', async () => {
    const person = await someone('skipping');
    await person.enrol();
    for (const differing of [
      {},
      { prompt: 'login' },
      { acr_values: 'urn:atrium:acr:1' },
      { max_age: '0' },
      { prompt: 'enrol', factor: 'codes' },
    ]) {
      const page = await person.begin(person.browser(), differing);
      expect(page.body, JSON.stringify(differing)).to.contain('name="code"').and.not.to.contain('class="key"');
    }
    const browser = person.browser();
    const page = await person.begin(browser);
    for (const fields of [
      { later: 'yes' },
      { proof: '' },
      { proof: 'x.y' },
      { new_password: 'another one', new_password_again: 'another one' },
    ]) {
      const answer = await browser.submit(page, fields);
      expect(wasLetIn(answer), JSON.stringify(fields)).to.equal(false);
      expect(answer.response.status).to.be.oneOf([400, 403]);
    }
    // A proof of the password belongs to one visit.
    const elsewhere = person.browser();
    const own = await person.begin(elsewhere);
    const proof = /name="proof" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    expect((await elsewhere.submit(own, { proof, code: codeOf(person.secret, 1) })).response.status).to.equal(400);
  });

  it('MFA-05 is asked by a page of before it was set up, which neither goes round it nor replaces it', async () => {
    const person = await someone('overtaken');
    const thief = person.browser();
    const page = await person.begin(thief, { prompt: 'enrol', factor: 'totp' });
    await person.enrol();
    const before = await person.factors();

    for (const fields of [{ code: codeOf(secretIn(page)) }, { later: 'yes' }]) {
      const answer = await thief.submit(page, fields);
      expect(wasLetIn(answer)).to.equal(false);
      expect(answer.body).to.contain('autocomplete="one-time-code"').and.not.to.contain('class="key"');
    }
    expect(await person.factors()).to.deep.equal(before);
  });

  it('MFA-06 counts as a wrong password: five, whatever the number of right passwords between, and at twenty the app is suspended', async () => {
    const person = await someone('guessed');
    await person.enrol();
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const browser = person.browser();
      const page = await person.begin(browser);
      // All attempts run concurrently on both replicas.
      const code = wrongCodeOf(person.secret);
      const guesses = await Promise.all(Array.from({ length: 12 }, () => browser.submit(page, { code })));
      statuses.push(...guesses.map(({ response }) => response.status));
      const { status } = await person.record();
      expect(status).to.include({ failedLogins: 5, secondFactorFailures: (round + 1) * 5, phase: 'Locked' });
      expect((await person.begin()).response.status).to.equal(403);
      expect((await browser.submit(page, { code: codeOf(person.secret, 1) })).response.status).to.equal(403);
      await person.unlock();
    }
    expect(new Set(statuses)).to.deep.equal(new Set([403]));
    const suspended = (await person.record()).status;
    expect(suspended).to.include({ isTOTPSuspended: true });
    expect(JSON.stringify(suspended.notices).split('"TOTPSuspended"'), 'told once').to.have.lengthOf(2);
    expect((await person.logIn(codeOf(person.secret, 1))).response.status).to.equal(403);
    const [code = ''] = person.codes;

    expect(wasLetIn(await person.logIn(code.toLowerCase().replaceAll('-', ' ')))).to.equal(true);
    const { status } = await person.record();
    for (const field of ['isTOTPSuspended', 'secondFactorFailures', 'failedLogins']) expect(status).not.to.have.property(field);
    expect(person.events()).to.include.members(['FactorFailed', 'UserLocked', 'RecoveryCodeUsed']);
  });

  it('MFA-06 keeps its count after a right password without a second factor', async () => {
    const person = await someone('patient');
    await person.enrol();
    for (let guess = 0; guess < 4; guess += 1) await person.logIn(wrongCodeOf(person.secret));
    for (let visit = 0; visit < 3; visit += 1) expect((await person.begin()).body).to.contain('name="code"');

    expect((await person.record()).status).to.include({ failedLogins: 4, secondFactorFailures: 4 });
    await person.logIn(wrongCodeOf(person.secret));
    expect((await person.record()).status).to.include({ phase: 'Locked' });
  });

  for (const what of ['a code of the app', 'a recovery code'])
    it(`MFA-07 takes ${what} once, also when it comes twice at once on two replicas`, async () => {
      const person = await someone(what === 'a recovery code' ? 'paper' : 'twice');
      await person.enrol();
      const code = what === 'a recovery code' ? (person.codes[3] ?? '') : codeOf(person.secret, 1);
      const visits = await Promise.all(
        [0, 1, 2, 3].map(async () => {
          const browser = person.browser();
          return { browser, page: await person.begin(browser) };
        }),
      );

      const ends = await Promise.all(visits.map(({ browser, page }) => browser.submit(page, { code })));

      expect(ends.filter(wasLetIn)).to.have.length(1);
      // The service itself must refuse the code: a refusal of the schema alone would be a 503.
      const again = await person.logIn(code);
      expect(wasLetIn(again)).to.equal(false);
      expect(again.response.status).to.equal(403);
    });

  it('distinguishes a login with a recovery code from one with the app, and lets it set up another app', async () => {
    const person = await someone('lost');
    await person.enrol();
    const old = person.secret;
    const browser = person.browser();
    const page = await person.begin(browser, { prompt: 'enrol', factor: 'totp' });
    const setUp = await browser.submit(page, { code: person.codes[0] ?? '' });
    const secret = secretIn(setUp);
    const end = await browser.submit(setUp, { code: codeOf(secret) });

    expect(wasLetIn(end)).to.equal(true);
    expect((await person.factors()).map(({ spec }) => spec.type)).to.have.members(['TOTP', 'RecoveryCodes']);
    expect(wasLetIn(await person.logIn(codeOf(old, 1)))).to.equal(false);
    expect(wasLetIn(await person.logIn(codeOf(secret, 1)))).to.equal(true);
  });

  it('reports a login with a recovery code as no stronger than one by password', async () => {
    const person = await someone('recovered');
    await person.enrol();
    const browser = person.browser();
    const party = person.party();
    const end = await browser.submit(await party.begin(browser, person), { code: person.codes[9] ?? '' });

    const claims = claimsOf(tokensOf(await party.redeem(end.url.searchParams.get('code') ?? '')).id_token);

    expect(claims).to.deep.include({ acr: 'urn:atrium:acr:1', amr: ['pwd', 'mfa'] });
  });

  it('MFA-12 does not apply to a record that was created again', async () => {
    const person = await someone('again');
    await person.enrol();
    const [factor] = await person.factors();
    // A Factor without an owner reference, which no garbage collector deletes.
    const left = { apiVersion: 'auth.platform.io/v1', kind: 'Factor', metadata: { name: `t-${'0'.repeat(64)}` }, spec: factor?.spec };
    expect((await issuers.kubernetes.call('POST', factorsPath, left, asService)).status).to.equal(201);
    await issuers.kubernetes.remove(`/apis/auth.platform.io/v1/users/${factor?.spec.user}`);
    const successor = await someone('again');

    expect(wasLetIn(await successor.begin())).to.equal(true);
    expect(await successor.factors()).not.to.deep.equal([]);
  });
});
