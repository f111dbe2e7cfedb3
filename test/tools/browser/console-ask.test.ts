/** "Ask for it" in the console: Noa may only read the shop, asks for a role to restart its web server, and Ada approves by the API. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { password, SessionRequests } from '../../service/access-requests/sessions.ts';
import { aPolicy, policiesPath, type Request, requestsPath, user } from '../../service/access-requests/support.ts';
import { aNamespace, rbac } from '../../service/bindings/support.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { isAllowed } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { greyed, isLoggedIn, press, submitPassword } from './demo.ts';
import { misplaced } from './layout.ts';

const [noa, ada] = ['noa@example.com', 'ada@example.com'];
const labels = { app: 'web' };
const web: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'registry.example.com/web:1' }] } },
  },
};
const readsShop: Manifest = {
  apiVersion: `${rbac}/v1`,
  kind: 'RoleBinding',
  metadata: { name: 'noa-views', namespace: 'shop' },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
  subjects: [{ apiGroup: rbac, kind: 'User', name: noa }],
};
const common = { subjects: [user(noa)], approvers: [user(ada)], maxSeconds: 14_400 };
const policies = [
  aPolicy('shop-debug', { ...common, roleRefs: ['edit'], ticketPattern: 'SHOP-[0-9]+' }),
  aPolicy('shop-night', { ...common, roleRefs: ['admin'], breakGlass: true, requireStepUp: true }),
  aPolicy('all-view', { ...common, roleRefs: ['view'], scope: { cluster: true }, approvals: 2 }),
];
const restart = { verb: 'patch', group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web' };

describe('"Ask for it" in the console', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: [noa, ada], password, features: { accessRequests: true }, files: theConsole, hasWorkloads: true }),
  );
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);
  const dialog = () => page.getByRole('dialog', { name: 'Ask for access' });
  const told = (text: string | RegExp) => page.locator('.toast', { hasText: text });
  const more = () => page.locator('.page-head').getByRole('button', { name: 'More' });
  const askItem = (action: string) => page.getByRole('menuitem', { name: `Ask for it: ${action}` });
  const field = (label: string) => dialog().getByLabel(label, { exact: true });
  const roles = () => field('Role').locator('option').allInnerTexts();
  const stored = async () => {
    const { body } = await service.admin.call('GET', requestsPath);
    return (body as { items: Request[] }).items.filter(({ spec }) => spec.requester === noa);
  };
  /** Waits for a state of the page, to which the user returns from another window meanwhile. */
  const untilCount = async (locator: () => { count(): Promise<number> }, count: number) =>
    eventually(
      async () => {
        const reviewed = page.waitForResponse((answer) => answer.url().endsWith('/selfsubjectaccessreviews'));
        await page.evaluate("dispatchEvent(new Event('focus'))");
        await reviewed;
        return locator().count();
      },
      (found) => found === count,
    );

  before(async () => {
    const { admin } = service;
    await admin.apply(aNamespace('shop'), web, readsShop, ...policies);
    for (const { metadata } of policies)
      await eventually(
        () => admin.call('GET', `${policiesPath}/${metadata.name}`),
        ({ body }) => JSON.stringify(body).includes('"type":"Ready"'),
      );
    await page.goto(`${service.url}/r/apps/v1/deployments/ns/shop/web`);
    await press(page, 'Log in');
    await submitPassword(page, { email: noa, password });
    await isLoggedIn(page, noa);
    // Refusals of the form, and the reads of lists that Noa may not read.
    visitor.accepted = /status of (400|403|422)/;
  });
  afterEach(() => expect(visitor.takeComplaints()).to.deep.equal([]));

  it('is offered by a refusal within a page, for the right that the message names', async () => {
    const message = `secrets is forbidden: User "${noa}" cannot list resource "secrets" in API group "" in the namespace "shop"`;
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message });
    const budgets = /\/poddisruptionbudgets\?/;
    await page.route(budgets, (route) => route.fulfill({ status: 403, contentType: 'application/json', body }));
    await page.reload();
    const bounds = page.getByRole('region', { name: 'Scaling and disruption' });
    await bounds.getByRole('button', { name: 'Ask for it' }).click();
    await dialog().getByText('list secrets -n shop').waitFor();
    expect(await roles()).to.deep.equal(['edit in shop (one approval)', 'admin in shop (one approval)']);
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    await page.unroute(budgets);
    await page.reload();
  });

  it('is beside the greyed item of a menu by keyboard, and offers the narrowest role first', async () => {
    await more().click();
    await greyed(page, 'Restart').waitFor();
    await askItem('Restart').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await greyed(page, 'Restart').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    expect(await roles()).to.deep.equal(['edit in shop (one approval)', 'admin in shop (one approval)']);
    await dialog().getByText('patch deployments.apps web -n shop').waitFor();
    await dialog().getByText('At most 4 hours.').waitFor();
    await dialog().getByText('One approver must approve.').waitFor();
  });

  it('has no violation and no element wider than its parent, from a phone on', async () => {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await barriers(page), `at ${width}`).to.deep.equal([]);
      expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('shows refusals at their fields, and makes nothing', async () => {
    await field('Reason').fill('short');
    await field('Ticket').fill('SHOP-12');
    await press(page, 'Ask');
    await dialog().getByText('must have at least 10 characters').waitFor();
    expect(await field('Reason').getAttribute('aria-invalid')).to.equal('true');
    await field('Reason').fill('the web server hangs since 11:00');
    await field('Ticket').fill('none');
    await press(page, 'Ask');
    await dialog().getByText('Invalid value: "none": must match SHOP-[0-9]+').waitFor();
    expect(await field('Ticket').getAttribute('aria-invalid')).to.equal('true');
    expect(await stored()).to.deep.equal([]);
  });

  it('asks for two hours, wakes the button once Ada approves, and greys it at the end', async () => {
    await field('Ticket').fill('SHOP-12');
    await field('For how long').selectOption('2 hours');
    await press(page, 'Ask');
    await dialog().waitFor({ state: 'detached' });
    await told('Your request waits for one approval.').waitFor();
    const [request] = await stored();
    expect(request?.spec).to.deep.include({
      ...{ policy: { ...(request?.spec.policy as object), name: 'shop-debug' }, roleRef: 'edit', namespaces: ['shop'] },
      ...{ durationSeconds: 7200, reason: 'the web server hangs since 11:00', ticket: 'SHOP-12' },
    });
    await more().click();
    await page.getByRole('menuitem', { name: 'Requested: Restart' }).waitFor();

    const requests = new SessionRequests(service);
    const approver = await requests.logIn(ada);
    await requests.posted(approver, `/${request?.metadata.name}/decision`, { approve: true });
    await eventually(() => isAllowed(service.admin, noa, restart), Boolean);
    await untilCount(() => greyed(page, 'Restart'), 0);
    await page.keyboard.press('Escape');
    await press(page, 'Restart');
    await page.getByRole('dialog').getByRole('button', { name: 'Restart', exact: true }).click();
    await eventually(
      () => service.admin.call('GET', '/apis/apps/v1/namespaces/shop/deployments/web'),
      ({ body }) => JSON.stringify(body).includes('restartedAt'),
    );

    await requests.posted(approver, `/${request?.metadata.name}/end`);
    await eventually(
      () => isAllowed(service.admin, noa, restart),
      (isStill) => !isStill,
    );
    await more().click();
    await untilCount(() => greyed(page, 'Restart'), 1);
    await untilCount(() => askItem('Restart'), 1);
  });

  it('replaces the message about the wait by the message about the decision', async () => {
    await askItem('Restart').click();
    await field('Ticket').fill('SHOP-13');
    await field('Reason').fill('the web server hangs again');
    await press(page, 'Ask');
    await told('Your request waits for one approval.').waitFor();
    const name = (await stored()).find(({ status }) => status?.phase === 'Pending')?.metadata.name;

    const requests = new SessionRequests(service);
    const approver = await requests.logIn(ada);
    await requests.posted(approver, `/${name}/decision`, { approve: false, comment: 'not during the sale' });
    await told('Your request was not approved: edit, shop.').waitFor();
    expect(await told('Your request waits for one approval.').count()).to.equal(0);
  });

  it('leads from the message to the request', async () => {
    await more().click();
    await askItem('Restart').click();
    await field('Ticket').fill('SHOP-14');
    await field('Reason').fill('the web server hangs once more');
    await press(page, 'Ask');
    await told('Your request waits for one approval.').getByRole('button', { name: 'Open the request' }).click();
    const [request] = (await stored()).filter(({ status }) => status?.phase === 'Pending');
    await page.waitForURL(`**/requests/${request?.metadata.name}`);

    const requests = new SessionRequests(service);
    const approver = await requests.logIn(ada);
    await requests.posted(approver, `/${request?.metadata.name}/decision`, { approve: true });
    await told('You have the role edit now: shop.').waitFor();
    expect(await told('Your request waits for one approval.').count()).to.equal(0);
    await requests.posted(approver, `/${request?.metadata.name}/end`);
    await eventually(
      () => isAllowed(service.admin, noa, restart),
      (isStill) => !isStill,
    );
  });

  it('is on the page of a list that may not be read', async () => {
    await page.goto(`${service.url}/r/core/v1/configmaps/ns/default`);
    await press(page, 'Ask for it');
    await dialog().waitFor();
    expect(await roles()).to.deep.equal(['view in default (2 approvals)', 'view on the whole platform (2 approvals)']);
    await dialog().getByText('2 approvers must approve.').waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
  });

  it('is absent where no policy gives the right', async () => {
    await page.goto(`${service.url}/r/rbac.authorization.k8s.io/v1/clusterroles`);
    const options = page.waitForResponse((answer) => answer.url().includes('/accessrequests/options'));
    await page.getByText('list clusterroles.rbac.authorization.k8s.io').first().waitFor();
    expect(await (await options).json()).to.deep.include({ allowed: false, items: [] });
    expect(await page.getByRole('button', { name: 'Ask for it' }).count()).to.equal(0);
  });

  it('follows the answer "no" of "My access", and breaks glass once the role is typed', async () => {
    await page.goto(`${service.url}/access`);
    await page.getByLabel('Do what').selectOption('create');
    await page.getByRole('combobox', { name: 'Resource' }).fill('rolebindings.rbac.authorization.k8s.io');
    await page.getByRole('combobox', { name: 'Namespace' }).fill('shop');
    await press(page, 'Ask the cluster');
    await press(page, 'Ask for it');
    await dialog().getByText('admin in shop').waitFor();
    await dialog().getByLabel('Break glass: use the role now, without an approval').check();
    await dialog().getByText('At most 1 hour.').waitFor();
    const use = dialog().getByRole('button', { name: 'Break glass', exact: true });
    expect(await use.getAttribute('aria-disabled')).to.equal('true');
    await field('Reason').fill('nobody of the night shift answers');
    await field('Type admin to confirm').fill('admin');
    expect(await barriers(page)).to.deep.equal([]);
    await use.click();
    await dialog().waitFor({ state: 'detached' });
    await told('You have the role admin now: shop.').waitFor();
    const [request] = await eventually(
      async () => (await stored()).filter(({ spec }) => spec.breakGlass === true),
      ([one]) => one?.status?.phase === 'Active',
    );
    expect(request?.spec).to.deep.include({ roleRef: 'admin', namespaces: ['shop'], durationSeconds: 3600 });
  });
});
