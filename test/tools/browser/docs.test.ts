import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { startChromium, Visitor } from './chromium.ts';
import { demoInChromium } from './demo.ts';

interface Description {
  paths: Record<string, Record<string, { operationId: string; tags: string[] }>>;
}

describe('the page /docs, below a base path', () => {
  const browser = forSuite(startChromium, (it) => it.close());
  // The public URL differs from the address of the page, as behind a forwarded port.
  const server = forSuite(() => startServer({ config: { server: { publicURL: 'https://console.example.com/console' } } }));
  let visitor: Visitor;
  let page: Page;
  const asked = new Set<string>();

  before(async () => {
    await server.kubernetes.apply(aUser('ann@example.com', { username: 'Ann Lee' }));
    await eventually(
      async () => (await server.request(`/console/auth/v1/users/${nameOf('ann@example.com')}`, { as: 'admin' })).status,
      (status) => status === 200,
    );
    const context = await browser.newContext({ colorScheme: 'dark' });
    visitor = new Visitor(context);
    context.on('request', (request) => asked.add(new URL(request.url()).origin));
    page = await visitor.openTab();
    await page.goto(`${server.url}/console/docs`);
    await page.locator('.opblock').first().waitFor();
  });

  it('shows all operations of the OpenAPI document, below their tags', async () => {
    const described = (await (await server.request('/console/openapi/v3')).json()) as Description;
    const expected = Object.values(described.paths).flatMap((item) => Object.values(item));

    await eventually(
      () => page.locator('.opblock').count(),
      (count) => count === expected.length,
    );
    for (const { operationId, tags } of expected)
      expect(await page.locator(`[id="operations-${tags[0]?.replaceAll(' ', '_')}-${operationId}"]`).count(), operationId).to.equal(1);
  });

  it('follows the colours of the system', async () => {
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');

    expect(await background()).to.equal('rgb(28, 32, 34)');
    await page.emulateMedia({ colorScheme: 'light' });
    await eventually(background, (color) => color !== 'rgb(28, 32, 34)');
  });

  const open = async (id: string) => {
    const block = page.locator(`[id="${id}"]`);
    await block.locator('.opblock-summary-control').click();
    return block;
  };

  it('shows examples, and tries out an operation with a pasted token, at the address of the page', async () => {
    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    const dialog = page.locator('.modal-ux');
    await dialog
      .locator('.auth-container', { hasText: 'bearer' })
      .locator('input')
      .fill(await server.token('admin'));
    await dialog.locator('.auth-container', { hasText: 'bearer' }).getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    const block = await open('operations-users-GetUser');
    expect(await block.locator('.responses-table').first().textContent()).to.contain('jane@example.com');
    await block.getByRole('button', { name: 'Try it out' }).click();
    await block.locator('input[placeholder="name"]').fill(nameOf('ann@example.com'));
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();

    expect(await block.locator('.live-responses-table').textContent()).to.contain('Ann Lee');
    expect(await block.locator('.request-url').textContent()).to.contain(`${server.url}/console/auth/v1/users/`);
  });

  it('stores no data, contacts no other host for any address, and does not violate its policy', async () => {
    const elsewhere = encodeURIComponent('https://other.example.com/openapi.json');
    await page.goto(`${server.url}/console/docs?url=${elsewhere}&configUrl=${elsewhere}&urls.primaryName=x`);
    await page.locator('.opblock').first().waitFor();

    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).to.equal('{}');
    expect([...asked]).to.deep.equal([server.url]);
    expect(visitor.complaints).to.deep.equal([]);
  });
});

describe('the page /docs of the demo', () => {
  const { browser, demo } = demoInChromium({ users: 5 });

  it('sends a write with the session of the browser, which must prove its origin', async () => {
    const visitor = new Visitor(await browser.newContext());
    const page = await visitor.openTab();
    await demo.logIn(page, 'admin');
    await page.goto(`${demo.url}/docs#/access/CreateSelfSubjectAccessReview`);
    const block = page.locator('[id="operations-access-CreateSelfSubjectAccessReview"]');
    await block.getByRole('button', { name: 'Try it out' }).click();
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.locator('.live-responses-table .response-col_status', { hasText: '201' }).waitFor();

    expect(await block.locator('.live-responses-table').textContent()).to.contain('"allowed": true');
    expect(visitor.complaints).to.deep.equal([]);
  });
});
