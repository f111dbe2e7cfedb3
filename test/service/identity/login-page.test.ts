import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };

describe('the login page', () => {
  const issuers = forSuite(() =>
    Issuers.start({
      config: {
        console: {
          languages: [
            { id: 'de-AT', name: 'Deutsch' },
            { id: 'en', name: 'English' },
            { id: 'fr', name: 'Français' },
          ],
        },
        identity: { loginPage: { title: 'Träger & Söhne', logo: '/api/v1/cm/logos/logo.svg' } },
        users: { lockout: { duration: '20m' } },
      },
    }),
  );
  const party = (clientID?: string) =>
    new RelyingParty({ issuer: issuers.issuer, ...(clientID && { clientID, redirectURI: 'http://127.0.0.1:8000/callback' }) });
  const open = async (differing: Record<string, string> = {}, headers: Record<string, string> = {}) =>
    issuers.browser(headers).get(party().authorizationURL(differing));

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
  });

  it('is plain HTML that says what it is to every reader', async () => {
    const { response, body } = await open();

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(body).to.match(/^<!DOCTYPE html>\n<html lang="de">/);
    expect(body).to.match(/<meta name="viewport" content="width=device-width, initial-scale=1">/);
    expect(body).to.match(/<title>Anmelden – Träger &amp; Söhne<\/title>/);
    expect(body).to.match(/<main>[\s\S]*<h1>Anmelden<\/h1>/);
    for (const id of ['email', 'password']) {
      expect(body).to.contain(`<label for="${id}">`);
      expect(body).to.match(new RegExp(`<input id="${id}"[^>]* autocomplete="(username|current-password)"`));
    }
    expect(body).to.not.match(/<script|javascript:|\son\w+=|style="|https?:\/\//i);
    expect(body).to.contain('<img src="/api/v1/cm/logos/logo.svg" alt="">');
  });

  it('must not load anything, be framed or be stored', async () => {
    const { headers } = (await open()).response;
    const policy = new Map(
      headers
        .get('content-security-policy')
        ?.split('; ')
        .map((directive) => [directive.split(' ', 1)[0], directive.slice(directive.indexOf(' ') + 1)]),
    );

    expect(policy.get('default-src')).to.equal("'none'");
    expect(policy.get('style-src')).to.match(/^'sha256-[\w+/=]+'$/);
    expect(policy.get('img-src')).to.equal("'self'");
    expect(policy.get('form-action')).to.equal(`'self' ${issuers.origin}`);
    expect(policy.get('frame-ancestors')).to.equal("'none'");
    expect(policy.has('script-src')).to.equal(false);
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(headers.get('x-frame-options')).to.equal('DENY');
    expect(headers.get('referrer-policy')).to.equal('same-origin');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
  });

  it('uses the requested language, or the browser’s, or the first one of the console', async () => {
    const languageOf = ({ body }: { body: string }) => /<html lang="([^"]*)"/.exec(body)?.[1];

    expect(languageOf(await open())).to.equal('de');
    expect(languageOf(await open({}, { 'accept-language': 'fr-CH, en-GB;q=0.8, de;q=0.5' }))).to.equal('en');
    expect(languageOf(await open({ ui_locales: 'xx en-US de' }, { 'accept-language': 'de' }))).to.equal('en');
    expect(languageOf(await open({ ui_locales: 'zh' }, { 'accept-language': 'zh' }))).to.equal('de');
  });

  it('shows its parameters as text', async () => {
    const { body } = await open({ login_hint: '"><script>alert(1)</script>' });

    expect(body).to.contain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(body).to.not.contain('<script');
  });

  it('gives one answer to a wrong password and to an unknown user, and keeps the form fields except the password', async () => {
    const wrong = await party().begin(issuers.browser(), { email: jane.email, password: 'a secret guess' });
    const unknown = await party().begin(issuers.browser(), { email: 'nobody@example.com', password: 'a secret guess' });
    const neutral = ({ body }: { body: string }) => body.replaceAll(/jane@example.com|nobody@example.com/g, 'SOMEBODY');

    expect(wrong.response.status).to.equal(403);
    expect(unknown.response.status).to.equal(403);
    expect(neutral(wrong)).to.equal(neutral(unknown));
    expect(wrong.body).to.match(/<title>Fehler: /);
    expect(wrong.body).to.match(/<div class="bad" role="alert" id="problem">.*20 Minuten/s);
    expect(wrong.body).to.match(/<input id="password"[^>]* aria-invalid="true" aria-describedby="problem"/);
    expect(wrong.body).to.contain(`value="${jane.email}"`);
    expect(wrong.body).to.not.contain('a secret guess');
  });

  it('USR-10 gives the same answer to an unknown user, a wrong password, a disabled user and a locked one', async () => {
    const guess = 'not even the right one';
    await issuers.addPerson('wrong@example.com', 'the right one');
    await issuers.addPerson('off@example.com', guess, { is_disabled: true });
    await issuers.addPerson('shut@example.com', guess);
    await issuers.change('shut@example.com', { status: { lockedUntil: new Date(Date.now() + 600_000).toISOString(), failedLogins: 5 } });
    const answers = [];
    for (const who of ['unknown', 'wrong', 'off', 'shut']) {
      const { response, body } = await party().begin(issuers.browser(), { email: `${who}@example.com`, password: guess });
      const headers = [...response.headers.keys()].sort().join();
      answers.push(JSON.stringify([response.status, headers, body.replaceAll(`${who}@example.com`, 'SOMEBODY')]));
    }
    expect(answers[0]).to.contain('403');
    expect(new Set(answers).size).to.equal(1);
  });

  it('USR-11 locks after five wrong passwords, without mentioning it', async () => {
    const person = { email: 'five@example.com', password: 'the right one' };
    await issuers.addPerson(person.email, person.password);
    const answers: string[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      answers.push((await party().begin(issuers.browser(), { ...person, password: 'a wrong one' })).body);
    }
    const locked = await party().begin(issuers.browser(), person);

    expect(locked.response.status).to.equal(403);
    expect(new Set([...answers, locked.body]).size).to.equal(1);
    expect(issuers.auditLines.filter(({ audit }) => audit === 'UserLocked')).to.have.lengthOf(1);
  });

  it('stores nothing for a visitor who never logs in', async () => {
    const before = await issuers.records();
    for (let visit = 0; visit < 100; visit += 1) await open();
    await issuers.browser().get(`${issuers.issuer}/session/end`);
    await issuers.browser().get(`${issuers.issuer}/device`);
    await party().begin(issuers.browser(), { email: jane.email, password: 'a wrong one' });

    expect(await issuers.records()).to.deep.equal(before);
  });

  it('LOG-10 keeps two tabs apart, and the cookies of sixty abandoned ones below 8 KiB', async () => {
    const browser = issuers.browser();
    const tabs = [await browser.get(party().authorizationURL()), await browser.get(party().authorizationURL())];
    const ends = [];
    for (const tab of tabs) ends.push(await browser.submit(tab, jane));
    for (const end of ends) expect(end.url.searchParams.get('code')).to.be.a('string');

    const abandoned = issuers.browser();
    for (let visit = 0; visit < 60; visit += 1) await abandoned.get(party().authorizationURL());
    const sent = abandoned.cookies.filter(({ path }) => path === '/');
    expect(sent.reduce((length, { name, value }) => length + name.length + value.length + 3, 0)).to.be.lessThan(8192);
    expect((await party().begin(abandoned, jane)).url.searchParams.get('code')).to.be.a('string');
  });

  it('refuses a request that is too long for a cookie', async () => {
    const { response, url } = await open({ state: 'x'.repeat(5000) });

    expect(response.status).to.equal(303);
    expect(url.searchParams.get('error')).to.equal('invalid_request');
  });

  it('sends users who cancel back to their page', async () => {
    const browser = issuers.browser();
    const end = await browser.submit(await browser.get(party().authorizationURL({ state: 'my-state' })), { cancel: 'yes' });

    expect(end.url.origin).to.equal(issuers.origin);
    expect(end.url.searchParams.get('error')).to.equal('access_denied');
    expect(end.url.searchParams.get('state')).to.equal('my-state');
  });

  it('refuses a form that another site has sent, or of another browser', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }] as Record<
      string,
      string
    >[]) {
      const browser = issuers.browser(headers);
      const page = await browser.get(party().authorizationURL());
      expect((await browser.submit(page, jane)).response.status).to.equal(403);
    }
    const page = await open();
    const stolen = await issuers.browser().submit(page, jane);
    expect(stolen.response.status).to.equal(400);
    expect(stolen.body).to.match(/<p role="alert">/);
  });

  it('answers only the methods that it has', async () => {
    const { url } = await open();
    const response = await fetch(url, { method: 'DELETE' });

    expect(response.status).to.equal(405);
    expect(response.headers.get('allow')).to.equal('GET, HEAD, POST');
  });

  it('sets cookies with its own names only', async () => {
    const browser = issuers.browser();
    const page = await browser.get(party().authorizationURL());
    await browser.submit(page, jane);

    // The cookie of a known browser serves other limits of the service, too.
    for (const { name } of browser.cookies) expect(name).to.match(/^atrium_(identity_[a-z_]+|browser)_[0-9a-f]{8}(_|\.sig|$)/);
  });

  it('asks before a program on the same machine gets to use a session, and names program and user', async () => {
    const browser = issuers.browser();
    await party().code(browser, jane);
    const page = await browser.get(party('kubectl').authorizationURL());
    expect(page.body).to.match(/<h1>Fortfahren\?<\/h1>/);
    expect(page.body).to.contain(`kubectl möchte Sie als ${jane.email} anmelden.`);
    const end = await browser.submit(page, {});

    expect(end.url.host).to.equal('127.0.0.1:8000');
    expect(end.url.searchParams.get('code')).to.be.a('string');
  });

  it('ends the login of another user in this browser only on request', async () => {
    const other = { email: 'other@example.com', password: 'other password' };
    await issuers.addPerson(other.email, other.password);
    const browser = issuers.browser();
    await party().code(browser, jane);
    const question = await party('kubectl').begin(browser, other, { prompt: 'login' });
    expect(question.response.headers.get('content-security-policy')).to.contain(' http://127.0.0.1:8000;');
    expect(question.body).to.match(/<h1>Anderes Konto<\/h1>/);
    expect(question.body).to.not.contain('<script');
    const end = await browser.submit(question, { logout: 'yes' });

    expect(end.url.searchParams.get('code'), end.body).to.be.a('string');
  });

  it('LEAK-01 writes no password, code or cookie to the log', async () => {
    const browser = issuers.browser();
    const code = await party().code(browser, jane);
    await eventually(
      () => issuers.logLines.some((line) => line.includes('identity log_in')),
      (isThere) => isThere,
    );

    const log = issuers.logLines.join('\n') + JSON.stringify(issuers.auditLines);
    // Paths contain the id of an interaction, which is useless without its sealed and signed cookies.
    const cookies = browser.cookies.filter(({ name }) => !/_(log_in|resume)_/.test(name)).map(({ value }) => value);
    for (const secret of [jane.password, code, ...cookies]) expect(log).to.not.contain(secret);
  });
});
