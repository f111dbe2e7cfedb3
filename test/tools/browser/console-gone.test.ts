/** Pages of objects that do not exist any more: they lead to what was done to them. */
import { expect } from 'chai';
import { expectAccessible } from './axe.ts';
import { loggedIn } from './demo.ts';

describe('the page of an object that does not exist', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const address = () => `${demo.url}/r/core/v1/configmaps/ns/shop/prices`;
  const send = (method: string, path: string, body?: object) =>
    fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/shop/configmaps${path}`, {
      method,
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const deletion = 'admin@example.com deleted ConfigMap prices';

  before(async () => {
    visitor.accepted = /status of 404 .*configmaps\/prices/;
    expect((await send('POST', '', { metadata: { name: 'prices' } })).status).to.equal(201);
    expect((await send('DELETE', '/prices')).status).to.equal(200);
  });

  it('leads to the user who deleted it', async () => {
    await page.goto(address());
    await page.getByText('The object does not exist or was deleted.').waitFor();
    await page.getByRole('link', { name: 'Actions on this object' }).click();
    await page.getByRole('table', { name: 'Activity' }).getByText(`${deletion} in shop`).waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).to.deep.equal({
      ...{ kind: 'configmaps', namespace: 'shop', name: 'prices', since: 'all' },
    });
  });

  it('names that user at the address of its history, to which Activity leads', async () => {
    await page.getByRole('link', { name: 'prices', exact: true }).first().click();
    await page.waitForURL(`${address()}/history`);
    await page.getByRole('table', { name: 'History' }).getByText(deletion).waitFor();
    await expectAccessible(page);
  });
});
