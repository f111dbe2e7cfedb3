/** Actions of workloads in the console, on the workloads of the demo. */
import { expect } from 'chai';
import type { ClusterObject } from '../../../web/src/api/object-types.ts';
import { barriers } from './axe.ts';
import { tableOf } from './cluster-answers.ts';
import { loggedIn, press } from './demo.ts';
import { inspect, merge } from './kind-pages.ts';
import { countOf, hold } from './traffic.ts';

const storefront = '/r/apps/v1/deployments/ns/shop/storefront';
const deployment = 'apis/apps/v1/namespaces/shop/deployments/storefront';
const cronJob = 'apis/batch/v1/namespaces/shop/cronjobs/nightly-report';

describe('the action bar of a workload in the console', () => {
  const { demo, page } = loggedIn('admin', storefront);
  const choose = async (action: string) => {
    await press(page, 'More actions');
    await page.getByRole('menuitem', { name: action, exact: true }).click();
  };
  const spec = async () =>
    (await page.evaluate(`fetch('/api/kubernetes/apis/apps/v1/namespaces/shop/deployments/storefront').then((r) => r.json())`)) as {
      spec: { paused?: boolean; template: { metadata: { annotations?: Record<string, string> } } };
    };

  /** Returns the class of the first toast with a text. The page may replace it before the test could read it. */
  const firstToast = (text: string) =>
    page.evaluate<string>(`new Promise((resolve) => {
      const look = () => {
        const toast = [...document.querySelectorAll('.toast')].find((one) => one.textContent.includes('${text}'));
        if (toast) resolve(toast.className);
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    })`);

  it('pauses and resumes a rollout, and names the command of kubectl', async () => {
    await choose('Pause the rollout');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('As kubectl').click();
    expect(await dialog.locator('pre').textContent()).to.equal('kubectl rollout pause deployments.apps/storefront -n shop');
    expect(await barriers(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Pause the rollout' }).click();
    await page.getByText('The rollout of storefront is paused.').waitFor();
    expect((await spec()).spec.paused).to.equal(true);

    await choose('Resume the rollout');
    await dialog.getByRole('button', { name: 'Resume the rollout' }).click();
    await page.getByText('The rollout of storefront resumes.').waitFor();
    expect((await spec()).spec.paused ?? false).to.equal(false);
  });

  it('sends no change after a cancel during the dry run', async () => {
    const dryRun = await hold(page, 'PATCH', /\/storefront\?dryRun=All$/);
    const writes = countOf(page, 'PATCH', /\/storefront$/);
    await press(page, 'Restart');
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await dryRun.begun;
    await press(page, 'Cancel');
    const answered = page.waitForResponse(/\/storefront\?dryRun=All$/);
    await dryRun.release();
    await answered;
    expect(await writes()).to.equal(0);
  });

  it('shows no tick for a restart before the pods are new', async () => {
    await press(page, 'Restart');
    const first = firstToast('Deployment storefront restarts its pods.');
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    expect(await first).to.equal('toast info');
    const { annotations = {} } = (await spec()).spec.template.metadata;
    expect(annotations).to.have.property('kubectl.kubernetes.io/restartedAt');
    await page.getByText('All 3 replicas are updated and available.').waitFor();
  });

  it('tells the end of a rollout on another page, and keeps the message', async () => {
    await page.goto(demo.url + storefront);
    await press(page, 'Scale');
    await page.getByLabel('Replicas').fill('2');
    await press(page, 'Scale to 2');
    await page.getByRole('link', { name: 'Nodes', exact: true }).click();
    const text = 'Deployment storefront is rolled out: all 2 replicas are available.';
    const told = page.locator('.toasts').getByText(text);
    await told.waitFor();
    const dismiss = page.getByRole('button', { name: 'Dismiss' });
    for (let left = await dismiss.count(); left > 0; left = await dismiss.count()) await dismiss.first().press('Enter');
    await told.waitFor({ state: 'detached' });
    await press(page, 'Messages');
    await page.getByRole('dialog', { name: 'Messages' }).getByText(text).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  });

  it('tells that a rollout is stuck, with the words of the controller', async () => {
    await page.goto(demo.url + storefront);
    const condition = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'it has timed out' };
    await page.route(/\/deployments\?watch=true.*storefront/, async (route) => {
      const object = await (await route.fetch({ url: `${demo.url}/api/kubernetes/${deployment}` })).json();
      object.status.conditions = [condition];
      await route.fulfill({ contentType: 'application/json', body: `${JSON.stringify({ type: 'MODIFIED', object })}\n` });
    });
    await press(page, 'Scale');
    await page.getByLabel('Replicas').fill('3');
    await press(page, 'Scale to 3');
    await page.locator('.toast.bad').getByText('The rollout of Deployment storefront is stuck: it has timed out').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

describe('selected workloads in the console', () => {
  const { page, visitor } = loggedIn('admin', '/r/apps/v1/deployments/ns/shop');
  const names = ['storefront', 'cart'];
  const select = async () => {
    for (const name of names) await page.getByRole('row', { name }).getByRole('checkbox').check();
  };
  const dialog = () => page.getByRole('dialog');
  const read = (name: string) =>
    page.evaluate<ClusterObject>(
      `fetch('/api/kubernetes/apis/apps/v1/namespaces/shop/deployments/${name}').then((answer) => answer.json())`,
    );

  it('are scaled together, and each end is told', async () => {
    await select();
    await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Scale' }).click();
    await page.getByLabel('Replicas').fill('2');
    await dialog().getByText('As kubectl').click();
    expect(await dialog().locator('pre').textContent()).to.equal('kubectl scale deployments.apps storefront cart -n shop --replicas=2');
    expect(await barriers(page)).to.deep.equal([]);
    await press(page, 'Scale to 2');
    await dialog().waitFor({ state: 'detached' });
    for (const name of names) expect((await read(name)).spec).to.include({ replicas: 2 });
    await page.locator('.toasts').getByText('Deployment storefront is rolled out').waitFor();
  });

  it('are restarted together', async () => {
    await select();
    await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Restart' }).click();
    await press(page, 'Restart 2 Deployments');
    await dialog().waitFor({ state: 'detached' });
    for (const name of names) expect(JSON.stringify((await read(name)).spec)).to.include('kubectl.kubernetes.io/restartedAt');
  });

  it('are labelled together, and lose a label', async () => {
    const label = async (changes: string) => {
      await select();
      await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Label' }).click();
      await page.getByLabel('Changes of labels').fill(changes);
      await dialog().getByRole('button', { name: 'Label' }).click();
    };
    await label('team=basket example.com/tier=front');
    await dialog().waitFor({ state: 'detached' });
    for (const name of names) expect((await read(name)).metadata.labels).to.include({ team: 'basket', 'example.com/tier': 'front' });
    await label('team-');
    await dialog().waitFor({ state: 'detached' });
    for (const name of names) expect((await read(name)).metadata.labels).to.not.have.property('team');
    await label('team=not/valid');
    await dialog().getByText('2 could not be changed.').waitFor();
    await visitor.complainsOf('status of 422');
    expect(await dialog().getByRole('listitem').first().textContent()).to.contain('metadata.labels');
    await press(page, 'Done');
    for (const name of names) expect((await read(name)).metadata.labels).to.not.have.property('team');
  });

  it('are not changed if another object has the name by then', async () => {
    await page.route(/\/deployments\/cart$/, async (route) => {
      if (route.request().method() !== 'PATCH') return route.continue();
      const body = JSON.parse(route.request().postData() ?? '{}');
      expect(body.metadata.uid).to.equal((await read('cart')).metadata.uid);
      return route.continue({ postData: JSON.stringify({ ...body, metadata: { ...body.metadata, uid: crypto.randomUUID() } }) });
    });
    await page.getByRole('row', { name: 'cart' }).getByRole('checkbox').check();
    await page.getByRole('region', { name: 'One selected' }).getByRole('button', { name: 'Label' }).click();
    await page.getByLabel('Changes of labels').fill('team=other');
    await dialog().getByRole('button', { name: 'Label' }).click();
    await dialog().getByText('1 could not be changed.').waitFor();
    await visitor.complainsOf('status of 422');
    await press(page, 'Done');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    expect((await read('cart')).metadata.labels).to.not.have.property('team');
  });
});

describe('the page of a Job or CronJob in the console', () => {
  const { demo, page } = loggedIn('admin', '/r/batch/v1/cronjobs/ns/shop/nightly-report');
  const choose = async (action: string) => {
    if (action !== 'Run now') await press(page, 'More actions');
    await page.getByRole(action === 'Run now' ? 'button' : 'menuitem', { name: action, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: action }).click();
    await dialog.waitFor({ state: 'detached' });
  };

  it('starts a Job of a CronJob by hand, suspends it and resumes it', async () => {
    await page.getByText('Europe/Berlin').waitFor();
    await choose('Run now');
    const jobs = page.getByRole('table', { name: 'Jobs' });
    await jobs.getByRole('link', { name: /^nightly-report-/ }).waitFor();
    await jobs.getByText('Complete').waitFor();
    await choose('Suspend');
    await page.getByText('suspended', { exact: true }).waitFor();
    await choose('Resume');
    await page.getByText('suspended', { exact: true }).waitFor({ state: 'detached' });
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('says in words when a CronJob runs', async () => {
    await page.getByText('At 02:30, every day 30 2 * * *').waitFor();
    const words = [
      ['*/5 * * * *', 'Every 5 minutes'],
      ['0 */6 * * *', 'Every 6 hours'],
      ['15 * * * *', 'At minute 15 of each hour'],
      ['0 9,17 * * mon-fri', 'At 09:00 and 17:00, on Monday to Friday'],
      ['0 4 1 1,7 *', 'At 04:00, on day 1 of the month, in January and July'],
      ['0 0 13 * 5', 'At 00:00, on day 13 of the month or on Friday'],
    ] as const;
    for (const [schedule, text] of words) {
      await merge(demo, cronJob, { spec: { schedule } });
      await page.getByText(`${text} ${schedule}`, { exact: true }).waitFor();
    }
    // The clock of the controller is not in the API.
    await merge(demo, cronJob, { spec: { timeZone: null } });
    await page.getByText(/^[A-Z][a-z]{2} \d+, \d{4}, .*, if kube-controller-manager runs in UTC$/).waitFor();
    await merge(demo, cronJob, { spec: { schedule: '1,2,3 1,2,3 * * *' } });
    await page.getByText('1,2,3 1,2,3 * * *', { exact: true }).waitFor();
  });

  it('shows deadlines and limits of a CronJob, and the container of its template', async () => {
    await merge(demo, cronJob, { spec: { startingDeadlineSeconds: 120, successfulJobsHistoryLimit: 5, failedJobsHistoryLimit: 2 } });
    await page.locator('dt', { hasText: 'Starting deadline' }).locator('+ dd').getByText('2m', { exact: true }).waitFor();
    const text = await page.getByRole('main').innerText();
    expect(text).to.match(/Starting deadline\s+2m\s+Successful Jobs kept\s+5\s+Failed Jobs kept\s+2\s/);
    await inspect(page, 'cron-job');
    expect(await page.getByRole('article', { name: 'run' }).innerText()).to.match(/^run\s+Image\s+registry\.example\.com\//);
  });

  it('finds the Jobs of a CronJob behind those of others, and reports a list that is too long to read', async () => {
    const { uid = '' } = ((await page.evaluate(`fetch('/api/kubernetes/${cronJob}').then((r) => r.json())`)) as ClusterObject).metadata;
    const metadata = (name: string, day: number) => ({
      ...{ name, namespace: 'shop', uid: `u-${name}`, resourceVersion: '7', creationTimestamp: `2026-11-0${day}T10:00:00Z` },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly-report', uid }],
    });
    const part = (next: string, ...rows: ReturnType<typeof metadata>[]) => {
      const table = JSON.parse(
        tableOf(
          ['Name'],
          rows.map((one) => ({ cells: [one.name], metadata: one })),
        ),
      ) as { metadata: object };
      return { ...table, metadata: { ...table.metadata, continue: next } };
    };
    let parts = new Map<string, object>();
    await page.route(/\/namespaces\/shop\/jobs\?/, (route) => {
      const query = new URL(route.request().url()).searchParams;
      if (query.has('watch')) return route.fulfill({ body: '' });
      if (query.has('fieldSelector')) {
        const matchLabels = { job: query.get('fieldSelector')?.split('=')[1] };
        return route.fulfill({
          json: { metadata: { resourceVersion: '7' }, items: [{ metadata: metadata('last', 2), spec: { selector: { matchLabels } } }] },
        });
      }
      return route.fulfill({ json: parts.get(query.get('continue') ?? '') ?? part('more') });
    });
    parts = new Map([
      ['', part('next', metadata('first', 1))],
      ['next', part('', metadata('last', 2))],
    ]);
    const jobs = page.getByRole('table', { name: 'Jobs' });
    await page.goto(`${demo.url}/r/batch/v1/cronjobs/ns/shop/nightly-report`);
    await jobs.getByRole('link', { name: 'last' }).waitFor();
    const asked = page.waitForRequest(/\/pods\?.*labelSelector=job%3D/);
    await page.goto(`${demo.url}/r/batch/v1/cronjobs/ns/shop/nightly-report/logs`);
    expect(new URL((await asked).url()).searchParams.get('labelSelector')).to.equal('job=last');

    parts = new Map();
    // The page has two lists of Jobs: the chain and the table.
    for (const [tab, lists] of [
      ['', 2],
      ['/logs', 1],
    ] as const) {
      await page.goto(`${demo.url}/r/batch/v1/cronjobs/ns/shop/nightly-report${tab}`);
      await page
        .getByText(/^Not all Jobs were read/)
        .nth(lists - 1)
        .waitFor();
      expect(await page.getByText('There are no Jobs here.').or(page.getByText('The CronJob has no Job yet.')).count()).to.equal(0);
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('shows the reason of a failed Job, and its pods', async () => {
    await page.goto(`${demo.url}/r/batch/v1/jobs/ns/payments/migrate-orders`);
    await page.getByRole('alert').getByText('BackoffLimitExceeded').waitFor();
    await page.locator('.page-head').getByText('Failed', { exact: true }).waitFor();
    expect(await page.getByRole('main').innerText()).to.match(/Parallelism\s+1\s+Backoff limit\s+\d/);
    const pods = page.getByRole('table', { name: 'Pods' });
    await pods
      .getByRole('link', { name: /^migrate-orders-/ })
      .nth(1)
      .waitFor();
  });
});
