/** Pages of the audit: their older parts, and filters in their addresses. */
import { expect } from 'chai';
import { expectAccessible } from './axe.ts';
import { loggedIn } from './demo.ts';
import { create } from './kind-pages.ts';

const all = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => `gone-${last - index}`);

describe('older events on the page Activity', () => {
  const { demo, page } = loggedIn('admin', '/');
  const names = () =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll('main .plain tr bdi')].map((it) => it.textContent).filter((text) => text.startsWith('gone-'))",
    );

  /** Deletes ConfigMaps that do not exist, one after the other. */
  async function deleteSome(first: number, last: number): Promise<void> {
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    for (let number = first; number <= last; number += 1) {
      const path = `/api/kubernetes/api/v1/namespaces/shop/configmaps/gone-${number}`;
      expect((await fetch(demo.url + path, { method: 'DELETE', headers })).status).to.equal(404);
    }
  }
  const shows = async (name: string) => {
    await page.getByText(name, { exact: true }).first().waitFor();
    await page.waitForResponse((answer) => /\/auth\/v1\/audit\?.*limit=100/.test(answer.url()) && !answer.url().includes('watch'));
  };

  it('follow the newest ones without a gap, also once others have arrived', async () => {
    await deleteSome(1, 130);
    await page.goto(`${demo.url}/activity?kind=configmaps&verb=delete&since=all`);
    await page.getByText('gone-130', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Show older events' }).click();
    await page.getByText('gone-1', { exact: true }).waitFor();
    expect(await names()).to.deep.equal(all(1, 130));

    await deleteSome(131, 140);
    await shows('gone-140');
    await page.getByText('gone-40', { exact: true }).waitFor();
    expect(await names()).to.deep.equal(all(1, 140));
  });

  it('have a button where some between them and the newest ones are missing', async () => {
    await deleteSome(141, 270);
    await shows('gone-270');
    await page.getByRole('button', { name: 'Show the events in between' }).click();
    await page.getByText('gone-150', { exact: true }).waitFor();
    expect(await names()).to.deep.equal(all(1, 270));
    expect(await page.getByRole('button', { name: 'Show the events in between' }).count()).to.equal(0);
  });
});

describe('the page of an event', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const fact = (name: string) => page.locator('dt', { hasText: new RegExp(`^${name}$`) }).locator('+ dd');

  it('is at its time, and shows who did it by which credential, and each field', async () => {
    const headers = { authorization: `Bearer ${demo.person('manager').token}`, 'user-agent': 'hostile <b>agent</b>' };
    const path = '/api/kubernetes/api/v1/namespaces/shop/configmaps/of-an-event';
    const answer = await fetch(demo.url + path, { method: 'DELETE', headers });
    await page.goto(`${demo.url}/activity?text=of-an-event&since=all`);
    await page.getByRole('row', { name: 'of-an-event' }).locator('td').first().getByRole('link').click();
    await page.getByRole('heading', { name: 'Event', exact: true }).waitFor();

    expect(new URL(page.url()).pathname).to.match(/^\/activity\/events\/[0-9a-f-]{36}$/);
    expect(await fact('User').textContent()).to.equal('manager@example.com');
    expect(await fact('Groups of the user').textContent()).to.equal('platform');
    expect(await fact('Client').textContent()).to.include('<b>agent</b>');
    expect(await fact('Outcome').textContent()).to.equal(answer.status === 403 ? 'Refused (403)' : 'Failed (404)');
    expect(await fact('Request').textContent()).to.equal(answer.headers.get('x-request-id'));
    expect(await fact('Source').textContent()).to.equal('Request through Atrium');
    const json: unknown = JSON.parse(await page.getByRole('region', { name: 'Event as JSON' }).locator('pre').innerText());
    expect(json).to.include({ verb: 'delete', cluster: 'local', outcome: 'failure' });
    await expectAccessible(page);
  });

  it('leads to the events of its session', async () => {
    await page.goto(`${demo.url}/activity?actor=admin@example.com&since=all&text=sessions`);
    await page.getByRole('row', { name: 'logged in' }).first().locator('td').first().getByRole('link').click();
    const id = await fact('Session').textContent();
    await fact('Session').getByRole('link').click();
    await page.getByRole('table', { name: 'Activity' }).getByRole('row', { name: 'logged in' }).waitFor();
    expect(new URL(page.url()).searchParams.get('session')).to.equal(id);
  });

  it('says that an event does not exist', async () => {
    visitor.accepted = /status of 404 /;
    await page.goto(`${demo.url}/activity/events/none`);
    await page.getByRole('alert').waitFor();
  });
});

describe('the pages of a group and of a binding', () => {
  const { demo, page } = loggedIn('admin', '/');
  const patch = async (path: string, spec: unknown) => {
    const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/merge-patch+json' };
    return (await fetch(demo.url + path, { method: 'PATCH', headers, body: JSON.stringify({ spec }) })).status;
  };
  const found = (text: RegExp) => page.getByRole('table', { name: 'Activity' }).getByRole('row', { name: text }).first().waitFor();

  it('lead to the actions on a group, and to those of its members', async () => {
    expect(await patch('/auth/v1/groups/dev', { description: 'Developers of the shop' })).to.equal(200);
    await page.goto(`${demo.url}/groups/dev`);
    await page.getByRole('link', { name: 'Actions on this object' }).click();
    await found(/admin@example.com changed Group dev/);
    await page.goBack();
    await page.getByRole('link', { name: 'Actions of its members' }).click();
    await page.getByRole('search').waitFor();
    expect(new URL(page.url()).searchParams.get('actorGroup')).to.equal('local:dev');
  });

  it('lead to the actions on a binding', async () => {
    const path = '/api/kubernetes/apis/auth.platform.io/v1/userbindings/oncall-view';
    expect(await patch(path, { expiresAt: '2035-03-04T10:30:00Z' })).to.equal(200);
    await page.goto(`${demo.url}/bindings/oncall-view`);
    await page.getByRole('link', { name: 'Actions on this object' }).click();
    await found(/admin@example.com changed UserBinding oncall-view/);
  });
});

describe('the history of a namespace', () => {
  const { demo, page, visitor } = loggedIn('viewer', '/');
  const group = 'rbac.authorization.k8s.io';
  const metadata = { name: 'audit-of-shop', namespace: 'shop' };
  before(() => {
    // The viewer may not list namespaces.
    visitor.accepted = /status of 403 .*\/api\/v1\/namespaces$/;
  });

  it('has the actions of all users for those who may list audits in that namespace alone', async () => {
    const rules = [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }];
    const inShop = `apis/${group}/v1/namespaces/shop`;
    await create(demo, `${inShop}/roles`, { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules });
    await create(demo, `${inShop}/rolebindings`, {
      ...{ apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata },
      roleRef: { apiGroup: group, kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: group, kind: 'User', name: 'viewer@example.com' }],
    });
    const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/merge-patch+json' };
    const body = JSON.stringify({ metadata: { labels: { seen: 'yes' } } });
    const path = '/api/kubernetes/api/v1/namespaces/shop';
    expect((await fetch(demo.url + path, { method: 'PATCH', headers, body })).status).to.equal(200);
    await page.goto(`${demo.url}/r/core/v1/namespaces/shop/history`);
    await page.getByRole('row', { name: 'admin@example.com labelled Namespace shop' }).waitFor();
  });
});

describe('addresses of the audit pages with a malformed filter', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const refused = (text: string) => page.getByRole('alert').getByText(text);
  before(() => {
    visitor.accepted = /status of 400 /;
  });

  it('show what the service says, and take another time', async () => {
    await page.goto(`${demo.url}/activity?from=abc`);
    await refused('from: must be a time like 2026-01-12T10:00:00Z').waitFor();
    await page.getByLabel('from', { exact: true }).fill('2026-01-12T10:00');
    await page.getByRole('table', { name: 'Activity' }).waitFor();
    expect(new URL(page.url()).searchParams.get('from')).to.match(/^2026-01-1\dT/);
  });

  it('show it for each condition of Activity, and take another choice', async () => {
    await page.goto(`${demo.url}/activity?to=%2B275760-09-13T00:00:00Z`);
    await refused('to: must be a time like').waitFor();
    await page.goto(`${demo.url}/activity?outcome=none&kind=.apps`);
    await refused('resource: must not be empty; outcome: must be one of').waitFor();
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('and it worked');
    await page.getByRole('combobox', { name: 'Kind' }).fill('deploy');
    await page.keyboard.press('Enter');
    await refused('must be').waitFor({ state: 'detached' });
  });

  it('show it for standing access', async () => {
    await page.goto(`${demo.url}/explorer/standing?days=long&holders=Some`);
    await refused('days: must be an integer from 1').waitFor();
    await page.getByRole('combobox', { name: 'Period' }).selectOption({ index: 1 });
    await refused('holders: must be one of').waitFor();
    await page.getByRole('combobox', { name: 'Holders' }).selectOption({ index: 1 });
    await page.getByRole('table', { name: 'Standing access' }).waitFor();
  });
});

describe('the page Recordings', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const lists = '**/auth/v1/audit/recordings?*';
  const asked: string[] = [];
  let count = 130;
  const aRecording = (number: number) => ({
    ...{ id: `r${number}`, cluster: 'local', user: { username: 'ada@example.com' }, mode: 'required', seconds: 5 },
    objectRef: { namespace: 'shop', name: `gone-${number}`, subresource: 'exec' },
    ...{ startedAt: new Date(Date.UTC(2026, 0, 12, 10, number)).toISOString(), width: 80, height: 24, bytes: 10, lostBytes: 0 },
  });
  const pods = (table: string) => page.getByRole('table', { name: table, exact: true }).locator('td bdi').filter({ hasText: 'gone-' });

  before(() =>
    page.route(lists, (route) => {
      const { search, searchParams } = new URL(route.request().url());
      asked.push(search);
      const from = Number(searchParams.get('continue') ?? count);
      const items = Array.from({ length: Math.min(100, from) }, (_, index) => aRecording(from - index));
      const metadata = from > 100 ? { continue: String(from - 100) } : {};
      return route.fulfill({
        json: { apiVersion: 'auth.platform.io/v1', kind: 'RecordingList', metadata, scope: 'All', directShells: 'Refused', items },
      });
    }),
  );

  it('shows older recordings, and none twice once others have arrived', async () => {
    await page.goto(`${demo.url}/activity/recordings`);
    await page.getByRole('button', { name: 'Show older recordings' }).click();
    await pods('Older recordings').getByText('shop/gone-1', { exact: true }).waitFor();
    expect(await pods('Older recordings').count()).to.equal(30);
    count = 135;
    await pods('Recordings of shells').getByText('shop/gone-135').waitFor();
    expect(await pods('Older recordings').first().textContent()).to.equal('shop/gone-35');
    expect(await pods('Older recordings').count()).to.equal(35);
  });

  it('asks for a user, namespace, pod and period, which its address keeps', async () => {
    await page.getByRole('combobox', { name: 'Who' }).fill('ada@example.com');
    await page.keyboard.press('Enter');
    await page.getByRole('search').getByRole('combobox', { name: 'Namespace' }).fill('shop');
    await page.keyboard.press('Enter');
    await page.getByRole('combobox', { name: 'Pod' }).fill('gone-7');
    await page.keyboard.press('Enter');
    await page.getByLabel('from', { exact: true }).fill('2026-01-12T10:00');
    await page.getByLabel('until', { exact: true }).fill('2026-01-12T11:00');
    const { searchParams } = new URL(page.url());
    expect([...searchParams.keys()]).to.have.members(['actor', 'namespace', 'name', 'from', 'to']);
    await page.reload();
    await pods('Recordings of shells').first().waitFor();
    expect(Object.fromEntries(new URLSearchParams(asked.at(-1)))).to.deep.equal({ ...Object.fromEntries(searchParams), limit: '100' });
    await expectAccessible(page);
  });

  it('shows what the service says about a malformed filter, and lets users clear it', async () => {
    visitor.accepted = /status of 400 /;
    await page.unroute(lists);
    await page.goto(`${demo.url}/activity/recordings?from=abc&actor=nobody`);
    await page.getByRole('alert').getByText('from: must be a time like').waitFor();
    await page.getByLabel('from', { exact: true }).fill('2026-01-12T10:00');
    await page.getByText('No recording answers this question.').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByText('No recordings. The setting audit.recordings').waitFor();
    expect(new URL(page.url()).search).to.equal('');
  });
});
