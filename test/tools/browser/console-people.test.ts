/** The pages about users and access, as each user of the demo, with concurrent changes of one record. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { demoInChromium, greyed, press } from './demo.ts';

const paths = ['/', '/users', '/users/new', '/users/JANE', '/users/JANE/roles', '/users/JANE/sessions', '/users/JANE/tokens'];
const more = ['/users/JANE/history', '/groups', '/groups/dev', '/bindings', '/bindings/new', '/bindings/oncall-view', '/access'];
const own = ['/users/SELF', '/users/SELF/sessions', '/sessions', '/tokens', '/kubeconfig', '/about'];
const people = ['admin', 'manager', 'viewer', 'nobody'] as const;

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

const termed = z.object({ spec: z.object({ expiresAt: z.string() }) });

describe('the people pages of the console', () => {
  const { browser, demo } = demoInChromium({ users: 5 });
  const visits = new Map<string, Promise<{ visitor: Visitor; page: Page }>>();

  /** Returns a page of a role. The first call logs in. */
  function as(role: string) {
    const made = visits.get(role) ?? visit(role);
    visits.set(role, made);
    return made;
  }
  async function visit(role: string) {
    const visitor = new Visitor(await browser.newContext());
    const page = await visitor.openTab();
    await demo.logIn(page, role);
    return { visitor, page };
  }

  /** Sends a request as the administrator, without the console. */
  const send = (method: string, path: string, body?: unknown, contentType = 'application/json') =>
    fetch(`${demo.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': contentType },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  async function recordName(email: string): Promise<string> {
    const answer = await send('GET', `/auth/v2/users?search=${encodeURIComponent(email)}`);
    return listed.parse(await answer.json()).items[0]?.metadata.name ?? '';
  }

  for (const role of people) {
    for (const path of [...paths, ...more, ...own]) {
      it(`show a page or a reason, without barriers: ${role} on ${path}`, async () => {
        const { page, visitor } = await as(role);
        const names = { JANE: await recordName('jane@example.com'), SELF: await recordName(demo.person(role).email) };
        await page.goto(`${demo.url}${path.replace(/JANE|SELF/, (name) => names[name as keyof typeof names])}`);
        await page.locator('main h1').waitFor({ state: 'attached' });
        await eventually(
          () => page.locator('.skeleton').count(),
          (waiting) => waiting === 0,
        );

        expect(await barriers(page)).to.deep.equal([]);
        expect(visitor.complaints.splice(0)).to.deep.equal([]);
      });
    }
  }

  it('list due actions on the first page, and lead to them', async () => {
    const { page, visitor } = await as('manager');
    const due = page.getByRole('region', { name: 'To do' });
    await page.goto(`${demo.url}/`);
    await page.getByRole('link', { name: /^Atrium \d/ }).waitFor();
    expect(await due.count()).to.equal(0);
    const made = await fetch(`${demo.url}/auth/v1/accesstoken`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.person('manager').token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'Short job', expiration: Math.floor(Date.now() / 1000) + 7 * 86_400 }),
    });
    expect(made.status).to.equal(201);
    const codes = { id: 'codes', type: 'RecoveryCodes', name: '', created: '2026-11-01T08:00:00Z', left: 1 };
    await page.route('**/factors', (route) =>
      route.fulfill({ json: { rule: 'optional', kinds: ['totp'], isTOTPSuspended: true, items: [codes] } }),
    );
    await page.reload();
    await due.getByText('One recovery code is left. Make new ones.').waitFor();
    await due.getByText('Too many codes were wrong.').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await due.getByRole('link', { name: /^The access token “Short job” expires in [67] days\.$/ }).click();
    await page.getByRole('cell', { name: 'Short job' }).waitFor();

    expect(new URL(page.url()).pathname).to.equal('/tokens');
    await page.unrouteAll();
    expect(visitor.complaints.splice(0)).to.deep.equal([]);
  });

  it('N5 show the end of the session, not of its token, on the first page and in the list of sessions', async () => {
    const { page } = await as('manager');
    const asked = page.waitForResponse((response) => response.url().includes('/auth/v1/sessions'));
    await page.goto(`${demo.url}/`);
    const ending = z.object({
      items: z.array(z.object({ current: z.boolean().optional(), spec: z.object({ idleExpiration: z.string() }) })),
    });
    const current = ending.parse(await (await asked).json()).items.find((session) => session.current);
    const hours = (Date.parse(current?.spec.idleExpiration ?? '') - Date.now()) / 3_600_000;
    expect(hours).to.be.above(1);
    const shown = page.locator('.facts div, .facts', { hasText: 'Session until' }).last();
    const expected = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' }).format(
      new Date(current?.spec.idleExpiration ?? ''),
    );
    await shown.getByText(expected).waitFor();
    await page.goto(`${demo.url}/sessions`);
    await page.getByRole('row').filter({ hasText: 'This device' }).getByText(expected).waitFor();
  });

  it('announce a new group in a list, and show it on request', async () => {
    const { page } = await as('admin');
    await page.goto(`${demo.url}/groups`);
    await page.getByRole('link', { name: 'Developers' }).waitFor();
    const change = { spec: { displayName: 'Developers and friends' } };
    expect((await send('PATCH', '/auth/v1/groups/dev', change, 'application/merge-patch+json')).status).to.equal(200);
    await page.getByRole('link', { name: 'Developers and friends' }).waitFor();
    expect((await send('POST', '/auth/v1/groups', { metadata: { name: 'night' } })).status).to.equal(201);
    await page.getByText('One change.').waitFor();

    expect(await page.getByRole('link', { name: 'night' }).count()).to.equal(0);
    await press(page, 'Show');
    await page.getByRole('link', { name: 'night' }).waitFor();
  });

  it('search and sort lists of groups and bindings by their address', async () => {
    const { page } = await as('admin');
    await page.goto(`${demo.url}/groups?q=on+call`);
    await page.getByRole('link', { name: 'On call' }).waitFor();
    expect(await page.locator('tbody tr:not(.spacer)').count()).to.equal(1);
    await page.getByLabel('Search by name or description').fill('no such group');
    await page.getByText('No entry matches the filter.').waitFor();
    await press(page, 'Clear the filter');
    await page.getByRole('button', { name: 'Members' }).click();

    await page.waitForURL(/sort=memberCount/);
    await page.goto(`${demo.url}/bindings?q=oncall`);
    await page.getByText('Active', { exact: true }).filter({ visible: true }).waitFor();
  });

  it('show a list of groups completely that is longer than one answer', async () => {
    for (let number = 0; number < 220; number += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          send('POST', '/auth/v1/groups', { metadata: { name: `g${String(number + index).padStart(4, '0')}` } }),
        ),
      );
    // The page reads the list once, and only announces later groups.
    const total = async () => z.object({ total: z.number() }).parse(await (await send('GET', '/auth/v1/groups?limit=1')).json()).total;
    await eventually(total, (count) => count > 220);
    const { page, visitor } = await as('admin');
    await page.goto(`${demo.url}/groups`);
    await page.locator('table[aria-rowcount]').waitFor();
    expect(Number(await page.locator('table[aria-rowcount]').getAttribute('aria-rowcount'))).to.be.above(220);
    await page.locator('section.table').evaluate((place) => place.scrollTo(0, place.scrollHeight));
    await page.getByRole('link', { name: 'g0219' }).waitFor();

    expect(visitor.complaints.splice(0)).to.deep.equal([]);
  });

  /** Opens the dialog of a user and types another name without saving. */
  async function renaming(email: string, newName: string) {
    const { page, visitor } = await as('admin');
    const name = await recordName(email);
    await page.goto(`${demo.url}/users/${name}`);
    await press(page, 'Edit');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill(newName);
    return { page, visitor, name, dialog };
  }

  it('compare a user who was changed meanwhile, and keep typed text', async () => {
    const { page, visitor, name, dialog } = await renaming('priya@example.com', 'Priya of mine');
    const change = { spec: { username: 'Priya of theirs', mobile: '+49 1' } };
    expect((await send('PATCH', `/auth/v1/users/${name}`, change, 'application/merge-patch+json')).status).to.equal(200);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('The object has changed since you opened it.').waitFor();

    expect(await dialog.getByRole('row').allTextContents()).to.deep.equal([
      'FieldTheirsYours',
      'NamePriya of theirsPriya of mineTake theirs',
      'Mobile+49 1(empty)Take theirs',
    ]);
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 409');
    await dialog.getByRole('row', { name: 'Mobile' }).getByRole('button').click();
    await dialog.getByRole('button', { name: 'Save over it' }).click();
    await page.getByRole('heading', { name: 'Priya of mine' }).waitFor();
    const stored: unknown = await (await send('GET', `/auth/v1/users/${name}`)).json();
    expect(stored).to.have.nested.property('spec.mobile', '+49 1');
  });

  it('save a user without a question if the status alone was updated meanwhile', async () => {
    const { page, visitor, name, dialog } = await renaming('priya@example.com', 'Priya Anew');
    const path = `/auth/v1/users/${name}`;
    let noted = 0;
    // The update arrives after the console has read the user, and before its change.
    await page.route(`**${path}`, async (route) => {
      if (route.request().method() === 'PATCH' && noted === 0) {
        noted = (
          await send(
            'PATCH',
            `/api/kubernetes/apis/auth.platform.io/v1/users/${name}`,
            { metadata: { annotations: { 'example.com/noted': 'meanwhile' } } },
            'application/merge-patch+json',
          )
        ).status;
      }
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Priya Anew' }).waitFor();
    expect(noted).to.equal(200);
    await visitor.complainsOf('status of 409');
  });

  it('show changes, bindings and acts of a user in one history, the newest first', async () => {
    const { page } = await as('admin');
    const [name, email] = [await recordName('tomas@example.com'), 'tomas@example.com'];
    await send('PATCH', `/auth/v1/users/${name}`, { spec: { is_disabled: true } }, 'application/merge-patch+json');
    await send('POST', '/auth/v2/userbindings', {
      metadata: { name: 'of-tomas' },
      spec: { subjects: [{ kind: 'User', name }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] },
    });
    await page.goto(`${demo.url}/users/${name}/history`);
    const rows = page.getByRole('table', { name: 'History' }).getByRole('row');
    const granted = rows.filter({ hasText: `admin@example.com gave ${email} the role view in shop` });
    await granted.waitFor();
    const changed = rows.filter({ hasText: `admin@example.com changed User ${email}` });
    expect(await changed.first().textContent()).to.contain('127.0.0.1');
    const texts = await rows.allTextContents();
    expect(texts.findIndex((text) => text.includes(' gave '))).to.be.below(texts.findIndex((text) => text.includes(' changed ')));
    expect(await barriers(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'Search this history' }).click();
    await page.getByRole('table', { name: 'Activity' }).getByText(`gave ${email} the role`).waitFor();
    expect(await page.getByRole('table', { name: 'Activity' }).getByText('viewer@example.com').count()).to.equal(0);
    await page.getByRole('button', { name: 'in the history of one user' }).click();
    await page.getByRole('button', { name: 'in the history of one user' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('user')).to.equal(null);
  });

  it('show users their own history, and of others the right that it takes', async () => {
    const { page } = await as('viewer');
    const self = await recordName('viewer@example.com');
    await page.goto(`${demo.url}/users/${self}/history`);
    await page.getByText('This list has your own actions, and the actions of others').waitFor();
    await page.getByRole('table', { name: 'History' }).getByText('viewer@example.com logged in').first().waitFor();
    await page.goto(`${demo.url}/users/${await recordName('tomas@example.com')}/history`);
    await page.getByText('list audits').first().waitFor();
    expect(await page.getByRole('table', { name: 'History' }).count()).to.equal(0);
  });

  it('find some of many namespaces by a search, and keep chosen ones visible', async () => {
    const names = Array.from({ length: 12 }, (_, number) => `team-${number}`);
    await Promise.all(names.map((name) => send('POST', '/api/kubernetes/api/v1/namespaces', { metadata: { name } })));
    // The service learns of them by a watch, and the page sends one request.
    const known = async () => listed.parse(await (await send('GET', '/auth/v1/namespaces?verb=get&resource=pods&limit=500')).json()).items;
    await eventually(known, (items) => names.every((name) => items.some(({ metadata }) => metadata.name === name)));
    const { page } = await as('admin');
    await page.goto(`${demo.url}/bindings/new`);
    await page.getByLabel('One or more namespaces').check();
    await page.getByLabel('default', { exact: true }).check();
    await page.getByLabel('Find a namespace').fill('team-1');
    await page.getByLabel('team-2', { exact: true }).waitFor({ state: 'detached' });

    expect(await page.locator('.choices label').allTextContents()).to.deep.equal(['default', 'team-1', 'team-10', 'team-11']);
  });

  it('bind a role in the time zone of the user who binds it, and show its expiry in the list', async () => {
    const visitor = new Visitor(await browser.newContext({ timezoneId: 'Asia/Kolkata' }));
    const page = await visitor.openTab();
    await demo.logIn(page, 'admin', '/bindings/new');
    await page.getByText('Times are in Asia/Calcutta, GMT+5:30.').waitFor();
    await page.getByRole('combobox', { name: 'E-mail' }).fill('nobody@example.com');
    await page.getByRole('combobox', { name: 'Role' }).fill('view');
    await page.getByRole('combobox', { name: 'Role' }).press('Escape');
    await page.getByLabel('The whole cluster').check();
    await page.getByLabel('From').fill('2035-01-02T12:00');
    await page.getByLabel('Until').fill('2035-01-02T09:30');
    await press(page, 'Create the binding');
    await page.locator('.field', { hasText: 'From' }).getByText('must be before spec.expiresAt').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 422');
    await page.getByLabel('From').fill('');
    await press(page, 'Create the binding');
    await page.getByRole('heading', { name: 'Binding of view' }).waitFor();
    await page.getByText('Jan 2, 2035, 9:30 AM').waitFor();
    const path = new URL(page.url()).pathname.replace('/bindings/', '/auth/v2/userbindings/');
    const { spec } = termed.parse(await (await send('GET', path)).json());
    expect(spec.expiresAt).to.equal('2035-01-02T04:00:00.000Z');

    const [expiresAt, metadata] = [new Date(Date.now() + 3000).toISOString(), { name: 'short' }];
    const short = { subjects: [{ kind: 'Group', name: 'guests' }], roleRef: 'view', scope: 'platform', expiresAt };
    expect((await send('POST', '/auth/v2/userbindings', { metadata, spec: short })).status).to.equal(201);
    // The page reads the list once, and only announces later bindings.
    const known = async () => listed.parse(await (await send('GET', '/auth/v2/userbindings')).json()).items;
    await eventually(known, (items) => items.some((item) => item.metadata.name === 'short'));
    await page.goto(`${demo.url}/bindings?sort=expiresAt`);
    await page.locator('tbody tr:not(.spacer)').first().getByText('Expired', { exact: true }).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    expect(visitor.complaints).to.deep.equal([]);
    await visitor.leave();
  });

  it('have a combobox that works by keyboard', async () => {
    const { page } = await as('admin');
    await page.goto(`${demo.url}/bindings/new`);
    const field = page.getByRole('combobox', { name: 'Role' });
    const list = page.getByRole('listbox', { name: 'Suggestions for Role' });
    await field.pressSequentially('atrium-users');
    await list.waitFor();
    expect(await field.getAttribute('aria-expanded')).to.equal('true');
    expect(await barriers(page)).to.deep.equal([]);
    await field.press('ArrowUp');
    const last = await list.getByRole('option').last().getAttribute('id');
    expect(await field.getAttribute('aria-activedescendant')).to.equal(last);
    await field.press('Escape');
    await list.waitFor({ state: 'hidden' });
    expect(await field.inputValue()).to.equal('atrium-users');
    await field.press('ArrowDown');
    const chosen = await list.getByRole('option', { selected: true }).textContent();
    await field.press('Enter');
    await list.waitFor({ state: 'hidden' });

    expect(await field.inputValue()).to.equal(chosen);
    expect(page.url()).to.match(/\/bindings\/new$/);
    await page.getByRole('combobox', { name: 'E-mail' }).fill('jane');
    await page.getByRole('option', { name: 'jane@example.com Jane Doe' }).click();
    expect(await page.getByRole('combobox', { name: 'E-mail' }).inputValue()).to.equal('jane@example.com');
  });

  describe('for a user who may read and not change', () => {
    const refusals = [
      { path: '/users', entry: 'New user', right: 'create users.auth.platform.io' },
      { path: '/users', entry: 'Synchronise', right: 'update users/sync.auth.platform.io' },
      { path: '/users/JANE', entry: 'Edit', right: 'patch users.auth.platform.io' },
      { path: '/groups', entry: 'New group', right: 'create groups.auth.platform.io' },
      { path: '/groups/dev', entry: 'Add a member', right: 'patch groups.auth.platform.io dev' },
      { path: '/groups/dev', entry: 'Delete', right: 'delete groups.auth.platform.io dev' },
      { path: '/bindings', entry: 'New binding', right: 'create userbindings.auth.platform.io' },
      { path: '/kubeconfig', entry: 'Make a certificate', right: 'create users/authorize.auth.platform.io' },
      { path: '/r/core/v1/configmaps/ns/atrium-system', entry: 'New ConfigMap', right: 'create configmaps -n atrium-system' },
    ];
    const rules = [
      { apiGroups: ['auth.platform.io'], resources: ['groups', 'userbindings', 'sessions'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] },
    ];

    before(async () => {
      const api = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'looks-on' } };
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'looks-on' };
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: demo.person('viewer').email }];
      const path = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1';
      expect((await send('POST', `${path}/clusterroles`, { ...api, kind: 'ClusterRole', rules })).status).to.equal(201);
      const binding = { ...api, kind: 'ClusterRoleBinding', roleRef, subjects };
      expect((await send('POST', `${path}/clusterrolebindings`, binding)).status).to.equal(201);
      const headers = { authorization: `Bearer ${demo.person('viewer').token}` };
      const statusOf = async (list: string) => (await fetch(`${demo.url}${list}`, { headers })).status;
      for (const list of ['/auth/v1/groups', '/auth/v2/userbindings', '/api/kubernetes/api/v1/namespaces/atrium-system/configmaps'])
        await eventually(
          () => statusOf(list),
          (status) => status === 200,
        );
    });

    for (const { path, entry, right } of refusals) {
      it(`show “${entry}” on ${path} greyed in the menu, not in the bar, with the reason`, async () => {
        const { page, visitor } = await as('viewer');
        await page.goto(`${demo.url}${path.replace('JANE', await recordName('jane@example.com'))}`);
        await press(page, 'More actions');
        const refused = greyed(page, entry);
        await refused.waitFor();
        const offered = page.locator('.page-head').locator('button:not([role]), a');
        expect(await offered.filter({ hasText: entry }).count()).to.equal(0);
        expect(await barriers(page)).to.deep.equal([]);
        await refused.press('Enter');
        await page.getByRole('dialog').getByText(right).waitFor();

        expect(visitor.complaints.splice(0)).to.deep.equal([]);
      });
    }

    it('show forbidden actions of sessions greyed in their menu, with the reason', async () => {
      const { page, visitor } = await as('viewer');
      await page.goto(`${demo.url}/users/${await recordName('jane@example.com')}/sessions`);
      const menus = page.getByRole('button', { name: 'More actions', exact: true });
      await menus.nth(1).click();
      await greyed(page, 'End').press('Enter');
      await page.getByRole('dialog').getByText('delete sessions.auth.platform.io').waitFor();

      expect(await barriers(page)).to.deep.equal([]);
      expect(visitor.complaints.splice(0)).to.deep.equal([]);
    });
  });
});
