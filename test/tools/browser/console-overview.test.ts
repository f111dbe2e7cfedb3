/** The overview of the console: figures that match the cluster, each with its list. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';
import { create, untilAllowed } from './kind-pages.ts';
import { misplaced } from './layout.ts';

const nodes = '**/api/kubernetes/api/v1/nodes?*';

describe('the overview', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const figure = (label: string) => page.locator('.figure', { hasText: label });
  const shownIn = (label: string) => figure(label).locator('strong').textContent();
  const open = () => page.goto(`${demo.url}/`);

  it('N26 counts nodes, namespaces and locked users like the cluster, each with its list', async () => {
    await figure('Nodes ready').getByText('3 of 3').waitFor();
    const listed = async (path: string) => {
      const headers = { authorization: `Bearer ${demo.person('admin').token}` };
      return ((await (await fetch(`${demo.url}${path}`, { headers })).json()) as { items: unknown[] }).items.length;
    };
    await figure('Namespaces')
      .getByText(String(await listed('/api/kubernetes/api/v1/namespaces')), { exact: true })
      .waitFor();
    await figure('Locked users').getByText('0', { exact: true }).waitFor();
    await figure('Kubernetes')
      .getByText(/^v1\.\d+/)
      .waitFor();

    await figure('Nodes ready').click();
    await page.getByRole('link', { name: 'node-' }).nth(2).waitFor();
  });

  it('N26 counts the warnings that its list shows', async () => {
    await open();
    // Pods of the demo fail one after the other.
    await eventually(
      async () => Number(await shownIn('Warning events')),
      (count) => count > 0,
    );
    await figure('Warning events').click();
    await page.getByRole('heading', { name: 'Recent events' }).waitFor();
    await page.getByRole('cell', { name: 'Warning' }).first().waitFor();
    expect(await page.getByRole('cell', { name: 'Normal', exact: true }).count()).to.equal(0);
    await page.getByLabel('Type').selectOption('Normal');
    await page.getByRole('cell', { name: 'Normal', exact: true }).first().waitFor();
    expect(await page.getByRole('cell', { name: 'Warning', exact: true }).count()).to.equal(0);
  });

  /** Reports whether a Deployment has all replicas of its second revision; undefined before that one is observed. */
  async function updated(namespace: string, name: string): Promise<boolean | undefined> {
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const answer = await fetch(`${demo.url}/api/kubernetes/apis/apps/v1/namespaces/${namespace}/deployments/${name}`, { headers });
    const { spec, status } = (await answer.json()) as { spec: { replicas: number }; status: Record<string, number> };
    if ((status.observedGeneration ?? 0) < 2) return undefined;
    return status.updatedReplicas === spec.replicas && status.availableReplicas === spec.replicas;
  }

  it('N26 lists the workloads that are not ready, and leads to them', async () => {
    // The rollouts of the demo take some seconds.
    await eventually(
      () => Promise.all([updated('shop', 'storefront'), updated('payments', 'checkout')]),
      ([storefront, checkout]) => storefront === true && checkout === false,
    );
    await open();
    const table = page.getByRole('table', { name: 'Workloads that are not ready' });
    await table
      .getByRole('row', { name: /checkout/ })
      .getByText('Not all replicas are updated')
      .waitFor();
    expect(await table.getByRole('link', { name: 'storefront' }).count()).to.equal(0);
    await table.getByRole('link', { name: 'checkout' }).click();
    await page.getByText('The rollout is stuck').waitFor();
  });

  it('N26 reads the workloads again every half a minute', async () => {
    const table = page.getByRole('table', { name: 'Workloads that are not ready' });
    await page.clock.install();
    await open();
    await table.getByRole('link', { name: 'checkout' }).waitFor();
    const labels = { app: 'late' };
    const container = { name: 'app', image: 'checkout:4.2.0-typo' };
    await create(demo, 'apis/apps/v1/namespaces/payments/deployments', {
      metadata: { name: 'late' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
    });

    await page.clock.fastForward(31_000);
    await table.getByRole('link', { name: 'late' }).waitFor();
  });

  it('N26 marks an unknown figure, and never shows zero for it', async () => {
    await page.route(nodes, (route) =>
      route.fulfill({ status: 503, json: { kind: 'Status', code: 503, message: 'the list is not ready' } }),
    );
    await open();
    await figure('Nodes ready').getByText('Not known').waitFor();
    await figure('Nodes ready').getByText('the list is not ready').waitFor();
    await page.unroute(nodes);
    await visitor.complainsOf('status of 503');
  });

  it('N26 marks a figure of a list that is longer than one answer', async () => {
    await page.route(nodes, async (route) => {
      const response = await route.fetch();
      const table = (await response.json()) as { metadata: object };
      await route.fulfill({ response, json: { ...table, metadata: { ...table.metadata, continue: 'next' } } });
    });
    await open();
    await figure('Nodes ready').getByText('3 of 3+').waitFor();
    await page.unroute(nodes);
  });

  it('N26 fills the page without barriers, from a phone on', async () => {
    await open();
    await page.getByRole('table', { name: 'Workloads that are not ready' }).waitFor();
    for (const width of [390, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
    }
    expect(await barriers(page)).to.deep.equal([]);
  });
});

describe('the overview of a user without rights', () => {
  const { page } = loggedIn('nobody', '/');

  it('N26 requests no list that the user may not read', async () => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.reload();
    await page.locator('.figure', { hasText: 'Kubernetes' }).getByText(/^v1/).waitFor();
    await page.getByText('No role is bound to you.').waitFor();

    expect(await page.locator('a.figure').count()).to.equal(0);
    expect(asked.filter((path) => /\/(?:nodes|events|deployments|users|userbindings)$/.test(path))).to.deep.equal([]);
  });
});

describe('the overview of a user whose lists are empty, refused or missing', () => {
  const { demo, page, visitor } = loggedIn('nobody', '/');
  const rbac = 'rbac.authorization.k8s.io';
  const card = () => page.getByRole('region', { name: 'Workloads that are not ready' });
  const discovery = '**/api/kubernetes/apis';

  /** Lets the user list workloads in a namespace that has none. */
  async function allow(...resources: string[]): Promise<void> {
    const [name = ''] = resources;
    await create(demo, `apis/${rbac}/v1/namespaces/quiet/roles`, {
      metadata: { name },
      rules: [{ apiGroups: ['apps'], resources, verbs: ['list'] }],
    });
    await create(demo, `apis/${rbac}/v1/namespaces/quiet/rolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ apiGroup: rbac, kind: 'User', name: demo.person('nobody').email }],
    });
    for (const resource of resources) await untilAllowed(demo, 'nobody', { verb: 'list', group: 'apps', resource, namespace: 'quiet' });
  }
  before(() => create(demo, 'api/v1/namespaces', { metadata: { name: 'quiet' } }));

  it('N26 says which workloads it may not list, and not that all are ready', async () => {
    await allow('deployments');
    await page.reload();
    await card().getByText('There are no workloads that you may list.').waitFor();

    expect(await card().innerText())
      .to.contain('You may not list statefulsets.apps')
      .and.not.contain('ready.');
  });

  it('N26 says that there are no workloads where the user may list all', async () => {
    await allow('statefulsets', 'daemonsets');
    await page.reload();
    await card().getByText('There are no workloads.').waitFor();
  });

  it('N26 says that the cluster does not serve the workloads', async () => {
    await page.route(discovery, async (route) => {
      const response = await route.fetch();
      const groups = (await response.json()) as { items: { metadata: { name: string } }[] };
      await route.fulfill({ response, json: { ...groups, items: groups.items.filter(({ metadata }) => metadata.name !== 'apps') } });
    });
    await page.reload();
    await card().getByText('The cluster does not serve daemonsets.').waitFor();
    await page.unroute(discovery);

    expect(await card().innerText()).not.to.match(/no workloads|ready\./);
  });

  it('N26 says that the kinds of the cluster could not be read', async () => {
    await page.route(discovery, (route) =>
      route.fulfill({ status: 503, json: { kind: 'Status', code: 503, message: 'the kinds are not known' } }),
    );
    await page.reload();
    await card().getByText('the kinds are not known').waitFor();
    await page.unroute(discovery);
    await visitor.complainsOf('status of 503');
  });
});
