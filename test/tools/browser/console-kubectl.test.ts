/** Pages of the console beside the answers of kubectl: containers, pods of a workload, rollbacks and schedules. */
import { expect } from 'chai';
import { loggedIn, press } from './demo.ts';
import { create, merge, part } from './kind-pages.ts';

const apps = 'apis/apps/v1/namespaces/default';
const jobs = 'apis/batch/v1/namespaces/default';

/** Returns a Deployment whose selector is part of its labels. */
const deployment = (name: string, selector: Record<string, string>, more: Record<string, string> = {}) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'default' } },
  spec: {
    ...{ replicas: 1, selector: { matchLabels: selector } },
    template: {
      metadata: { labels: { ...selector, ...more } },
      spec: { containers: [{ name, image: 'registry.example.com/web' }] },
    },
  },
});

const cronJob = (name: string, schedule: string) => ({
  ...{ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name, namespace: 'default' } },
  spec: {
    ...{ schedule, timeZone: 'Etc/UTC', suspend: false },
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'registry.example.com/c' }] } } } },
  },
});

describe('pages of the console beside kubectl', () => {
  const { demo, page } = loggedIn('admin', '/');
  const open = (path: string) => page.goto(`${demo.url}${path}`);
  const pods = () => page.getByRole('table', { name: 'Pods' });

  it('cases/54 open logs, terminal and debug container for the default container of a pod', async () => {
    await create(demo, 'api/v1/namespaces/default/pods', {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { name: 'mesh', namespace: 'default', annotations: { 'kubectl.kubernetes.io/default-container': 'app' } },
      spec: { containers: ['istio-proxy', 'app'].map((name) => ({ name, image: `registry.example.com/${name}` })) },
    });
    await open('/r/core/v1/pods/ns/default/mesh');
    await page.getByRole('article', { name: 'app' }).getByText('Running').waitFor();
    for (const tab of ['Logs', 'Terminal']) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      const choice = page.getByRole('combobox', { name: 'Container' });
      await choice.waitFor();
      expect(await choice.inputValue(), tab).to.equal('app');
    }
    await press(page, 'Debug');
    expect(await page.getByLabel('Processes of').inputValue()).to.equal('app');
    await press(page, 'Cancel');
    // A name that does not exist leads to the first container.
    await merge(demo, 'api/v1/namespaces/default/pods/mesh', {
      metadata: { annotations: { 'kubectl.kubernetes.io/default-container': 'gone' } },
    });
    await open('/r/core/v1/pods/ns/default/mesh/logs');
    expect(await page.getByRole('combobox', { name: 'Container' }).inputValue()).to.equal('istio-proxy');
  });

  it('cases/56 show the pods that a workload controls, and none of another one with its labels', async () => {
    await create(demo, `${apps}/deployments`, deployment('web', { app: 'web' }));
    await create(demo, `${apps}/deployments`, deployment('web-canary', { app: 'web', track: 'canary' }));
    await create(demo, 'api/v1/namespaces/default/services', {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' } },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    // The selector of a Service finds the pods of both.
    await open('/r/core/v1/services/ns/default/web');
    await pods()
      .getByRole('link', { name: /^web-canary-/ })
      .waitFor();
    await pods()
      .getByRole('link', { name: /^web-(?!canary)/ })
      .waitFor();

    await open('/r/apps/v1/deployments/ns/default/web');
    await pods().getByRole('link', { name: /^web-/ }).first().waitFor();
    expect(await pods().getByRole('link', { name: /^web-/ }).allInnerTexts()).to.match(/^web-(?!canary)[^,]+$/);
    await open('/r/apps/v1/deployments/ns/default/web-canary');
    await pods()
      .getByRole('link', { name: /^web-canary-/ })
      .waitFor();

    await open('/r/apps/v1/deployments/ns/default/web/logs');
    const choice = page.getByRole('combobox', { name: 'Pod', exact: true });
    await choice.waitFor();
    expect((await choice.locator('option').allInnerTexts()).join()).to.match(/^The one pod,web-(?!canary)[^,]+$/);
  });

  it('cases/57 roll back to the change-cause of the revision, and not while the rollout is paused', async () => {
    const cause = (text: string) => ({ metadata: { annotations: { 'kubernetes.io/change-cause': text } } });
    const path = `${apps}/deployments/rb`;
    const { metadata, ...rest } = deployment('rb', { app: 'rb' });
    await create(demo, `${apps}/deployments`, { ...rest, metadata: { ...metadata, ...cause('first release').metadata } });
    await open('/r/apps/v1/deployments/ns/default/rb');
    await page.getByText('All 1 replicas are updated and available.').waitFor();
    const template = { spec: { containers: [{ name: 'rb', image: 'registry.example.com/rb:2' }] } };
    await merge(demo, path, { ...cause('second release'), spec: { paused: true, template } });
    await merge(demo, path, { spec: { paused: false } });
    const history = part(page, 'History');
    await history.getByRole('row', { name: /^2 \(current\).* second release / }).waitFor();
    await merge(demo, path, { spec: { paused: true } });
    await press(page, 'Roll back');
    const submit = page.getByRole('button', { name: 'Roll rb back to revision 1' });
    await page.getByText('The rollout is paused. Resume it before you roll it back.').waitFor();
    expect(await submit.isDisabled()).to.equal(true);
    await merge(demo, path, { spec: { paused: false } });
    await page.getByText('The rollout is paused. Resume it before you roll it back.').waitFor({ state: 'detached' });
    await page.locator('.cm-changedLine', { hasText: 'first release' }).waitFor();
    await submit.click();
    await history.getByRole('row', { name: /^3 \(current\).* first release / }).waitFor();
  });

  it('cases/53 name the next run of a schedule with steps in its days', async () => {
    await create(demo, `${jobs}/cronjobs`, cronJob('odd-wed', '0 0 */2 * 3'));
    await create(demo, `${jobs}/cronjobs`, cronJob('mon-third', '30 6 1 * */3'));
    await page.clock.setFixedTime('2026-11-28T18:00:00Z');
    await open('/r/batch/v1/cronjobs/ns/default/odd-wed');
    await page.getByText('Nov 29, 2026, 12:00 AM').waitFor();
    await open('/r/batch/v1/cronjobs/ns/default/mon-third');
    await page.getByText('Nov 29, 2026, 6:30 AM').waitFor();
    await page.getByText('At 06:30, on day 1 of the month or on Sunday, Wednesday, and Saturday').waitFor();
  });
});
