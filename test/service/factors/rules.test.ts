import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { codeOf, Person, secretIn, wasLetIn } from './person.ts';

const factors = {
  rules: [
    { group: 'ext:admins', factors: 'required' },
    { group: 'ext:dev', factors: 'optional' },
    { group: 'ext:guests', factors: 'off' },
  ],
  grace: '7d',
};

describe('rules for second factors', () => {
  const issuers = forSuite(() => Issuers.start({ config: { login: { factors, claims: { groupsPrefix: 'ext:' } } } }));
  const someone = async (name: string, groups: string[]) => {
    const person = await Person.with(issuers, `${name}@example.com`);
    await issuers.change(person.email, { status: { groups } });
    return person;
  };
  const overdue = (person: Person) =>
    issuers.change(person.email, { status: { factorsDueTime: new Date(Date.now() - 1000).toISOString() } });

  it('ask users who need a factor to set it up, and let them postpone it during the grace period', async () => {
    const person = await someone('boss', ['dev', 'admins']);
    const browser = person.browser();
    const before = Date.now();
    const page = await person.begin(browser);
    expect(secretIn(page)).to.have.length(32);
    expect(page.body).to.contain('name="later"');
    const { factorsDueTime } = (await person.record()).status;
    // Times have whole seconds.
    expect(Date.parse(String(factorsDueTime)) - 7 * 86_400_000).to.be.within(before - 999, Date.now());

    expect(wasLetIn(await browser.submit(page, { later: 'yes' }))).to.equal(true);
    await person.begin();
    expect((await person.record()).status.factorsDueTime).to.equal(factorsDueTime);
  });

  it('let one be set up in the middle of the login', async () => {
    const person = await someone('diligent', ['admins']);
    const browser = person.browser();
    const page = await person.begin(browser);
    const codes = await browser.submit(page, { code: codeOf(secretIn(page)) });
    expect(wasLetIn(await browser.submit(codes, {}))).to.equal(true);

    expect((await person.begin()).body)
      .to.contain('name="code"')
      .and.not.to.contain('class="key"');
  });

  it('MFA-09 refuse users without a factor after the grace period, and a setup with the password alone', async () => {
    const person = await someone('late', ['admins']);
    const browser = person.browser();
    const open = await person.begin(browser);
    await overdue(person);

    const page = await person.begin();
    expect(page.response.status).to.equal(403);
    expect(page.body).to.contain('role="alert"').and.not.to.contain('class="key"');
    expect(person.events()).to.include('LoginFailed');
    // The page was shown during the grace period.
    expect(wasLetIn(await browser.submit(open, { later: 'yes' }))).to.equal(false);
    for (const factor of ['totp', 'codes'])
      expect((await person.begin(person.browser(), { prompt: 'enrol', factor })).response.status).to.equal(403);
    expect(await person.factors()).to.deep.equal([]);
  });

  it('let nothing be set up where it is off', async () => {
    const person = await someone('guest', ['guests']);

    expect(wasLetIn(await person.begin(person.browser(), { prompt: 'enrol', factor: 'totp' }))).to.equal(true);
    expect(await person.factors()).to.deep.equal([]);
  });

  it('MFA-05 do not matter for a factor that exists', async () => {
    const person = await someone('former', ['dev']);
    await person.enrol();
    await issuers.change(person.email, { status: { groups: ['guests'] } });

    expect((await person.begin()).body).to.contain('name="code"');
  });

  it('do not apply to other users', async () => {
    const person = await someone('other', ['others']);

    expect(wasLetIn(await person.begin())).to.equal(true);
    expect((await person.record()).status).not.to.have.property('factorsDueTime');
  });

  it('refuse to set up an unknown kind', async () => {
    const person = await someone('odd', []);

    expect((await person.begin(person.browser(), { prompt: 'enrol', factor: 'sms' })).response.status).to.equal(400);
  });
});
