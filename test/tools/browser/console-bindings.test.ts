/** Changes of an existing binding: its times, conflicts with other users, and missing rights. */
import { expect } from 'chai';
import { z } from 'zod';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { clickBeneath, greyed, loggedIn, press } from './demo.ts';
import { untilAllowed } from './kind-pages.ts';

const stored = z.object({ spec: z.object({ notBefore: z.string().optional(), expiresAt: z.string().optional() }) });

describe('a binding on the console', () => {
  const { browser, demo, page, visitor } = loggedIn('admin', '/', { users: 2 });
  // Its controller may write the status at any time. The page retries its write then.
  before(() => {
    visitor.accepted = /status of 409 .*\/userbindings\/oncall-view$/;
  });
  const dialog = () => page.getByRole('dialog');
  const send = (method: string, path: string, body?: unknown) =>
    fetch(`${demo.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${demo.person('admin').token}`,
        'content-type': `application/${method === 'PATCH' ? 'merge-patch+' : ''}json`,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const specOf = async (name: string) => stored.parse(await (await send('GET', `/auth/v2/userbindings/${name}`)).json()).spec;
  /** Makes the next answers of the service stale, as if its watch were late. */
  async function isLate(answers: number): Promise<void> {
    const before: unknown = await (await send('GET', '/auth/v2/userbindings/oncall-view')).json();
    let left = answers;
    await page.route(/\/auth\/v2\/userbindings\/oncall-view$/, async (route) => {
      if (route.request().method() !== 'GET' || left === 0) return route.continue();
      left -= 1;
      await route.fulfill({ json: before });
    });
  }
  const change = (spec: unknown) => send('PATCH', '/api/kubernetes/apis/auth.platform.io/v1/userbindings/oncall-view', { spec });

  it('tells a role that cannot be read from one that does not exist', async () => {
    const role = '**/api/kubernetes/apis/rbac.authorization.k8s.io/v1/clusterroles/view';
    await page.route(role, (route) => route.fulfill({ status: 500, json: { kind: 'Status', code: 500, message: 'etcd has no leader' } }));
    await page.goto(`${demo.url}/bindings/oncall-view`);
    const rules = page.getByRole('region', { name: 'Rules of the role' });
    await rules.getByText('etcd has no leader').waitFor();
    expect(await rules.getByText('This role does not exist.').count()).to.equal(0);
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 500');
    await page.unroute(role);
    await rules.getByRole('button', { name: 'Try again' }).click();
    await rules.getByText('configmaps').first().waitFor();
  });

  it('gets an end, and shows it at once', async () => {
    await page.goto(`${demo.url}/bindings/oncall-view`);
    await press(page, 'Change times');
    expect(await barriers(page)).to.deep.equal([]);
    await dialog().getByLabel('Until').fill('2035-03-04T10:30');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByText('Mar 4, 2035, 10:30 AM').waitFor();

    expect(await specOf('oncall-view')).to.include({ expiresAt: new Date('2035-03-04T10:30').toISOString() });
  });

  it('reports a begin after its end at the field', async () => {
    await press(page, 'Change times');
    expect(await dialog().getByLabel('Until').inputValue()).to.equal('2035-03-04T10:30');
    await dialog().getByLabel('From').fill('2035-03-04T10:31');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().locator('.field', { hasText: 'From' }).getByText('a binding begins before it ends').waitFor();

    expect(await dialog().getByLabel('From').inputValue()).to.equal('2035-03-04T10:31');
    // The message appears once, at the focused field.
    expect(await dialog().getByText('a binding begins before it ends').count()).to.equal(1);
    expect(await page.evaluate("document.activeElement.closest('.field').textContent")).to.contain('From');
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 422');
    expect(await specOf('oncall-view')).not.to.have.property('notBefore');
  });

  it('is compared after a concurrent change, and unchanged times keep their seconds', async () => {
    await dialog().getByLabel('From').fill('');
    await dialog().getByLabel('Until').fill('2035-05-05T05:05');
    await isLate(12);
    expect((await change({ expiresAt: '2034-01-01T01:01:01Z' })).status).to.equal(200);
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('The object has changed since you opened it.').waitFor();
    await page.unrouteAll();
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 409');
    await dialog().getByRole('button', { name: 'Take theirs' }).click();
    await dialog().getByRole('button', { name: 'Save over it' }).click();
    await dialog().waitFor({ state: 'detached' });

    expect((await specOf('oncall-view')).expiresAt).to.equal('2034-01-01T01:01:01Z');
  });

  it('shows its new state, even if the service learns late of the change', async () => {
    await isLate(8);
    expect((await change({ expiresAt: '2033-03-03T03:03:03Z' })).status).to.equal(200);
    await page.getByText('Mar 3, 2033').waitFor();
    await page.unrouteAll();
  });

  it('is expired after its end, and active without a reload once the end is removed', async () => {
    await press(page, 'Change times');
    await dialog().getByLabel('Until').fill('2020-01-01T00:00');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.locator('.page-head .phase').getByText('Expired', { exact: true }).waitFor();
    await press(page, 'Change times');
    await dialog().getByLabel('Until').fill('');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.locator('.page-head .phase').getByText('Active', { exact: true }).waitFor();

    expect(await specOf('oncall-view')).not.to.have.property('expiresAt');
  });

  it('is deleted only if it is still the shown one', async () => {
    await page.route(/userbindings\/oncall-view$/, async (route) => {
      if (route.request().method() === 'DELETE') await change({ notBefore: '2020-01-01T00:00:00Z' });
      await route.continue();
    });
    await press(page, 'Delete');
    await page.getByText('This binding has changed meanwhile.').waitFor();
    await page.unrouteAll();

    await visitor.complainsOf('status of 409');
    expect(await specOf('oncall-view')).to.include({ notBefore: '2020-01-01T00:00:00Z' });
    await page.getByText('Jan 1, 2020').waitFor();
    await press(page, 'Delete');
    await page.getByText('The binding is being deleted.').waitFor();
    await press(page, 'Undo');
    await page.getByRole('heading', { name: 'Binding of view' }).waitFor();
  });

  it('names the missing right to users who may only read it', async () => {
    const rbac = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1';
    const rules = [{ apiGroups: ['auth.platform.io'], resources: ['userbindings'], verbs: ['get'] }];
    expect((await send('POST', `${rbac}/clusterroles`, { metadata: { name: 'sees-bindings' }, rules })).status).to.equal(201);
    const binding = {
      metadata: { name: 'sees-bindings' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sees-bindings' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: demo.person('nobody').email }],
    };
    expect((await send('POST', `${rbac}/clusterrolebindings`, binding)).status).to.equal(201);
    await untilAllowed(demo, 'nobody', { verb: 'get', group: 'auth.platform.io', resource: 'userbindings', name: 'oncall-view' });
    const office = new Visitor(await browser.newContext());
    const tab = await office.openTab();
    await demo.logIn(tab, 'nobody', '/bindings/oncall-view');
    await press(tab, 'More actions');
    await clickBeneath(greyed(tab, 'Change times'));
    await tab.getByRole('dialog').getByText('patch userbindings.auth.platform.io oncall-view').waitFor();

    expect(await tab.getByRole('button', { name: 'Change times' }).count()).to.equal(0);
    expect(await barriers(tab)).to.deep.equal([]);
    expect(office.complaints).to.deep.equal([]);
    await office.leave();
  });
});
