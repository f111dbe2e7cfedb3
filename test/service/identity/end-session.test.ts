import { hash } from 'node:crypto';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from './issuers.ts';
import { RelyingParty } from './relying-party.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };

describe('the logout page', () => {
  const issuers = forSuite(() => Issuers.start());
  const party = (scope?: string) => new RelyingParty({ issuer: issuers.issuer, ...(scope && { scope }) });
  const endSessionURL = (parameters: Record<string, string> = {}) => `${issuers.issuer}/session/end?${new URLSearchParams(parameters)}`;
  const returning = () => ({ client_id: 'atrium', post_logout_redirect_uri: `${issuers.origin}/`, state: 'my-state' });

  before(async () => {
    await issuers.addPerson(jane.email, jane.password);
  });

  it('asks, then ends the session and the tokens of this browser, and redirects back', async () => {
    const relying = party();
    const browser = issuers.browser();
    const tokens = await relying.tokens(browser, jane);
    const question = await browser.get(endSessionURL(returning()));
    expect(question.response.headers.get('content-security-policy')).to.contain("default-src 'none'");
    expect(question.body)
      .to.match(/<button name="logout" value="yes">/)
      .and.to.not.contain('<script');
    const end = await browser.submit(question, { logout: 'yes' });

    expect(end.url.href).to.equal(`${issuers.origin}/?state=my-state`);
    expect((await relying.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
    expect((await relying.userinfo(tokens.access_token)).status).to.equal(401);
    expect((await browser.get(party().authorizationURL())).body).to.contain('name="password"');
  });

  it('I4 asks nothing with a valid hint: the page sends itself, and the session ends', async () => {
    const relying = party();
    const browser = issuers.browser();
    const tokens = await relying.tokens(browser, jane);
    const page = await browser.get(endSessionURL({ ...returning(), id_token_hint: tokens.id_token }));
    expect(page.body).to.not.contain('Do you want to log out?').and.to.not.contain('Stay logged in');
    const [, script = ''] = /<script>([^<]*)<\/script>/.exec(page.body) ?? [];
    expect(page.response.headers.get('content-security-policy')).to.contain(`script-src 'sha256-${hash('sha256', script, 'base64')}'`);
    expect(script).to.contain('button[name="logout"]');
    const end = await browser.submit(page, { logout: 'yes' });

    expect(end.url.href).to.equal(`${issuers.origin}/?state=my-state`);
    expect((await relying.refresh(tokens.refresh_token)).body.error).to.equal('invalid_grant');
    expect((await browser.get(party().authorizationURL())).body).to.contain('name="password"');
  });

  it('I4 asks with the hint of another user, and without one', async () => {
    await issuers.addPerson('joe@example.com', jane.password);
    const other = await party().tokens(issuers.browser(), { ...jane, email: 'joe@example.com' });
    const browser = issuers.browser();
    await party().tokens(browser, jane);
    for (const hint of [{ id_token_hint: other.id_token }, {}]) {
      const { body } = await browser.get(endSessionURL({ ...returning(), ...hint }));
      expect(body).to.contain('Do you want to log out?').and.to.not.contain('<script');
    }
  });

  it('keeps tokens that were issued for offline use', async () => {
    const relying = party('openid offline_access');
    const browser = issuers.browser();
    const page = await browser.get(relying.authorizationURL({ prompt: 'consent' }));
    const { url } = await browser.submit(page, jane);
    const { body } = await relying.redeem(url.searchParams.get('code') ?? '');
    await browser.submit(await browser.get(endSessionURL(returning())), { logout: 'yes' });

    expect((await relying.refresh(String(body.refresh_token))).status).to.equal(200);
  });

  it('leads back without ending anything for a user who stays', async () => {
    const relying = party();
    const browser = issuers.browser();
    const tokens = await relying.tokens(browser, jane);
    const question = await browser.get(endSessionURL(returning()));
    expect(question.body).to.include(`<a class="button second" href="${issuers.origin}/">Stay logged in</a>`);

    expect((await relying.userinfo(tokens.access_token)).status).to.equal(200);
    expect((await relying.refresh(tokens.refresh_token)).status).to.equal(200);
    expect((await browser.get(party().authorizationURL())).url.searchParams.get('code')).to.be.a('string');
  });

  it('redirects a user who stays and came from nowhere to the console', async () => {
    const browser = issuers.browser();
    await party().tokens(browser, jane);
    expect((await browser.get(endSessionURL())).body).to.include(`<a class="button second" href="${issuers.origin}/">`);
  });

  it('keeps the session of a user who stays', async () => {
    const browser = issuers.browser();
    await party().tokens(browser, jane);
    const end = await browser.submit(await browser.get(endSessionURL()), {});

    expect(end.response.status).to.equal(200);
    expect((await browser.get(party().authorizationURL())).url.searchParams.get('code')).to.be.a('string');
  });

  it('goes back without a script where no user is logged in', async () => {
    const browser = issuers.browser();
    const page = await browser.get(endSessionURL(returning()));
    expect(page.body).to.not.contain('<script');
    const end = await browser.submit(page, { logout: 'yes' });

    expect(end.url.href).to.equal(`${issuers.origin}/?state=my-state`);
  });

  it('REN-10 sends no browser to an address that is not registered', async () => {
    const browser = issuers.browser();
    await party().tokens(browser, jane);
    const registered = await browser.get(endSessionURL({ client_id: 'atrium', post_logout_redirect_uri: 'https://evil.example/' }));
    const anonymous = await browser.get(endSessionURL({ post_logout_redirect_uri: 'https://evil.example/' }));
    const end = await browser.submit(anonymous, { logout: 'yes' });

    expect(registered.response.status).to.equal(400);
    expect(registered.body).to.contain('role="alert"').and.to.not.contain('href="https://evil.example');
    expect(end.url.href).to.match(new RegExp(`^${issuers.issuer}/session/end/success`));
  });

  it('does not end a session for another site’s form', async () => {
    const browser = issuers.browser();
    await party().tokens(browser, jane);
    const question = await browser.get(endSessionURL());
    const forged = await browser.submit(
      { ...question, body: question.body.replace(/value="[0-9a-f]{48}"/, 'value="guess"') },
      { logout: 'yes' },
    );

    expect(forged.response.status).to.equal(400);
    expect((await browser.get(party().authorizationURL())).url.searchParams.get('code')).to.be.a('string');
  });
});
