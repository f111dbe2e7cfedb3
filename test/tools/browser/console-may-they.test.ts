/** "May they?": the access of other users, of groups and of ServiceAccounts, as far as the caller may query it. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { Visitor } from './chromium.ts';
import { loggedIn, press } from './demo.ts';
import { create, inspect, untilAllowed } from './kind-pages.ts';

interface Question {
  who: string;
  subject: string;
  namespace: string;
  verb?: string;
}

const labels: Readonly<Record<string, string>> = { 'Another user': 'User', 'A group': 'Group', 'A ServiceAccount': 'ServiceAccount' };

async function ask(page: Page, { who, subject, namespace, verb = 'list' }: Question): Promise<void> {
  await page.getByLabel('For whom').selectOption(who);
  await page.getByLabel(labels[who] ?? '', { exact: true }).fill(subject);
  await page.getByLabel('Do what').selectOption(verb);
  await page.getByRole('combobox', { name: 'Namespace' }).fill(namespace);
  await page.getByRole('combobox', { name: 'Namespace' }).press('Escape');
  await press(page, 'Ask the cluster');
}

describe('the access of others on the console', () => {
  const { demo, browser, page } = loggedIn('admin', '/access');
  const rbac = 'apis/rbac.authorization.k8s.io/v1/namespaces/monitoring';
  const answer = () => page.getByRole('status').filter({ hasText: 'Question:' });
  const person = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name });

  before(async () => {
    for (const [name, role, subject] of [
      ['watchers', 'view', { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'local:oncall' }],
      ['robots', 'view', { kind: 'ServiceAccount', name: 'robot', namespace: 'monitoring' }],
      ['owner', 'admin', person('nobody@example.com')],
    ] as const)
      await create(demo, `${rbac}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [subject],
      });
  });

  it('repeats the question for a user, and gives reason, binding and the relevant groups', async () => {
    await ask(page, { who: 'Another user', subject: 'jane@example.com', namespace: 'monitoring' });
    await answer().getByText('Yes, jane@example.com may.').waitFor();
    await answer().getByText('list pods -n monitoring').waitFor();
    await answer()
      .getByText(/RBAC: allowed by RoleBinding "watchers\/monitoring" of ClusterRole "view" to Group "local:oncall"/)
      .waitFor();
    await answer()
      .getByText(/Groups in this review: .*local:oncall.*system:authenticated/)
      .waitFor();
    await inspect(page, 'may-they');
    await answer().getByRole('link', { name: 'Open the binding' }).click();
    await page.getByRole('heading', { level: 1, name: 'watchers' }).waitFor();
  });

  it('answers for a group, for a ServiceAccount, and for a user whose groups are unknown', async () => {
    await page.goto(`${demo.url}/access`);
    await ask(page, { who: 'A group', subject: 'local:oncall', namespace: 'monitoring' });
    await answer().getByText('Yes, local:oncall may.').waitFor();
    await ask(page, { who: 'A ServiceAccount', subject: 'monitoring/robot', namespace: 'monitoring', verb: 'delete' });
    await answer().getByText('No, monitoring/robot may not.').waitFor();
    await answer()
      .getByText(/Groups in this review: .*system:serviceaccounts:monitoring/)
      .waitFor();
    expect(await answer().getByRole('link').count()).to.equal(0);
  });

  describe('of an administrator of one namespace', () => {
    const visitor = forSuite(async () => new Visitor(await browser.newContext()), needsNoStop);
    const tab = forSuite(() => visitor.openTab(), needsNoStop);
    before(async () => {
      await untilAllowed(demo, 'nobody', { verb: 'list', resource: 'pods', namespace: 'monitoring' });
      await demo.logIn(tab, 'nobody', '/access');
    });

    it('may be queried in that namespace alone; elsewhere the page gives the reason', async () => {
      await tab.getByLabel('For whom').selectOption('Another user');
      await tab.getByText('You may not ask for others here.').waitFor();
      expect(await tab.getByRole('button', { name: 'Ask the cluster' }).isDisabled()).to.equal(true);
      await press(tab, 'Why');
      await tab.getByRole('dialog').getByText('create subjectaccessreviews.authorization.k8s.io').waitFor();
      await press(tab, 'Close');
      // A field behind an open dialog takes no focus.
      await tab.getByRole('dialog').waitFor({ state: 'hidden' });
      await tab.getByRole('combobox', { name: 'Namespace' }).fill('monitoring');
      await tab.getByText('You may not ask for others here.').waitFor({ state: 'detached' });
      await ask(tab, { who: 'Another user', subject: 'priya@example.com', namespace: 'monitoring' });
      await tab.getByText('No, priya@example.com may not.').waitFor();
      await tab.getByText('You may not see the groups of this user').waitFor();
      expect(visitor.takeComplaints().filter((text) => !text.includes('/auth/v1/usersroles'))).to.deep.equal([]);
    });
  });
});
