/** History of an object: what was done to it through the service, by the console and by programs. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { barriers } from './axe.ts';
import { loggedIn, press } from './demo.ts';

const storefront = '/apis/apps/v1/namespaces/shop/deployments/storefront';
const rows = (page: Page) => page.getByRole('table', { name: 'History' }).getByRole('row');

describe('the history of an object in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const send = (role: string, method: string, path: string, body?: object) =>
    fetch(`${demo.url}/api/kubernetes${path}`, {
      method,
      headers: { authorization: `Bearer ${demo.person(role).token}`, 'content-type': 'application/merge-patch+json' },
      ...(body && { body: JSON.stringify(body) }),
    });

  it('names the user who scaled it, the replicas before and after, and the user who tried to delete it', async () => {
    expect((await send('admin', 'PATCH', `${storefront}/scale`, { spec: { replicas: 5 } })).status).to.equal(200);
    expect((await send('viewer', 'DELETE', storefront)).status).to.equal(403);
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await page.getByRole('link', { name: 'History', exact: true }).click();
    await rows(page).getByText('admin@example.com scaled it from 3 to 5').waitFor();
    await rows(page).filter({ hasText: 'viewer@example.com tried to delete it' }).getByText('Refused (403)').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('says what was done in the console itself', async () => {
    await press(page, 'Scale');
    await page.getByRole('spinbutton').fill('2');
    await press(page, 'Scale to 2');
    await rows(page).getByText('admin@example.com scaled it from 5 to 2').waitFor();
  });

  it('has nothing for an object that nobody has changed', async () => {
    await page.goto(`${demo.url}/r/core/v1/nodes/node-1/history`);
    await page.getByText('This object was not changed through the console yet').waitFor();
  });
});

describe('the history of an object for a user who may not list audits', () => {
  const { demo, page } = loggedIn('viewer', '/');

  it('has what the user did, and says so', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/history`);
    await page.getByText('This list has what you did yourself.').waitFor();
    await page.getByText('You have not changed this object').waitFor();
  });
});
