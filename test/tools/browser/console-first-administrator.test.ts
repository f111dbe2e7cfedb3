/** A first administrator, who administers users and has no further role, on an installation without lists. */
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, press, submitPassword } from './demo.ts';

const password = 'a long enough passphrase';
const email = 'ada@example.com';

describe('the pages of a first administrator', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [email], password, files: theConsole }));
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);

  before(async () => {
    await service.admin.apply(clusterRoleBinding('first-admin', 'atrium-users-admin', { kind: 'User', name: email }));
    await page.goto(service.url);
    await press(page, 'Log in');
    await submitPassword(page, { email, password });
    await isLoggedIn(page, email);
  });

  it('give the command for the role view in one notice on the overview', async () => {
    const notice = page.getByRole('region', { name: 'You see no workloads yet' });
    await notice.waitFor();

    expect(await notice.locator('pre').textContent()).to.equal(
      `kubectl create clusterrolebinding \\\n  view-ada-example.com \\\n  --clusterrole view \\\n  --user ${email}`,
    );
    expect(await page.getByText('You may not see this.').count()).to.equal(0);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      expect(await barriers(page), scheme).to.deep.equal([]);
    }
    for (const width of [1280, 768, 390]) {
      await page.setViewportSize({ width, height: 844 });
      const hidden = await notice.locator('pre').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      expect(hidden, `the command at ${width}`).to.equal(0);
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('say which kinds the search leaves out', async () => {
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Go to' });
    await palette.getByRole('combobox').fill('no such thing');
    await palette.getByText('No results in the searched kinds.').waitFor();
    await palette.getByText(/^Not searched, because this installation does not list them: .*pods/i).waitFor();
    await page.keyboard.press('Escape');
  });

  it('have no notice once a role allows lists of workloads', async () => {
    await service.admin.apply(clusterRoleBinding('all-ada', 'cluster-admin', { kind: 'User', name: email }));
    await page.getByRole('region', { name: 'You see no workloads yet' }).waitFor();
    await page.reload();
    await page
      .getByRole('region', { name: 'Workloads that are not ready' })
      .or(page.getByText('All workloads are ready.'))
      .first()
      .waitFor();

    expect(await page.getByRole('region', { name: 'You see no workloads yet' }).count()).to.equal(0);
    expect(visitor.complaints).to.deep.equal([]);
  });
});
