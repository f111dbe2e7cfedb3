/** Recordings of shells in the console: made by its terminal, found by Activity, and played. */
import { expect } from 'chai';
import { loggedIn } from './demo.ts';

const hostile = '<img src=x onerror="document.title=1">';

describe('recordings in the console', () => {
  const { browser, demo, page } = loggedIn('admin', '/');
  const screen = () => page.locator('.terminal-host');
  const player = () => page.locator('.replay .xterm-rows');
  const lines = () => page.locator('.transcript li');

  before(async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await page
      .getByRole('table', { name: 'Pods' })
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('button', { name: /^Open sh in / }).click();
    await screen().getByText('Toy shell of the demo').first().waitFor();
    await page.keyboard.type(`echo ${hostile}\nexit\n`);
    await page.getByText('The shell ended with exit status').waitFor();
  });

  it('are found by the event of the shell', async () => {
    await page.goto(`${demo.url}/activity?since=all`);
    await page.getByRole('link', { name: 'Watch the recording' }).first().click();
    await page.getByRole('heading', { name: 'Recording of a shell' }).waitFor();
    expect(page.url()).to.include('/activity/recordings/');
  });

  it('are text for search and for screen readers, whatever they contain', async () => {
    await page.getByRole('searchbox', { name: 'Find in the text' }).fill('ONERROR');
    await page.waitForFunction("[...document.querySelectorAll('.transcript li')].every((line) => line.textContent.includes('onerror'))");
    expect(await lines().count()).to.be.greaterThan(0);
    for (const text of await lines().locator('code').allTextContents()) expect(text).to.include(hostile);
    expect(await page.locator('.transcript img').count()).to.equal(0);
    await page.getByRole('searchbox', { name: 'Find in the text' }).fill('');
  });

  it('play by keyboard', async () => {
    await page.getByRole('button', { name: 'Play' }).focus();
    await page.keyboard.press('Space');
    await player().filter({ hasText: 'onerror' }).waitFor();
    await page.getByRole('button', { name: 'Play' }).waitFor();
  });

  it('go to a line', async () => {
    await lines().first().getByRole('button').click();
    await player().filter({ hasText: 'Toy shell' }).waitFor();
    await player().filter({ hasNotText: 'onerror' }).waitFor();
  });

  it('play output that would stop a terminal', async () => {
    const most = 2_147_483_647;
    const stopping = [...'STLMIZ'].map((final) => `\u001b[${most}${final}`).join('');
    const events = [
      [0.1, 'o', 'first words\r\n'],
      [0.2, 'o', `${stopping}x\u001b[${most}b\r\n`],
      [0.5, 'o', 'long words '.repeat(200_000)],
      [0.6, 'o', '\r\nlast words'],
    ];
    const head = { version: 2, width: 80, height: 24, timestamp: 1_764_496_800, title: hostile };
    const body = [head, ...events].map((line) => `${JSON.stringify(line)}\n`).join('');
    await page.route('**/auth/v1/audit/recordings/hostile', (route) => route.fulfill({ body, contentType: 'application/x-asciicast' }));
    await page.goto(`${demo.url}/activity/recordings/hostile`);
    await lines().filter({ hasText: 'last words' }).getByRole('button').click();
    // A terminal that is out of sight draws nothing.
    await page.getByRole('button', { name: 'Play' }).scrollIntoViewIfNeeded();
    await player().filter({ hasText: 'last words' }).waitFor();
    await lines().filter({ hasText: 'first words' }).getByRole('button').click();
    await page.getByRole('button', { name: 'Play' }).scrollIntoViewIfNeeded();
    await player().filter({ hasText: 'first words' }).waitFor();
    await player().filter({ hasNotText: 'last words' }).waitFor();
  });

  it('are listed', async () => {
    await page.getByRole('link', { name: 'Recordings of shells' }).click();
    await page.getByRole('table', { name: 'Recordings of shells' }).getByText('admin@example.com').first().waitFor();
  });

  it('cannot be deleted without the right, also by the user of the shell', async () => {
    const context = await browser.newContext();
    const viewer = await context.newPage();
    const listed = await fetch(`${demo.url}/auth/v1/audit/recordings`, {
      headers: { authorization: `Bearer ${demo.person('admin').token}` },
    });
    await viewer.route('**/auth/v1/audit/recordings?*', async (route) => route.fulfill({ json: await listed.clone().json() }));
    const reviewed = viewer.waitForResponse(
      (answer) => answer.url().includes('selfsubjectaccessreviews') && (answer.request().postData() ?? '').includes('"recordings"'),
    );
    await demo.logIn(viewer, 'viewer', '/activity/recordings');
    await (await reviewed).finished();
    await viewer.getByRole('table', { name: 'Recordings of shells' }).getByText('admin@example.com').first().waitFor();
    expect(await viewer.getByRole('button', { name: 'Delete' }).count()).to.equal(0);
    await context.close();
  });

  it('are deleted after a confirmation, of which Activity tells', async () => {
    const rows = page.getByRole('table', { name: 'Recordings of shells' }).getByRole('row').filter({ hasText: 'admin@example.com' });
    const before = await rows.count();
    await rows.first().getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete the recording of admin@example.com' });
    await dialog.getByText(/^shop\/storefront-.* is lost for good/).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await rows.count()).to.equal(before);
    await rows.first().getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete the recording of admin@example.com' }).click();
    await page.getByText('The recording is deleted.').waitFor();
    await page.waitForFunction(`document.querySelectorAll('main .plain tbody tr').length === ${before - 1}`);
    await page.goto(`${demo.url}/activity?since=all`);
    await page.getByText('admin@example.com deleted the recording of a shell').first().waitFor();
  });
});
