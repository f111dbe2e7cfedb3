/** History of an object: what was done to it through the service, by the console and by programs. */
import { readFile } from 'node:fs/promises';
import { recordName } from '@atrium/demo/objects.ts';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Request } from '../../service/access-requests/support.ts';
import { barriers, expectAccessible } from './axe.ts';
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
    await rows(page).getByText('admin@example.com scaled Deployment storefront from 3 to 5').waitFor();
    await rows(page).filter({ hasText: 'viewer@example.com tried to delete Deployment storefront' }).getByText('Refused (403)').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('says what was done in the console itself', async () => {
    await press(page, 'Scale');
    await page.getByRole('spinbutton').fill('2');
    await press(page, 'Scale to 2');
    await rows(page).getByText('admin@example.com scaled Deployment storefront from 5 to 2').waitFor();
  });

  it('shows the fields that a write of RBAC changed, and none before it that is not known', async () => {
    const view = '/apis/rbac.authorization.k8s.io/v1/clusterroles/view';
    expect((await send('admin', 'PATCH', view, { metadata: { labels: { team: 'shop' } } })).status).to.equal(200);
    await page.goto(`${demo.url}/r/rbac.authorization.k8s.io/v1/clusterroles/view/history`);
    const ops = [
      { op: 'test', path: '/metadata/labels/team', value: 'shop' },
      { op: 'replace', path: '/metadata/labels/team', value: 'sales' },
    ];
    const patched = await fetch(`${demo.url}/api/kubernetes${view}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json-patch+json' },
      body: JSON.stringify(ops),
    });
    expect(patched.status).to.equal(200);
    await page.reload();
    await page.getByText('Changed fields').nth(1).click();
    await rows(page).getByText('metadata.labels.team: → shop').waitFor();
    await page.getByText('Changed fields').first().click();
    await rows(page).getByText('metadata.labels.team: shop → sales').waitFor();
    await expectAccessible(page);
  });

  it('has nothing for an object that nobody has changed', async () => {
    await page.goto(`${demo.url}/r/core/v1/nodes/node-1/history`);
    await page.getByText('This object was not changed through the console yet').waitFor();
  });
});

describe('the page Activity', () => {
  const { demo, page } = loggedIn('admin', '/');
  const events = () => page.getByRole('table', { name: 'Activity' }).getByRole('row');
  const send = (role: string, method: string, path: string, body?: object) =>
    fetch(`${demo.url}/api/kubernetes${path}`, {
      method,
      headers: { authorization: `Bearer ${demo.person(role).token}`, 'content-type': 'application/merge-patch+json' },
      ...(body && { body: JSON.stringify(body) }),
    });

  it('says who did what to which object, with a bar per hour', async () => {
    expect((await send('admin', 'PATCH', `${storefront}/scale`, { spec: { replicas: 5 } })).status).to.equal(200);
    expect((await send('viewer', 'DELETE', storefront)).status).to.equal(403);
    await page.getByRole('link', { name: 'Activity', exact: true }).click();
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    await events().getByText('admin@example.com scaled Deployment storefront in shop from 3 to 5').waitFor();
    await events()
      .filter({ hasText: 'viewer@example.com tried to delete Deployment storefront in shop' })
      .getByText('Refused (403)')
      .waitFor();
    await page
      .getByRole('group', { name: 'Events over time' })
      // The demo has no mail server for a reminder, which may be in the hour before.
      .getByRole('button', { name: /: (?:2 events, 1|[3-9] events, [12]) of them failed$/ })
      .waitFor();
  });

  it('asks by a sentence, which its address keeps', async () => {
    await page.getByRole('combobox', { name: 'Action' }).selectOption('deleted');
    await events().getByText('scaled').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).to.equal('?verb=delete');
    await page.getByRole('combobox', { name: 'Kind' }).fill('deploy');
    await page.keyboard.press('Enter');
    await page.waitForURL(/kind=deployments\.apps/);
    await events().getByText('viewer@example.com tried to delete').waitFor();
    await page.reload();
    await events().getByText('viewer@example.com tried to delete').waitFor();
    expect(await events().count()).to.equal(2);
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('and it worked');
    await page.getByText('No event answers this question.').waitFor();
    await press(page, 'Clear the filter');
    await events().getByText('scaled').waitFor();
  });

  it('finds events by words, and shows those that arrive', async () => {
    const live = page.waitForRequest((request) => request.url().includes('text=cart') && request.url().includes('watch=true'));
    await page.getByRole('combobox', { name: 'Words of the event' }).fill('cart');
    await page.keyboard.press('Enter');
    await live;
    await page.getByText('No event answers this question.').waitFor();
    expect(new URL(page.url()).searchParams.get('text')).to.equal('cart');
    expect((await send('viewer', 'DELETE', storefront.replace('storefront', 'cart'))).status).to.equal(403);
    await events().getByText('viewer@example.com tried to delete Deployment cart in shop').waitFor();
    await page.goto(`${demo.url}/activity`);
    await events().getByText('scaled').waitFor();
  });

  it('saves all events of the question as CSV', async () => {
    const [file] = await Promise.all([page.waitForEvent('download'), press(page, 'Save all as CSV')]);
    expect(file.suggestedFilename()).to.equal('audit.csv');
    const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n');
    expect(lines[0]).to.match(/^"time","user",/);
    expect(lines.some((line) => line.includes('"viewer@example.com"') && line.includes('"delete"'))).to.equal(true);
  });

  it('leads from a bar to the events of its hour, and is free of barriers', async () => {
    await page.getByRole('group', { name: 'Events over time' }).getByRole('button').last().focus();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.getByText('No event answers this question.').waitFor();
    await page.goto(`${demo.url}/activity`);
    await events().getByText('scaled').waitFor();
    await expectAccessible(page);
  });

  it('is reached from a session, with its actions', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await press(page, 'Scale');
    await page.getByRole('spinbutton').fill('4');
    await press(page, 'Scale to 4');
    // A page that is left aborts its requests.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goto(`${demo.url}/sessions`);
    await page.getByRole('link', { name: 'Actions in this session' }).first().click();
    await events().getByText('admin@example.com scaled Deployment storefront in shop from 5 to 4').waitFor();
    // The other events are those of programs, which have no session.
    expect(await events().getByText('viewer@example.com').count()).to.equal(0);
    await press(page, 'in one session');
    await events().getByText('viewer@example.com tried to delete').first().waitFor();
  });

  it('is reached from a user, with their actions and the changes of their record', async () => {
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const found = await (await fetch(`${demo.url}/auth/v2/users?search=viewer@example.com`, { headers })).json();
    const user = (found as { items: { metadata: { name: string } }[] }).items[0]?.metadata.name;
    await page.goto(`${demo.url}/users/${user}/history`);
    await page.getByRole('link', { name: 'Actions of this user' }).click();
    await events().getByText('viewer@example.com tried to delete Deployment storefront in shop').waitFor();
    expect(await events().getByText('admin@example.com').count()).to.equal(0);
    expect(
      (await send('admin', 'PATCH', `/apis/auth.platform.io/v1/users/${user}`, { metadata: { labels: { seen: 'yes' } } })).status,
    ).to.equal(200);
    await page.goto(`${demo.url}/users/${user}/history`);
    await page.getByRole('link', { name: "Changes of this user's record" }).click();
    await events()
      .getByText(/admin@example\.com labelled User viewer@example\.com/)
      .first()
      .waitFor();
  });

  it('is reached from an access token, with its actions, and from a namespace', async () => {
    const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ description: 'pipeline' });
    const made = await fetch(`${demo.url}/auth/v1/accesstoken`, { method: 'POST', headers, body });
    const { token } = (await made.json()) as { token: string };
    const scale = await fetch(`${demo.url}/api/kubernetes${storefront}/scale`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: { replicas: 6 } }),
    });
    expect(scale.status).to.equal(200);
    await page.goto(`${demo.url}/tokens`);
    await page.getByRole('row').filter({ hasText: 'pipeline' }).getByRole('link', { name: 'Actions with this token' }).click();
    await events().getByText('scaled Deployment storefront in shop from 4 to 6').waitFor();
    expect(await events().count()).to.equal(1);
    await page.goto(`${demo.url}/r/core/v1/namespaces/shop/history`);
    await page.getByRole('link', { name: 'Actions in this namespace' }).click();
    await events().getByText('viewer@example.com tried to delete Deployment storefront in shop').first().waitFor();
  });

  it('is reached from a request, with the actions of its requester while the access lasted', async () => {
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const { items } = (await (await fetch(`${demo.url}/auth/v1/accessrequests`, { headers })).json()) as { items: Request[] };
    const request = items.find(({ status }) => status?.phase === 'Ended') ?? expect.fail('no request has ended');
    await page.goto(`${demo.url}/requests/${request.metadata.name}`);
    await page.getByRole('link', { name: 'Events of this request' }).waitFor();
    await page.getByRole('link', { name: 'Actions of the requester with this access' }).click();
    await page.getByRole('heading', { name: 'Activity' }).waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).to.include({
      actor: request.spec.requester,
      from: request.status?.begin,
      to: request.status?.ended,
    });
    await page.getByText('No event answers this question.').waitFor();
  });
});

describe('the sentences of the page Activity', () => {
  const { demo, page } = loggedIn('admin', '/');
  const events = () => page.getByRole('table', { name: 'Activity' }).getByRole('row');
  const send = (role: string, method: string, path: string, body?: object) =>
    fetch(`${demo.url}/api/kubernetes${path}`, {
      method,
      headers: {
        authorization: `Bearer ${demo.person(role).token}`,
        'content-type': method === 'POST' ? 'application/json' : 'application/merge-patch+json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });

  it('names a restart, a scale by patch and a new binding, and finds them by that', async () => {
    const restart = { spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': '2026-01-12T10:00:00Z' } } } } };
    expect((await send('admin', 'PATCH', storefront, restart)).status).to.equal(200);
    expect((await send('admin', 'PATCH', storefront, { spec: { replicas: 5 } })).status).to.equal(200);
    const group = 'rbac.authorization.k8s.io';
    const binding = {
      ...{ apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata: { name: 'testers' } },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: group, kind: 'Group', name: 'testers' }],
    };
    expect((await send('admin', 'POST', `/apis/${group}/v1/namespaces/shop/rolebindings`, binding)).status).to.equal(201);
    await page.goto(`${demo.url}/activity`);
    await events().getByText('admin@example.com restarted Deployment storefront in shop').waitFor();
    await events().getByText('admin@example.com scaled Deployment storefront in shop to 5').waitFor();
    await page.getByRole('combobox', { name: 'Action' }).selectOption('granted a role');
    await events().getByText('restarted').waitFor({ state: 'detached' });
    await events().getByText('admin@example.com gave testers the role view by RoleBinding testers in shop').waitFor();
    const given = await fetch(`${demo.url}/auth/v2/userbindings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        metadata: { name: 'noa-edits' },
        spec: {
          ...{ subjects: [{ kind: 'User', name: recordName('nobody@example.com') }], roleRef: 'edit', scope: 'namespace' },
          ...{ constraint: [{ namespace: 'shop' }], expiresAt: '2035-01-12T12:00:00Z' },
        },
      }),
    });
    expect(given.status).to.equal(201);
    await events().getByText('admin@example.com gave nobody@example.com the role edit in shop until Jan 12, 2035').waitFor();
    await page.goto(`${demo.url}/activity`);
    expect((await send('admin', 'DELETE', `/apis/${group}/v1/namespaces/shop/rolebindings/testers`)).status).to.equal(200);
    await events().getByText('admin@example.com took the role view from testers by deleting RoleBinding testers in shop').waitFor();
  });

  it('shows who did the most, and whether that was a program', async () => {
    expect((await send('viewer', 'DELETE', storefront)).status).to.equal(403);
    await page.goto(`${demo.url}/activity`);
    await page.getByText('Most active users').click();
    const actors = page.getByRole('table', { name: 'Most active users' }).getByRole('row');
    await actors.filter({ hasText: 'admin@example.com' }).getByText('User', { exact: true }).waitFor();
    await expectAccessible(page);
    await actors.getByRole('link', { name: 'viewer@example.com' }).click();
    await events().getByText('restarted').waitFor({ state: 'detached' });
    await events().getByText('viewer@example.com tried to delete Deployment storefront in shop').waitFor();
    await page.goto(`${demo.url}/activity`);
  });
});

describe('the state of the audit on the page Activity', () => {
  const { demo, page } = loggedIn('admin', '/');
  const status = '**/auth/v1/audit/status';
  const state = { apiVersion: 'auth.platform.io/v1', kind: 'AuditStatus', delivery: 'besteffort', store: 'Available', spool: 'Available' };
  const notice = (text: string) => page.getByRole('alert').filter({ hasText: text });
  async function open(answer: object): Promise<void> {
    await page.unroute(status);
    await page.route(status, (route) => route.fulfill({ json: answer }));
    await page.goto(`${demo.url}/activity`);
    await page.getByRole('table', { name: 'Activity' }).waitFor();
  }

  it('warns while the store takes no events, after a loss, and while it contradicts the checkpoints', async () => {
    await open({ ...state, store: 'Unavailable', reason: 'the disk is full', waiting: 3, lost: 0 });
    await notice('The audit store takes no events (the disk is full). Writes go on').waitFor();
    await expectAccessible(page);
    await open({ ...state, delivery: 'required', store: 'Unavailable', reason: 'the disk is full', waiting: 3, lost: 0 });
    await notice('Writes are refused once their events cannot be kept.').waitFor();
    await open({ ...state, waiting: 0, lost: 2, lastLost: new Date().toISOString() });
    await notice('2 events are lost').waitFor();
    const reason = 'event 6 of the audit, which has a signed checkpoint, is missing in the store';
    await open({ ...state, waiting: 0, lost: 0, checkpoints: { state: 'Refused', reason } });
    await notice(`The audit contradicts its signed checkpoints (${reason}).`).waitFor();
  });

  it('tells how full the store is, also one that removes its oldest events', async () => {
    const usage = { bytes: 95 * 2 ** 20, maxBytes: 100 * 2 ** 20, isNearlyFull: true, whenFull: 'refuse', oldest: '2026-01-12T10:00:00Z' };
    const told = (text: string) => page.getByRole('status').filter({ hasText: text });
    await open({ ...state, waiting: 0, lost: 0, usage });
    await told('The audit store is nearly full: it uses 95 of 100 MiB.').waitFor();
    await expectAccessible(page);
    await open({ ...state, waiting: 0, lost: 0, usage: { ...usage, whenFull: 'removeOldest' } });
    await told('At the limit the oldest events are removed, from Jan 12, 2026').waitFor();
    await open({ ...state, waiting: 0, lost: 0, usage: { ...usage, isNearlyFull: false } });
    expect(await told('95 of 100 MiB').count()).to.equal(0);
  });

  it('says nothing while events are kept', async () => {
    await page.unroute(status);
    const answered = page.waitForResponse((response) => response.url().endsWith('/auth/v1/audit/status') && response.ok());
    await page.goto(`${demo.url}/activity`);
    expect(await (await answered).json()).to.include({ store: 'Available', lost: 0 });
    await page.getByRole('table', { name: 'Activity' }).waitFor();
    expect(await page.getByRole('alert').count()).to.equal(0);
  });
});

describe('the history of an object for a user who may not list audits', () => {
  const { demo, page } = loggedIn('viewer', '/');

  it('shows that it has the changes of the caller alone', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/history`);
    await page.getByText('This list has your own actions, and the actions of others').waitFor();
    await page.getByText('You have not changed this object').waitFor();
  });
});
