/** Passkeys by Chromium's WebAuthn with a virtual authenticator: set up, without password, and as the second factor. */
import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { demoInChromium, isLoggedIn, press, submitPassword } from './demo.ts';

const enrolment = '/api/v2/token/redirect?token_storage=cookie&prompt=enrol&factor=passkey';

/** Adds a virtual authenticator with user verification to the browser of a page. */
async function authenticatorOf(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

describe('passkeys in a browser', () => {
  const { browser, demo } = demoInChromium({ users: 2 });

  /** Logs in by password and sets up a passkey. */
  async function enrol(page: Page, role: string, name: string): Promise<void> {
    await page.goto(`${demo.url}${enrolment}`);
    await submitPassword(page, demo.person(role));
    await page.getByRole('heading', { name: 'Set up a passkey' }).waitFor();
    await page.locator('#name').fill(name);
  }

  /** Opens the login page without a session. */
  async function startAnew(page: Page): Promise<void> {
    // A page of the console would send requests without its cookie.
    await page.goto('about:blank');
    await page.context().clearCookies();
    await page.goto(demo.url);
    await press(page, 'Log in');
    await page.locator('#email').waitFor();
  }

  it('are set up, log in without name and password, and are asked for after the password', async () => {
    const visitor = new Visitor(await browser.newContext());
    const page = await visitor.openTab();
    const { cdp, authenticatorId } = await authenticatorOf(page);
    await enrol(page, 'viewer', 'laptop');
    await press(page, 'Create a passkey');
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    await press(page, 'I have saved them: continue');
    await isLoggedIn(page, demo.person('viewer').email);
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
    expect(credentials.map(({ rpId, isResidentCredential }) => ({ rpId, isResidentCredential }))).to.deep.equal([
      { rpId: 'localhost', isResidentCredential: true },
    ]);

    await startAnew(page);
    await press(page, 'Log in with a passkey');
    await page.getByText('A passkey was set up.').waitFor();
    await press(page, 'Continue');
    await isLoggedIn(page, demo.person('viewer').email);

    await startAnew(page);
    await submitPassword(page, demo.person('viewer'));
    await press(page, 'Use a passkey');
    await isLoggedIn(page, demo.person('viewer').email);
    // The console remembers the session, and requests its state.
    expect(visitor.complaints.filter((one) => !one.includes('/api/v2/token/info'))).to.deep.equal([]);
    await visitor.leave();
  });

  it('leave the page unchanged if the browser does not provide them, with a message', async () => {
    const visitor = new Visitor(await browser.newContext());
    const page = await visitor.openTab();
    const { cdp, authenticatorId } = await authenticatorOf(page);
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await startAnew(page);
    await press(page, 'Log in with a passkey');
    await page.getByText('The browser returned no passkey. Try again.').waitFor();
    await submitPassword(page, demo.person('nobody'));
    await isLoggedIn(page, demo.person('nobody').email);
    expect(visitor.complaints).to.deep.equal([]);
    await visitor.leave();
  });

  it('are not offered to browsers without scripts, which log in by password', async () => {
    const visitor = new Visitor(await browser.newContext({ javaScriptEnabled: false }));
    const page = await visitor.openTab();
    await page.goto(`${demo.url}/api/v2/token/redirect?token_storage=cookie`);
    await page.locator('#email').waitFor();
    expect(await page.getByRole('button', { name: 'Log in with a passkey' }).isVisible()).to.equal(false);
    await visitor.leave();
  });

  for (const [name, role, colorScheme, viewport] of [
    ['light', 'manager', 'light', { width: 1280, height: 800 }],
    ['dark', 'admin', 'dark', { width: 1280, height: 800 }],
    ['phone', 'nobody', 'light', { width: 390, height: 780 }],
  ] as const)
    it(`have pages without barriers: ${name}`, async () => {
      const visitor = new Visitor(await browser.newContext({ colorScheme, viewport }));
      const page = await visitor.openTab();
      const { cdp, authenticatorId } = await authenticatorOf(page);
      const look = async (what: string) => {
        expect(await barriers(page), what).to.deep.equal([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
        const { ATRIUM_SCREENSHOTS: directory } = process.env;
        if (directory !== undefined) await page.screenshot({ path: `${directory}/${what}-${name}.png`, fullPage: true });
      };
      await enrol(page, role, '');
      await look('set-up');
      await press(page, 'Create a passkey');
      await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
      await look('codes');
      await startAnew(page);
      await press(page, 'Log in with a passkey');
      await page.getByRole('heading', { name: 'Since your last login' }).waitFor();
      await look('notices');
      await cdp.send('WebAuthn.clearCredentials', { authenticatorId });
      await startAnew(page);
      await page.getByRole('button', { name: 'Log in with a passkey' }).waitFor();
      await look('log-in');
      await submitPassword(page, demo.person(role));
      await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
      await look('second-step');
      await press(page, 'Use a passkey');
      await page.getByText('The browser returned no passkey. Try again.').waitFor();
      await look('given-none');
      await visitor.leave();
    });
});
