/** Notices to a user at the next login. */
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Browser, type PageVisit } from '../identity/browser.ts';
import { Issuers } from '../identity/issuers.ts';
import { nameOf } from '../users/a-user.ts';
import { Authenticator } from './authenticator.ts';
import { codeOf, codesIn, Person, wasLetIn } from './person.ts';

describe('notices at the login page', () => {
  const issuers = forSuite(() =>
    Issuers.start({
      host: 'localhost',
      config: {
        console: {
          languages: [
            { id: 'en', name: 'English' },
            { id: 'de', name: 'Deutsch' },
          ],
        },
      },
    }),
  );
  const someone = (name: string) => Person.with(issuers, `${name}@example.com`);
  const staying = (headers?: Record<string, string>) =>
    new Browser(issuers.publicOrigin, [issuers.origin], { staysAtNotices: true, ...(headers && { headers }) });
  const told = ({ body }: PageVisit) => [...body.matchAll(/<li>([^<]*)<br>/g)].map(([, text]) => text);
  const kept = async (person: Person) =>
    ((await person.record()).status.notices as { type: string }[] | undefined)?.map(({ type }) => type) ?? [];

  it('report a new factor once, and not in the visit that set it up', async () => {
    const person = await someone('told');
    expect(wasLetIn(await person.enrol(staying()))).to.equal(true);
    expect(await kept(person)).to.deep.equal(['TOTPAdded', 'RecoveryCodesAdded']);

    const browser = staying();
    const page = await person.logIn(codeOf(person.secret, 1), browser);
    expect(page.response.status).to.equal(200);
    expect(told(page)).to.deep.equal(['New recovery codes were created.', 'An authenticator app was set up.']);
    expect(page.body).to.contain('name="noticed"').and.to.contain('inform an administrator');
    // A notice stays until the user has read it.
    expect(await kept(person)).to.have.length(2);
    expect(wasLetIn(await browser.submit(page, { noticed: 'yes' }))).to.equal(true);
    expect((await person.record()).status).not.to.have.property('notices');
  });

  it('come after the second factor alone', async () => {
    const person = await someone('second');
    await person.enrol(staying());
    const page = await person.begin(staying());
    expect(page.body).to.contain('name="code"').and.not.to.contain('name="noticed"');
  });

  it('report the use of a recovery code at the next login', async () => {
    const person = await someone('paper');
    await person.enrol();
    await person.logIn(codeOf(person.secret, 1));
    expect(wasLetIn(await person.logIn(person.codes[0] ?? '', staying()))).to.equal(true);
    expect(told(await person.logIn(person.codes[1] ?? '', staying()))).to.deep.equal(['A recovery code was used.']);
  });

  it('keep notices that arrive while others are read', async () => {
    const person = await someone('reader');
    await person.enrol();
    const browser = staying();
    const page = await person.logIn(person.codes[0] ?? '', browser);
    expect(wasLetIn(await browser.submit(page, { noticed: 'yes' }))).to.equal(true);
    expect(await kept(person)).to.deep.equal(['RecoveryCodeUsed']);
  });

  it('speak the language of the page', async () => {
    const person = await someone('deutsch');
    await person.enrol();
    const page = await person.logIn(person.codes[0] ?? '', staying({ 'accept-language': 'de' }));
    expect(page.body).to.contain('<h1>Seit Ihrer letzten Anmeldung</h1>').and.to.contain('Eine Authenticator-App wurde eingerichtet.');
  });

  it('contain no text of a caller, and ten at most', async () => {
    const person = await someone('named');
    const evil = '<img src=x onerror=alert(1)>';
    const browser = new Browser(issuers.publicOrigin, [issuers.origin], { headers: { 'user-agent': evil } });
    const authenticator = new Authenticator(issuers.origin);
    const setUp = await person.begin(browser, { prompt: 'enrol', factor: 'passkey' });
    const codes = codesIn(await browser.submit(setUp, { assertion: authenticator.create(setUp), name: evil }));
    const visitor = staying();
    const second = await person.begin(visitor);
    const page = await visitor.submit(second, { assertion: authenticator.get(second) });
    expect(told(page)).to.have.length(2);
    expect(page.body).not.to.contain('img src').and.not.to.contain('&lt;img');

    const path = `/apis/auth.platform.io/v1/users/${nameOf(person.email)}/status`;
    const type = { 'content-type': 'application/merge-patch+json' };
    const notices = [{ type: evil, time: '2026-03-01T11:00:00Z' }];
    expect((await issuers.kubernetes.call('PATCH', path, { status: { notices } }, type).catch(() => ({ status: 422 }))).status).to.equal(
      422,
    );
    for (let used = 0; used < 9; used += 1) await person.logIn(codes[used] ?? '', staying());
    expect(await kept(person)).to.have.length(10);
  });
});
