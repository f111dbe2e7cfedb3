/** The access explorer: rights of a subject, who can, and simulations. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { Visitor } from './chromium.ts';
import { loggedIn, press } from './demo.ts';
import { create, inspect } from './kind-pages.ts';
import { hold } from './traffic.ts';

const jane = 'jane@example.com';
const rbac = 'apis/rbac.authorization.k8s.io/v1';
const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });

/** Returns the item of a subject that may do something. */
const may = (name: string) => ({
  subject: { kind: 'User', name },
  binding: { kind: 'ClusterRoleBinding', name: `of-${name}`, namespace: '' },
  role: { kind: 'ClusterRole', name: 'edit', namespace: '' },
});

/** Answers 150 subjects for each verb, in two pages. @returns the queries of second pages, and the statuses of their next answers */
async function answerManySubjects(page: Page) {
  const [asked, statuses]: [string[], number[]] = [[], []];
  await page.route(/\/auth\/v1\/accesssubjects\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const isSecond = query.get('page') === '2';
    if (isSecond) asked.push(query.get('verb') ?? '');
    const status = isSecond ? (statuses.shift() ?? 200) : 200;
    if (status !== 200) return route.fulfill({ status, json: { kind: 'Status', code: status, message: 'the cache is not filled' } });
    const [first, count] = isSecond ? [100, 50] : [0, 100];
    const items = Array.from({ length: count }, (_, index) => may(`${query.get('verb')}-${first + index}`));
    await route.fulfill({ json: { metadata: {}, complete: true, notes: [], total: 150, items } });
  });
  return { asked, statuses };
}

const part = (page: Page, name: string) => page.getByRole('region', { name });
const row = (page: Page, text: string | RegExp) => page.getByRole('row').filter({ hasText: text });

describe('the access explorer of the console', () => {
  const { demo, browser, visitor, page } = loggedIn('admin', '/explorer');

  before(async () => {
    await create(demo, `${rbac}/clusterroles`, {
      metadata: { name: 'restarts' },
      rules: [
        { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'patch'] },
        { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
      ],
    });
    await create(demo, `${rbac}/namespaces/monitoring/rolebindings`, {
      metadata: { name: 'restarters' },
      roleRef: roleRef('restarts'),
      subjects: [
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'local:oncall' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'monitoring' },
      ],
    });
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    await eventually(
      async () => (await fetch(`${demo.url}/auth/v1/accessrules?serviceaccount=monitoring/robot`, { headers })).text(),
      (text) => text.includes('pods/eviction'),
    );
  });

  it('shows the rights of a user, with the bindings of a cell', async () => {
    await page.goto(`${demo.url}/explorer`);
    await page.getByLabel('User', { exact: true }).fill(jane);
    await press(page, 'Show');
    const rights = part(page, `Rights of ${jane}`);
    await rights.getByText(/Groups in this review: .*local:oncall/).waitFor();
    await row(page, /pods\/eviction\s*monitoring/).waitFor();
    await page.getByLabel('Find a resource').fill('deployments.apps');
    await row(page, /pods\/eviction\s*monitoring/).waitFor({ state: 'detached' });
    await inspect(page, 'explorer-rights');
    expect(new URL(page.url()).search).to.equal(`?${new URLSearchParams({ kind: 'user', name: jane })}`);
    await page.reload();
    await row(page, /pods\/eviction\s*monitoring/).waitFor();
    await page.getByRole('button', { name: 'patch deployments.apps: monitoring' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('row').filter({ hasText: 'restarters' }).getByText('local:oncall').waitFor();
    await inspect(page, 'explorer-cell');
    await press(page, 'Close');
  });

  it('shows the rights of a ServiceAccount', async () => {
    await page.goto(`${demo.url}/explorer`);
    await page.getByLabel('For whom').selectOption('A ServiceAccount');
    await page.getByLabel('ServiceAccount', { exact: true }).fill('monitoring/robot');
    await press(page, 'Show');
    await page.getByRole('button', { name: 'create pods/eviction: monitoring' }).waitFor();
    await page.getByRole('combobox', { name: 'Namespace' }).selectOption('Whole cluster');
    await page.getByRole('button', { name: 'create pods/eviction: monitoring' }).waitFor({ state: 'detached' });
  });

  it('names the subjects that may do something, with members of groups', async () => {
    await page.goto(`${demo.url}/explorer/who`);
    await page.getByLabel('Do what').selectOption('patch');
    await page.getByRole('combobox', { name: 'Resource' }).fill('deployments.apps');
    await page.getByRole('combobox', { name: 'Resource' }).press('Escape');
    await page.getByRole('combobox', { name: 'Namespace' }).fill('monitoring');
    await page.getByRole('combobox', { name: 'Namespace' }).press('Escape');
    await press(page, 'Show');
    const answer = part(page, 'Subjects that may patch deployments.apps -n monitoring');
    await answer.getByText('Members of system:masters may do everything').waitFor();
    await row(page, 'ServiceAccount monitoring/robot').waitFor();
    await row(page, /User jane@example\.com\s*local:oncall/).waitFor();
    await inspect(page, 'explorer-who');
    await page.goto(page.url());
    await row(page, 'ServiceAccount monitoring/robot').waitFor();
    expect(await page.getByLabel('Do what').inputValue()).to.equal('patch');
    await row(page, /^Group local:oncall/)
      .getByRole('link', { name: 'restarters' })
      .click();
    await page.getByRole('heading', { level: 1, name: 'restarters' }).waitFor();
  });

  describe('with more subjects than a page', () => {
    const ask = async (verb: string) => {
      await page.getByLabel('Do what').selectOption(verb);
      await press(page, 'Show');
      await row(page, `${verb}-99`).waitFor();
    };
    beforeEach(() => page.goto(`${demo.url}/explorer/who`));
    afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

    it('shows the next page once, after a failure that it reports', async () => {
      const { asked, statuses } = await answerManySubjects(page);
      await ask('list');
      statuses.push(503);
      await press(page, 'Show 50 more');
      await page.getByRole('alert').getByText('the cache is not filled').waitFor();
      await visitor.complainsOf('status of 503');
      await page.getByRole('button', { name: 'Show 50 more' }).dblclick();
      await row(page, 'list-149').waitFor();
      expect(asked).to.deep.equal(['list', 'list']);
      expect(await page.getByRole('alert').count()).to.equal(0);
      expect(await page.locator('tbody tr').count()).to.equal(150);
    });

    it('drops the next page of an earlier question', async () => {
      await answerManySubjects(page);
      await ask('list');
      const next = await hold(page, 'GET', /accesssubjects\?.*verb=list.*page=2/);
      await press(page, 'Show 50 more');
      await next.begun;
      await ask('get');
      await next.release();
      await press(page, 'Show 50 more');
      await row(page, 'get-149').waitFor();
      expect(await row(page, /\blist-\d/).count()).to.equal(0);
    });
  });

  it('lists standing access with the last use of each binding', async () => {
    await page.goto(`${demo.url}/explorer/standing`);
    const admin = row(page, 'demo-admin-cluster-admin');
    await admin.getByText('Full control').waitFor();
    expect(await page.getByRole('table', { name: 'Standing access' }).getByRole('row').nth(1).innerText()).to.include('Critical');
    const shown = async () => {
      await page.reload();
      return (await admin.innerText()).includes('used by');
    };
    await create(demo, 'api/v1/namespaces/shop/configmaps', { metadata: { name: 'standing' } });
    await eventually(shown, (isUsed) => isUsed);
    await inspect(page, 'explorer-standing');
    await page.getByRole('combobox', { name: 'Namespace' }).selectOption('monitoring');
    await row(page, 'restarters').getByText('Not all holders are known.').waitFor();
    expect(await admin.count()).to.equal(0);
  });

  it('asks an owner about each binding of a review, and ends one', async () => {
    const review = page.locator('details').filter({ hasText: 'Review: shop' });
    await page.goto(`${demo.url}/explorer/standing`);
    await review.locator('summary').click();
    const contractors = review.getByRole('row').filter({ hasText: 'contractors' });
    await contractors.waitFor();
    await review.getByText(/binding.? open, due on/).waitFor();
    await inspect(page, 'explorer-review');
    await review.getByRole('row').filter({ hasText: 'demo-' }).first().getByRole('button', { name: 'Keep' }).click();
    await review.getByText('Kept by admin@example.com').waitFor();
    await contractors.getByRole('button', { name: 'End' }).click();
    await page
      .getByRole('dialog')
      .getByText(/contractors lose the role edit/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
    await contractors.waitFor({ state: 'detached' });
  });

  describe('a UserBinding without an end', () => {
    const standing = () => page.getByRole('table', { name: 'Standing access' }).getByRole('row');

    before(async () => {
      await create(demo, 'apis/auth.platform.io/v1/userbindings', {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'UserBinding' },
        metadata: { name: 'shop-helpers' },
        spec: {
          subjects: [{ kind: 'Group', name: 'contractors' }],
          roleRef: 'view',
          scope: 'namespace',
          constraint: [{ namespace: 'shop' }],
        },
      });
      const headers = { authorization: `Bearer ${demo.person('admin').token}` };
      await eventually(
        async () => (await fetch(`${demo.url}/auth/v1/standingaccess?name=shop-helpers`, { headers })).text(),
        (text) => text.includes('"total":1'),
      );
    });

    it('leads from its page to its standing access alone, and back to all', async () => {
      await page.goto(`${demo.url}/bindings/shop-helpers`);
      await page.getByRole('link', { name: 'Standing access' }).click();
      await row(page, 'shop-helpers').waitFor();
      expect(await standing().count()).to.equal(2);
      await inspect(page, 'explorer-standing-of-binding');
      await press(page, 'Binding shop-helpers');
      await row(page, 'demo-admin-cluster-admin').waitFor();
      expect(new URL(page.url()).search).to.equal('');
    });

    it('leads from an event about a role to the bindings of that role', async () => {
      await page.goto(`${demo.url}/activity?${new URLSearchParams({ name: 'restarts' })}`);
      await row(page, 'created ClusterRole restarts').getByRole('link', { name: 'Standing access' }).click();
      await page.getByRole('button', { name: 'Role restarts' }).waitFor();
      await row(page, 'restarters').waitFor();
      expect(await standing().count()).to.equal(2);
    });

    it('gets an end by the answer of an owner', async () => {
      const review = page.locator('details').filter({ hasText: 'Review: shop' });
      await page.goto(`${demo.url}/explorer/standing`);
      await review.locator('summary').click();
      const helpers = review.getByRole('row').filter({ hasText: 'shop-helpers' });
      await helpers.getByRole('button', { name: 'Shorten' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('contractors lose the role view then').waitFor();
      await inspect(page, 'explorer-shorten');
      await dialog.getByLabel('Until').fill('2001-01-01T10:30');
      await dialog.getByRole('button', { name: 'Shorten' }).click();
      await dialog.getByText('must be ahead, and by a year at most').waitFor();
      await visitor.complainsOf('status of 422');
      const until = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 16);
      await dialog.getByLabel('Until').fill(until);
      await dialog.getByRole('button', { name: 'Shorten' }).click();
      await helpers.waitFor({ state: 'detached' });
      const { spec } = (await (
        await fetch(`${demo.url}/auth/v2/userbindings/shop-helpers`, { headers: { authorization: `Bearer ${demo.person('admin').token}` } })
      ).json()) as { spec: { expiresAt?: string } };
      expect(Date.parse(spec.expiresAt ?? '')).to.equal(Date.parse(until));
    });
  });

  describe('a proposal for a standing binding', () => {
    /** Opens the proposal for a binding of monitoring, and tries it. @returns the dialog */
    async function tryOut(name: string) {
      await page.goto(`${demo.url}/explorer/standing?namespace=monitoring`);
      await row(page, name).getByRole('button', { name: 'Replace by requests' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name of the approver').fill('local:dev');
      await press(page, 'Dry run');
      await dialog.getByText('Nothing has changed.').waitFor();
      return dialog;
    }

    it('shows who loses what, and then creates the policy and ends the binding', async () => {
      await create(demo, `${rbac}/namespaces/monitoring/rolebindings`, {
        metadata: { name: 'helpers' },
        roleRef: roleRef('view'),
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'priya@example.com' }],
      });
      await eventually(
        async () => {
          await page.goto(`${demo.url}/explorer/standing?namespace=monitoring`);
          await row(page, 'restarters').waitFor();
          return row(page, 'helpers').count();
        },
        (count) => count === 1,
      );
      const dialog = await tryOut('helpers');
      await dialog.getByRole('table', { name: 'priya@example.com loses' }).getByText('pods/log').waitFor();
      await inspect(page, 'explorer-proposal');
      expect(await row(page, 'helpers').count()).to.equal(1);
      await press(page, 'Create the policy and end the binding');
      await dialog.getByText('is ready, and the binding has ended.').waitFor();
      await inspect(page, 'explorer-proposal-done');
      await press(page, 'Done');
      await row(page, 'helpers').waitFor({ state: 'detached' });
    });

    it('leaves a UserBinding that has changed since the dry run, and ends it after another', async () => {
      const spec = {
        ...{ subjects: [{ kind: 'User', name: 'priya@example.com' }], roleRef: 'view' },
        ...{ scope: 'namespace', constraint: [{ namespace: 'monitoring' }] },
      };
      const bindings = 'apis/auth.platform.io/v1/userbindings';
      await create(demo, bindings, {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', metadata: { name: 'on-watch' }, spec },
      });
      await eventually(
        async () => {
          await page.goto(`${demo.url}/explorer/standing?namespace=monitoring`);
          await row(page, 'restarters').waitFor();
          return row(page, 'on-watch').count();
        },
        (count) => count === 1,
      );
      const dialog = await tryOut('on-watch');
      const subjects = [...spec.subjects, { kind: 'User', name: 'noa@example.com' }];
      const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/merge-patch+json' };
      const path = `${demo.url}/api/kubernetes/${bindings}/on-watch`;
      expect((await fetch(path, { method: 'PATCH', headers, body: JSON.stringify({ spec: { subjects } }) })).status).to.equal(200);
      await press(page, 'Create the policy and end the binding');
      await dialog.getByText('This binding has changed meanwhile.').waitFor();
      await visitor.complainsOf('status of 409');
      const stored = (await (await fetch(path, { headers })).json()) as { spec: { subjects: unknown }; metadata: object };
      expect(stored.spec.subjects).to.deep.equal(subjects);
      expect(stored.metadata).not.to.have.property('deletionTimestamp');
      await press(page, 'Done');
      const again = await tryOut('on-watch');
      await press(page, 'Create the policy and end the binding');
      await again.getByText('is ready, and the binding has ended.').waitFor();
      await press(page, 'Done');
      await row(page, 'on-watch').waitFor({ state: 'detached' });
    });

    it('leaves a binding whose role cannot be requested, and names subjects that could not ask', async () => {
      const dialog = await tryOut('restarters');
      await dialog.getByText(/cannot ask for access.*monitoring\/robot/).waitFor();
      await press(page, 'Create the policy and end the binding');
      await dialog.getByText(/is not ready\. The binding still holds\./).waitFor();
      await press(page, 'Done');
      await page.reload();
      await row(page, 'restarters').waitFor();
    });
  });

  it('simulates a role before it is given', async () => {
    await page.goto(`${demo.url}/explorer/simulate`);
    await page.getByLabel('User', { exact: true }).fill('viewer@example.com');
    await page.getByRole('combobox', { name: 'Role' }).fill('view');
    await page.getByRole('combobox', { name: 'Role' }).press('Escape');
    await page.getByLabel('One or more namespaces').check();
    await page.getByLabel('monitoring', { exact: true }).check();
    await press(page, 'Simulate');
    const outcome = part(page, 'Result of the simulation');
    await outcome.getByText('You may make this change.').waitFor();
    const gained = outcome.getByRole('table', { name: 'viewer@example.com gains' });
    await gained.getByRole('row').filter({ hasText: 'pods/log' }).getByText('get, list, watch').waitFor();
    await inspect(page, 'explorer-simulate');
    await page.reload();
    expect(await page.getByRole('combobox', { name: 'Role' }).inputValue()).to.equal('view');
    expect(await page.getByLabel('monitoring', { exact: true }).isChecked()).to.equal(true);
  });

  it('simulates members, rules and deletions', async () => {
    await page.goto(`${demo.url}/explorer/simulate`);
    const outcome = part(page, 'Result of the simulation');
    await page.getByLabel('Change', { exact: true }).selectOption('Change the members of a group');
    await page.getByLabel('Action').selectOption('Remove');
    await page.getByLabel('Group', { exact: true }).fill('oncall');
    await page.getByLabel('User', { exact: true }).fill(jane);
    await press(page, 'Simulate');
    await outcome
      .getByRole('table', { name: `${jane} loses` })
      .getByText('pods/eviction')
      .waitFor();

    await page.getByLabel('Change', { exact: true }).selectOption('Add a rule to a role');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('restarts');
    await page.getByLabel('Verbs').fill('delete');
    await page.getByLabel('Resource').fill('secrets');
    await press(page, 'Simulate');
    const gained = outcome.getByRole('table', { name: 'monitoring/robot gains' });
    await gained.getByRole('row').filter({ hasText: 'secrets' }).getByText('delete').waitFor();
    expect(await gained.getByRole('row').count()).to.equal(2);

    await page.getByLabel('Change', { exact: true }).selectOption('Delete a binding or role');
    await page.getByLabel('Kind').selectOption('RoleBinding');
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('restarters');
    await page.getByLabel('Namespace').fill('monitoring');
    await press(page, 'Simulate');
    await outcome.getByRole('table', { name: 'local:oncall loses' }).getByText('pods/eviction').waitFor();
    await inspect(page, 'explorer-deletion');
  });

  it('simulates a new binding from its form, and a new member from the page of a group', async () => {
    await page.goto(`${demo.url}/bindings/new`);
    await page.getByRole('combobox', { name: 'E-mail' }).fill('viewer@example.com');
    await page.getByRole('combobox', { name: 'E-mail' }).press('Escape');
    await page.getByRole('combobox', { name: 'Role' }).fill('view');
    await page.getByRole('combobox', { name: 'Role' }).press('Escape');
    await page.getByLabel('One or more namespaces').check();
    await page.getByLabel('monitoring', { exact: true }).check();
    await inspect(page, 'binding-new-simulate');
    await page.getByRole('link', { name: 'Simulate', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Explorer' }).waitFor();
    await press(page, 'Simulate');
    await part(page, 'Result of the simulation').getByRole('table', { name: 'viewer@example.com gains' }).waitFor();

    await page.goto(`${demo.url}/groups/oncall`);
    await page.getByRole('link', { name: 'Simulate', exact: true }).click();
    await page.getByLabel('User', { exact: true }).fill('viewer@example.com');
    expect(await page.getByLabel('Group', { exact: true }).inputValue()).to.equal('oncall');
    await press(page, 'Simulate');
    await part(page, 'Result of the simulation').getByText('pods/eviction').waitFor();
  });

  describe('of the owner of one namespace', () => {
    const visitor = forSuite(async () => new Visitor(await browser.newContext()), needsNoStop);
    const tab = forSuite(() => visitor.openTab(), needsNoStop);

    before(async () => {
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody@example.com' }];
      await create(demo, `${rbac}/clusterroles`, {
        metadata: { name: 'reads-audits' },
        rules: [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }],
      });
      for (const role of ['view', 'atrium-access-explorer', 'reads-audits'])
        await create(demo, `${rbac}/namespaces/monitoring/rolebindings`, {
          metadata: { name: `nobody-${role}` },
          roleRef: roleRef(role),
          subjects,
        });
      const headers = { authorization: `Bearer ${demo.person('nobody').token}` };
      await eventually(
        async () => (await fetch(`${demo.url}/auth/v1/standingaccess?namespace=monitoring`, { headers })).status,
        (status) => status === 200,
      );
    });

    it('shows its bindings, and a policy for an administrator in place of changes', async () => {
      await demo.logIn(tab, 'nobody', '/explorer/standing');
      await row(tab, 'restarters').waitFor();
      expect(new URL(tab.url()).search).to.equal('?namespace=monitoring');
      await row(tab, 'restarters').getByRole('button', { name: 'Replace by requests' }).click();
      const dialog = tab.getByRole('dialog');
      await dialog.getByText('You may not create access policies.').waitFor();
      await dialog.getByLabel('Name of the approver').fill('local:dev');
      await press(tab, 'Show the policy');
      const manifest = JSON.parse(await dialog.getByRole('region', { name: 'Access policy' }).locator('pre').innerText()) as {
        spec: { scope: object; roleRefs: string[] };
      };
      expect(manifest.spec).to.deep.include({ scope: { namespaces: { names: ['monitoring'] } }, roleRefs: ['restarts'] });
      await dialog.getByText('RoleBindings of monitoring alone are counted.').waitFor();
      await dialog.getByText('You may not read all roles that are bound here.').waitFor();
      expect(await dialog.getByText('The rights stay the same.').count()).to.equal(0);
      expect(await dialog.getByText('Without them, no subject gains or loses a right.').count()).to.equal(0);
      await inspect(tab, 'explorer-proposal-of-owner');
      await press(tab, 'Done');
      expect(visitor.takeComplaints()).to.deep.equal([]);
    });
  });

  describe('of a user without the right to list bindings', () => {
    const visitor = forSuite(async () => new Visitor(await browser.newContext()), needsNoStop);
    const tab = forSuite(() => visitor.openTab(), needsNoStop);

    it('gives the reason', async () => {
      await demo.logIn(tab, 'nobody', '/explorer/who');
      await tab.getByText('You may not ask this.').waitFor();
      expect(await tab.getByRole('button', { name: 'Show', exact: true }).isDisabled()).to.equal(true);
      await press(tab, 'Why');
      await tab.getByRole('dialog').getByText('list clusterrolebindings.rbac.authorization.k8s.io').waitFor();
      await press(tab, 'Close');
      await tab.goto(`${demo.url}/explorer/simulate`);
      await tab.getByText('You may not ask this.').waitFor();
      expect(visitor.takeComplaints()).to.deep.equal([]);
    });
  });
});
