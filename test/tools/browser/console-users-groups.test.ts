/** N4: the list of users shows all groups of a user, and tells unknown ones from none. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { loggedIn, press } from './demo.ts';
import { create, look, untilAllowed } from './kind-pages.ts';
import { cutCells, misplaced } from './layout.ts';

const rbac = 'rbac.authorization.k8s.io';
const metadata = { name: 'reads-users' };

describe('N4 groups in the list of users', () => {
  const { browser, demo, visitor, page } = loggedIn('admin', '/users', { users: 5 });
  const row = (name: string, of = page) => of.getByRole('row').filter({ has: of.getByRole('link', { name, exact: true }) });
  const cell = (name: string, of = page) => row(name, of).locator('.c-groups');

  it('show local groups beside those of the source, as links', async () => {
    await cell('李伟').getByText('Local').waitFor();
    expect(await cell('李伟').getByRole('link').allTextContents()).to.deep.equal(['dev', 'dev']);
    expect(await cell('李伟').getByRole('link').nth(1).getAttribute('href')).to.equal('/groups/dev');
    await cell('Jane Doe').getByText('4 groups').waitFor();
    expect(await cell('Jane Doe').locator('span[title]').getAttribute('title')).to.equal('dev, oncall, dev (Local), oncall (Local)');
    expect(await cell('Noa Nobody').textContent()).to.equal('None');
    expect(await cutCells(page)).to.deep.equal([]);
    await look(page, 'users-groups');
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
  });

  it('show a user who was added to a group', async () => {
    const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${demo.url}/auth/v2/users?search=nobody`, { headers });
    const { items } = (await answer.json()) as { items: { metadata: { name: string } }[] };
    const body = JSON.stringify({ names: items.map((user) => user.metadata.name) });
    const added = await fetch(`${demo.url}/auth/v1/groups/oncall/members`, { method: 'POST', headers, body });
    expect(added.status).to.equal(200);
    await page.reload();
    await cell('Noa Nobody').getByRole('link', { name: 'oncall' }).waitFor();
  });

  it('are unknown while the service cannot tell, with its reason', async () => {
    await page.route('**/auth/v1/memberships?*', (route) =>
      route.fulfill({ status: 503, json: { kind: 'Status', code: 503, message: 'kubernetes is not available, try again' } }),
    );
    await page.reload();
    const unknown = cell('Noa Nobody').getByText('local: unknown');
    await unknown.waitFor();
    expect(await unknown.getAttribute('title')).to.include('kubernetes is not available');
    expect(await cell('李伟').textContent()).to.match(/^dev .*local: unknown$/);
    await page.unrouteAll({ behavior: 'wait' });
    await visitor.complainsOf('status of 503');
  });

  it('are unknown to a user who may not list groups, who may ask why', async () => {
    const rules = [{ apiGroups: ['auth.platform.io'], resources: ['users'], verbs: ['list', 'watch'] }];
    await create(demo, `apis/${rbac}/v1/clusterroles`, { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules });
    await create(demo, `apis/${rbac}/v1/clusterrolebindings`, {
      ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'nobody@example.com' }],
    });
    await untilAllowed(demo, 'nobody', { verb: 'list', group: 'auth.platform.io', resource: 'users' });
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'nobody', '/users');
    await tab.getByText('You may not list groups').waitFor();
    expect(await cell('Noa Nobody', tab).textContent()).to.equal('local: unknown');
    await press(tab, 'Why');
    await tab.getByRole('dialog').getByText('list groups.auth.platform.io').waitFor();
    expect(await barriers(tab)).to.deep.equal([]);
    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });
});
