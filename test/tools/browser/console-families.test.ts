/** Pages of the console for particular kinds. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn, press } from './demo.ts';
import { create, look, tooWide } from './kind-pages.ts';
import { countOf, hold } from './traffic.ts';

describe('the page of a node', () => {
  const { demo, visitor, page } = loggedIn('admin', '/');
  // A budget refuses an eviction while another pod starts. The page repeats it then.
  before(() => {
    visitor.accepted = /status of 429 .*\/eviction$/;
  });

  const dialog = () => page.getByRole('dialog');
  const evict = () => dialog().getByRole('button', { name: /^Cordon and evict/ });
  const evictionsOf = () => countOf(page, 'POST', /\/eviction$/);

  async function openDrain(): Promise<void> {
    await press(page, 'Drain');
    await dialog().getByRole('table').waitFor();
  }
  async function agreeToDrain(node: string): Promise<void> {
    await page.goto(`${demo.url}/r/core/v1/nodes/${node}`);
    await openDrain();
    await acceptLosses();
  }
  /** Accepts the loss of each pod, also of those that come or go meanwhile. */
  async function acceptLosses(): Promise<void> {
    const open = dialog().getByRole('checkbox', { checked: false }).first();
    await eventually(
      async () => {
        // A pod that goes takes its box along.
        if ((await open.count()) > 0) await open.check({ timeout: 5_000 }).catch(() => undefined);
        return evict().isEnabled();
      },
      (isAgreed) => isAgreed,
    );
  }

  it('shows capacity, requests and pods, cordons the node, and drains it until each pod is gone', async () => {
    // Pods of a StatefulSet start one after another: a later one would arrive while the dialog is open.
    await page.goto(`${demo.url}/r/apps/v1/statefulsets/ns/payments/orders-db`);
    await page.getByText('All 2 replicas are updated and available.').waitFor();
    await page.goto(`${demo.url}/r/core/v1/nodes/node-1`);
    const pods = page.getByRole('table', { name: 'Pods of this node' });
    await pods.locator('tbody a').first().waitFor();
    expect(await page.getByRole('row', { name: /^memory 8Gi/ }).innerText()).to.match(/Mi/);
    expect(await pods.getByRole('link', { name: 'shop' }).first().getAttribute('href')).to.match(/\/r\/core\/v1\/namespaces\/shop$/);
    await look(page, 'node');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);

    await openDrain();
    await look(page, 'drain');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
    expect(await dialog().locator('pre').innerText()).to.match(/^kubectl drain node-1 --ignore-daemonsets/);
    await acceptLosses();
    await evict().click();
    await page.getByText('Node node-1 is drained.').waitFor();
    await look(page, 'drained');
    await press(page, 'Close');

    await page.getByText('Cordoned: accepts no new pods').waitFor();
    await page.locator('.page-head').getByText('Ready, cordoned').waitFor();
    const kept = await page.evaluate<string>(
      `fetch('/api/kubernetes/api/v1/pods?fieldSelector=spec.nodeName=node-1').then((it) => it.json())
        .then(({ items }) => items.filter((it) => it.metadata.ownerReferences?.[0]?.kind !== 'DaemonSet').map((it) => it.metadata.name).join())`,
    );
    expect(kept).to.equal('');
    await press(page, 'Uncordon');
    await page.getByText('Accepts new pods', { exact: true }).waitFor();
  });

  it('asks again about a pod that arrives before the node is cordoned', async () => {
    await agreeToDrain('node-2');
    const late = { containers: [{ name: 'main', image: 'registry.example.com/tool:1.0.0' }], nodeName: 'node-2' };
    await page.route('**/api/v1/nodes/node-2', async (route) => {
      if (route.request().method() === 'PATCH')
        await create(demo, 'api/v1/namespaces/shop/pods', { metadata: { name: 'late' }, spec: late });
      await route.continue();
    });
    const evictions = evictionsOf();
    await evict().click();
    const asked = dialog().getByRole('checkbox', { name: /\blate\b/ });
    await asked.waitFor();
    expect(await asked.isChecked()).to.equal(false);
    expect(await evict().isDisabled()).to.equal(true);
    expect(await evictions()).to.equal(0);
    await page.unroute('**/api/v1/nodes/node-2');

    await asked.check();
    await evict().click();
    await page.getByText('Node node-2 is drained.').waitFor();
    await dialog()
      .getByRole('row', { name: /^late shop Gone$/ })
      .waitFor();
    await press(page, 'Close');
  });

  it('evicts no pod after a cancel during the cordon, and shows that the node is cordoned', async () => {
    await agreeToDrain('node-1');
    const cordon = await hold(page, 'PATCH', /\/api\/v1\/nodes\/node-1$/);
    const evictions = evictionsOf();
    await evict().click();
    await cordon.begun;
    await press(page, 'Cancel');
    await cordon.release();
    await page.getByText('Cordoned: accepts no new pods').waitFor();
    await press(page, 'Uncordon');
    await page.getByText('Accepts new pods', { exact: true }).waitFor();
    expect(await evictions()).to.equal(0);
  });

  it('evicts no pod where more pods are found after the cordon than the page lists', async () => {
    const pods = '**/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1*';
    // Without the watch, the page of the node knows of the cordon by a request alone.
    const watches = /\/api\/v1\/nodes\?.*watch/;
    await page.route(watches, () => undefined);
    await agreeToDrain('node-1');
    await page.route(pods, async (route) => {
      const response = await route.fetch();
      const table = await response.json();
      await route.fulfill({ response, json: { ...table, metadata: { ...table.metadata, continue: 'more' } } });
    });
    const evictions = evictionsOf();
    await evict().click();
    await dialog().getByText('The node has more pods than this page can follow. Use kubectl.').waitFor();
    expect(await evict().isDisabled()).to.equal(true);
    expect(await evictions()).to.equal(0);
    await page.getByText('Cordoned: accepts no new pods').waitFor();
    await page.unroute(pods);
    await page.unroute(watches);
  });
});

describe('the page of a role', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('shows the permissions of its rules', async () => {
    await page.goto(`${demo.url}/r/rbac.authorization.k8s.io/v1/clusterroles/view`);
    const rules = page.getByRole('region', { name: 'Rules' });
    await rules.getByText('get, list, watch').first().waitFor();
    await look(page, 'role');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
  });
});

describe('the pages of a ConfigMap and a Secret', () => {
  const { demo, page } = loggedIn('admin', '/');
  const entry = (name: string) => page.getByRole('article', { name, exact: true });
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  it('show text, format JSON and download binary data', async () => {
    await create(demo, 'api/v1/namespaces/shop/configmaps', {
      metadata: { name: 'settings' },
      data: { 'app.json': '{"retries":3,"owner":9007199254740993}', greeting: 'hello\nworld', nothing: '' },
      binaryData: { 'logo.bin': Buffer.from([0, 255, 254]).toString('base64') },
    });
    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/shop/settings`);
    await entry('greeting').getByText('hello').waitFor();
    await entry('app.json').getByRole('button', { name: 'Format JSON' }).click();
    expect(await entry('app.json').locator('pre').innerText()).to.equal('{\n  "retries": 3,\n  "owner": 9007199254740993\n}');
    expect(await entry('nothing').innerText()).to.contain('Empty value');
    expect(await entry('logo.bin').innerText()).to.match(/3B.*Binary data/s);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      entry('logo.bin').getByRole('button', { name: 'Download' }).click(),
    ]);
    expect([...(await readFile(await download.path()))]).to.deep.equal([0, 255, 254]);
    await look(page, 'configmap');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('hide the values of a Secret and reveal them key by key, for this Secret alone', async () => {
    for (const name of ['first', 'second'])
      await create(demo, 'api/v1/namespaces/shop/secrets', {
        metadata: { name },
        type: 'Opaque',
        data: { password: base64(`${name}-hidden`), user: base64(`${name}-reader`) },
      });
    await page.goto(`${demo.url}/r/core/v1/secrets/ns/shop/first`);
    await entry('password').waitFor();
    expect(await page.content()).not.to.match(/first-(hidden|reader)/);
    // Headless Chromium grants the clipboard by this permission alone.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await entry('password').getByRole('button', { name: 'Copy' }).click();
    await eventually(
      () => page.evaluate<string>('navigator.clipboard.readText()'),
      (text) => text === 'first-hidden',
    );
    expect(await page.content()).not.to.match(/first-(hidden|reader)/);
    await entry('password').getByRole('button', { name: 'Reveal' }).click();
    await entry('password').getByText('first-hidden').waitFor();
    expect(await page.content()).not.to.contain('first-reader');
    await look(page, 'secret');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
    await entry('password').getByRole('button', { name: 'Hide' }).click();
    await entry('password').getByText('••••').waitFor();
    await entry('password').getByRole('button', { name: 'Reveal' }).click();
    await page.evaluate(
      `history.pushState({}, '', '${new URL(demo.url).pathname.replace(/\/$/, '')}/r/core/v1/secrets/ns/shop/second'); dispatchEvent(new PopStateEvent('popstate'))`,
    );
    await page.getByRole('heading', { name: /second/ }).waitFor();
    await entry('password').waitFor();
    expect(await page.content()).not.to.match(/first-hidden|second-(hidden|reader)/);
  });
});

describe('the pages of Services, Ingresses and claims', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('show ports and pods of a Service, also those that start later', async () => {
    const labels = { app: 'listed' };
    const ports = [{ name: 'web', port: 80, targetPort: 8080 }];
    await create(demo, 'api/v1/namespaces/shop/services', { metadata: { name: 'listed' }, spec: { selector: labels, ports } });
    await page.goto(`${demo.url}/r/core/v1/services/ns/shop/listed`);
    await page.getByText('There are no Pods here.').waitFor();
    expect(await page.getByRole('table', { name: 'Ports' }).innerText()).to.match(/web\s+80\/TCP\s+8080/);
    await create(demo, 'api/v1/namespaces/shop/pods', {
      metadata: { name: 'listed-pod', labels },
      spec: { containers: [{ name: 'app', image: 'nginx' }] },
    });
    await page.getByRole('link', { name: 'listed-pod' }).waitFor();
    await look(page, 'service');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('link the targets of an Ingress', async () => {
    const backend = { service: { name: 'listed', port: { number: 80 } } };
    await create(demo, 'apis/networking.k8s.io/v1/namespaces/shop/ingresses', {
      metadata: { name: 'front' },
      spec: {
        rules: [{ host: 'shop.example', http: { paths: [{ path: '/cart', pathType: 'Prefix', backend }] } }],
        tls: [{ hosts: ['shop.example'], secretName: 'certificate' }],
      },
    });
    await page.goto(`${demo.url}/r/networking.k8s.io/v1/ingresses/ns/shop/front`);
    const row = page.getByRole('row', { name: /shop\.example/ });
    await row.waitFor();
    await look(page, 'ingress');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
    expect(await row.innerText()).to.match(/\/cart\s+Prefix\s+listed:80/);
    expect(await row.getByRole('link', { name: 'shop.example' }).getAttribute('href')).to.equal('https://shop.example/cart');
    // On a phone, the target and its port stand on the line of their title.
    await page.setViewportSize({ width: 390, height: 900 });
    expect((await row.locator('td').last().boundingBox())?.height).to.be.below(32);
    await page.setViewportSize({ width: 1280, height: 900 });
    await row.getByRole('link', { name: 'listed' }).click();
    await page.getByRole('heading', { name: 'listed' }).waitFor();
  });

  it('distinguish the request of a claim from its capacity', async () => {
    await create(demo, 'api/v1/namespaces/shop/persistentvolumeclaims', {
      metadata: { name: 'disk' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } } },
    });
    await page.goto(`${demo.url}/r/core/v1/persistentvolumeclaims/ns/shop/disk`);
    await page.locator('.page-head').getByText('Pending').waitFor();
    await page.getByText('5Gi').waitFor();
    await page.getByText('ReadWriteOnce').waitFor();
    await page.getByText('Unknown until the claim is bound').waitFor();
    await look(page, 'claim');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
  });
});

describe('the pages of bindings and ServiceAccounts', () => {
  const { demo, page } = loggedIn('admin', '/');
  const api = 'rbac.authorization.k8s.io';

  it('link the role and the subjects of a binding', async () => {
    await create(demo, `apis/${api}/v1/namespaces/shop/rolebindings`, {
      metadata: { name: 'readers' },
      roleRef: { apiGroup: api, kind: 'ClusterRole', name: 'view' },
      subjects: [
        { apiGroup: api, kind: 'User', name: 'reader@example.com' },
        { apiGroup: api, kind: 'Group', name: 'local:readers' },
        { apiGroup: api, kind: 'Group', name: 'system:authenticated' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'shop' },
      ],
    });
    await page.goto(`${demo.url}/r/${api}/v1/rolebindings/ns/shop/readers`);
    const links = page.getByRole('table', { name: 'Subjects' }).getByRole('link');
    await links.first().waitFor();
    const targets = await Promise.all((await links.all()).map((link) => link.getAttribute('href')));
    expect(targets.join(' ')).to.match(/\/users\?q=reader%40example\.com \S*\/groups\/readers \S*\/serviceaccounts\/ns\/shop\/robot$/);
    await look(page, 'binding');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'view', exact: true }).click();
    await page.getByRole('region', { name: 'Rules' }).waitFor();
  });

  it('list the pods of a ServiceAccount', async () => {
    await create(demo, 'api/v1/namespaces/shop/serviceaccounts', { metadata: { name: 'robot' }, automountServiceAccountToken: false });
    const containers = [{ name: 'app', image: 'nginx' }];
    for (const [name, serviceAccountName] of Object.entries({ working: 'robot', other: 'default' }))
      await create(demo, 'api/v1/namespaces/shop/pods', { metadata: { name }, spec: { serviceAccountName, containers } });
    await page.goto(`${demo.url}/r/core/v1/serviceaccounts/ns/shop/robot`);
    const pods = page.getByRole('table', { name: 'Pods of this account' });
    await pods.getByRole('link', { name: 'working' }).waitFor();
    expect(await pods.getByRole('link', { name: 'other' }).count()).to.equal(0);
    await look(page, 'account');
    expect(await tooWide(page)).to.deep.equal([]);
    expect(await barriers(page)).to.deep.equal([]);
  });
});
