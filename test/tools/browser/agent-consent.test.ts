/** The page that asks a person to allow an agent, and the agent among the sessions of that person. */
import { expect } from 'chai';
import { onThisMachine } from '../../service/mcp/official-agent.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, press } from './demo.ts';
import { misplaced } from './layout.ts';
import { ReturningAgent } from './returning-agent.ts';

const ada = { email: 'ada@example.com', password: 'a long enough passphrase' };
const bob = { ...ada, email: 'bob@example.com' };
const focused = 'document.activeElement.textContent.trim()';

describe('an agent in a browser', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [ada.email, bob.email],
      password: ada.password,
      credentials: 'impersonate',
      features: { mcp: true },
      languages: ['en', 'de', 'zh'],
      files: theConsole,
      pluginContext: onThisMachine,
    }),
  );
  const agent = forSuite(() => ReturningAgent.start(service));
  const browser = forSuite(startChromium, (it) => it.close());
  const visit = async (options = {}) => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true, ...options }));

  const pages = {
    en: 'Allow a program to read as you?',
    de: 'Einem Programm erlauben, in Ihrem Namen zu lesen?',
    zh: '是否允许程序以您的身份读取？',
  };
  for (const [locale, title] of Object.entries(pages))
    it(`is shown with its name and host before it may read: ${locale}`, async () => {
      for (const [width, colorScheme] of [
        [1280, 'light'],
        [1280, 'dark'],
        [390, 'light'],
      ] as const) {
        const visitor = await visit({ locale, colorScheme, viewport: { width, height: 800 } });
        const page = await visitor.openTab();
        await agent.ask(page, ada);
        await page.getByRole('heading', { name: title, exact: true }).waitFor();
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
        expect(await barriers(page)).to.deep.equal([]);
        expect(visitor.takeComplaints()).to.deep.equal([]);
        await visitor.leave();
      }
    });

  it('is allowed by keyboard alone, and never by a key that is pressed too early', async () => {
    const visitor = await visit();
    const page = await visitor.openTab();
    await page.goto((await agent.official.ask()).href);
    await page.locator('#email').waitFor();
    await page.keyboard.type(ada.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(ada.password);
    await page.keyboard.press('Enter');
    await page.getByText('Official (agent.example.com').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(focused)).to.equal('Allow');
    await page.keyboard.press('Enter');
    expect((await agent.returned(page)).has('code')).to.equal(true);
    expect(visitor.takeComplaints()).to.deep.equal([]);
    await visitor.leave();
  });

  it('learns that the person has refused, and gets no code', async () => {
    const visitor = await visit();
    const page = await visitor.openTab();
    await agent.ask(page, ada);
    await press(page, 'Cancel');
    const returned = await agent.returned(page);
    expect(returned.get('error')).to.equal('access_denied');
    expect(returned.has('code')).to.equal(false);
    await visitor.leave();
  });

  it('is among the sessions of the person, who ends it there', async () => {
    const visitor = await visit();
    const page = await visitor.openTab();
    await agent.permit(page, bob);
    const headers = {
      authorization: `Bearer ${agent.official.credentials.saved?.access_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
    const call = async () => {
      const { status, body: answer } = await service.request('/mcp', { method: 'POST', headers, body });
      await answer?.cancel();
      return status;
    };
    expect(await call()).to.equal(200);

    await page.goto(`${service.url}/sessions`);
    await press(page, 'Log in');
    await isLoggedIn(page, bob.email);
    const row = page.getByRole('row').filter({ hasText: 'Official (agent.example.com' });
    await row.waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
    await row.getByRole('button', { name: 'End' }).click();
    await page.getByRole('dialog').getByText('Official (agent.example.com').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'End this session' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await call()).to.equal(401);
    expect(visitor.takeComplaints()).to.deep.equal([]);
    await visitor.leave();
  });
});
