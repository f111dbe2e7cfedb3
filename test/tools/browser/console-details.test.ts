/** Parts of the pages of pods, workloads and Secrets: volumes, tolerations, bounds, history and certificates. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { loggedIn, press } from './demo.ts';
import { create, inspect, merge, part, untilAllowed } from './kind-pages.ts';
import { countOf, hold } from './traffic.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the page of a pod', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('shows volumes with links, tolerations in words, and marks sidecars', async () => {
    await create(demo, 'api/v1/namespaces/shop/pods', {
      metadata: { name: 'holding' },
      spec: {
        initContainers: [
          { name: 'fetch', image: 'rules:1' },
          { name: 'proxy', image: 'log-forwarder:3.1.0', restartPolicy: 'Always' },
        ],
        containers: [{ name: 'app', image: 'storefront:1', volumeMounts: [{ name: 'rules', mountPath: '/etc/rules' }] }],
        tolerations: [
          { key: 'dedicated', operator: 'Equal', value: 'shop', effect: 'NoSchedule' },
          { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 },
        ],
        volumes: [
          { name: 'rules', configMap: { name: 'storefront' } },
          { name: 'key', secret: { secretName: 'storefront-tls' } },
          { name: 'disk', persistentVolumeClaim: { claimName: 'pages' } },
          { name: 'all', projected: { sources: [{ configMap: { name: 'storefront' } }, { serviceAccountToken: { path: 'token' } }] } },
          { name: 'cache', emptyDir: { sizeLimit: '64Mi' } },
        ],
      },
    });
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop/holding`);
    const volumes = part(page, 'Volumes');
    await volumes.getByRole('row', { name: 'rules ConfigMap ConfigMap storefront app /etc/rules' }).waitFor();
    await volumes.getByRole('row', { name: /^all Several sources ConfigMap storefront/ }).waitFor();
    await volumes.getByRole('row', { name: /^cache Empty at the start 64Mi/ }).waitFor();
    expect(await volumes.getByRole('link', { name: 'storefront-tls' }).getAttribute('href')).to.match(/secrets\/ns\/shop\/storefront-tls$/);
    expect(await volumes.getByRole('link', { name: 'pages' }).getAttribute('href')).to.match(/persistentvolumeclaims\/ns\/shop\/pages$/);
    const tolerations = part(page, 'Tolerations');
    await tolerations.getByText('The pod may start on nodes with the taint dedicated=shop:NoSchedule.').waitFor();
    await tolerations.getByText('stays for 30 seconds on nodes with the taint node.kubernetes.io/not-ready:NoExecute.').waitFor();
    const sort = (name: string) => page.getByRole('article', { name, exact: true }).locator('.chip').innerText();
    expect([await sort('fetch'), await sort('proxy')]).to.deep.equal(['Init', 'Sidecar']);
    await inspect(page, 'pod-volumes');
  });
});

describe('the page of a workload', () => {
  const { demo, page } = loggedIn('admin', '/');
  const bounds = () => part(page, 'Scaling and disruption');

  it('shows its autoscaler and its budget, as they change', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/monitoring/metrics-api`);
    await bounds()
      .getByText(/replicas? now, 1 to 4 allowed; cpu .*60 %/)
      .waitFor();
    await bounds()
      .getByText(/^One pod may be evicted now\. (\d) of \1 pods are healthy/)
      .waitFor();
    expect(await bounds().getByRole('link', { name: 'metrics-api' }).count()).to.equal(2);
    await inspect(page, 'workload-bounds');
    await merge(demo, 'apis/policy/v1/namespaces/monitoring/poddisruptionbudgets/metrics-api', { spec: { maxUnavailable: 0 } });
    await bounds()
      .getByText(/^No pod may be evicted now\. \d of (\d) pods are healthy, and \1 must be\.$/)
      .waitFor();
    await page.goto(`${demo.url}/r/apps/v1/daemonsets/ns/monitoring/node-exporter`);
    await bounds().getByText('No budget limits evictions of its pods.').waitFor();
    expect(await bounds().innerText()).not.to.contain('HorizontalPodAutoscaler');
  });

  it('says in the form of its replicas that an autoscaler changes them again', async () => {
    const scaleForm = async (namespace: string, name: string) => {
      await page.goto(`${demo.url}/r/apps/v1/deployments/ns/${namespace}/${name}`);
      await press(page, 'Scale');
      await page.getByLabel('Replicas').waitFor();
      return page.getByRole('dialog');
    };
    const scaled = await scaleForm('monitoring', 'metrics-api');
    await scaled
      .getByText(/^HorizontalPodAutoscaler metrics-api sets this number: .* 1 to 4 allowed; .* every number but 0 again\.$/)
      .waitFor();
    const plain = await scaleForm('shop', 'storefront');
    await plain.getByText('Now 3.').waitFor();
    expect(await plain.innerText()).not.to.contain('HorizontalPodAutoscaler');
  });

  it('shows the template of its pods: account, nodes, containers, claims and tolerations', async () => {
    const labels = { app: 'search' };
    const mount = { name: 'data', mountPath: '/data' };
    const claim = { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage: '50Gi' } } };
    await create(demo, 'apis/apps/v1/namespaces/shop/statefulsets', {
      metadata: { name: 'search' },
      spec: {
        ...{ serviceName: 'search', podManagementPolicy: 'Parallel', minReadySeconds: 90, selector: { matchLabels: labels } },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: 'indexer',
            nodeSelector: { disk: 'ssd' },
            tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'search', effect: 'NoSchedule' }],
            initContainers: [{ name: 'own', image: 'busybox:1', command: ['sh', '-c', 'chown -R 1000 /data'], volumeMounts: [mount] }],
            containers: [{ name: 'search', image: 'search:2', ports: [{ containerPort: 9200 }], volumeMounts: [mount] }],
          },
        },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
      },
    });
    await page.goto(`${demo.url}/r/apps/v1/statefulsets/ns/shop/search`);
    await page.getByRole('alert').getByText('No node fits the pod.').waitFor();
    const facts = await part(page, 'Rollout').innerText();
    expect(facts).to.match(/Selector\s+app=search\s+Service\s+search\s+Pod management\s+Parallel\s+Minimum ready time\s+1m30s/);
    const template = part(page, 'Pod template');
    expect(await template.innerText()).to.match(/Node selector\s+disk: ssd/);
    expect(await template.getByRole('link', { name: 'indexer' }).getAttribute('href')).to.match(/serviceaccounts\/ns\/shop\/indexer$/);
    const container = (name: string) => page.getByRole('article', { name, exact: true }).innerText();
    expect(await container('search')).to.match(/^search\s+Image\s+search:2\s+Ports\s+9200\/TCP/);
    expect(await container('own')).to.match(/^own\s+Init\s+Image\s+busybox:1\s+Command\s+sh -c 'chown -R 1000 \/data'/);
    await part(page, 'Volumes').getByRole('row', { name: 'data Claim of each pod 50Gi fast search /data own /data' }).waitFor();
    await part(page, 'Tolerations').getByText('The pod may start on nodes with the taint dedicated=search:NoSchedule.').waitFor();
    await inspect(page, 'set-template');
  });

  it('lists revisions of a StatefulSet, and rolls back to one', async () => {
    const sets = 'apis/apps/v1/namespaces/payments/statefulsets/orders-db';
    await page.goto(`${demo.url}/r/apps/v1/statefulsets/ns/payments/orders-db`);
    await page.getByText('All 2 replicas are updated and available.').waitFor();
    const history = part(page, 'History');
    await history.getByRole('row', { name: /^1 \(current\) registry\.example\.com\/postgres:17\.2/ }).waitFor();
    const containers = [{ name: 'postgres', image: 'registry.example.com/postgres:17.3' }];
    await merge(demo, sets, { spec: { template: { spec: { containers } } } });
    await history.getByRole('row', { name: /^2 \(current\) registry\.example\.com\/postgres:17\.3/ }).waitFor();
    await history.getByRole('row', { name: /^1 / }).getByRole('button', { name: 'Roll back' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('.cm-changedLine', { hasText: 'postgres:17.2' }).first().waitFor();
    await dialog.getByText('As kubectl').click();
    expect(await dialog.locator('pre').textContent()).to.equal(
      'kubectl rollout undo statefulsets.apps/orders-db -n payments --to-revision=1',
    );
    expect(await barriers(page)).to.deep.equal([]);
    await press(page, 'Roll orders-db back to revision 1');
    await history.getByRole('row', { name: /^3 \(current\)/ }).waitFor();
    await page.getByText('All 2 replicas are updated and available.').waitFor();
    expect(await history.getByRole('row', { name: /^1 / }).count()).to.equal(0);
    await inspect(page, 'set-history');
  });

  it('lists revisions of a DaemonSet, and rolls back to one unless the dialog is closed during the dry run', async () => {
    await page.goto(`${demo.url}/r/apps/v1/daemonsets/ns/monitoring/node-exporter`);
    const history = part(page, 'History');
    await history.getByRole('row', { name: /^2 \(current\) registry\.example\.com\/node-exporter:1\.9\.0/ }).waitFor();
    const open = () => history.getByRole('row', { name: /^1 / }).getByRole('button', { name: 'Roll back' }).click();
    const dryRun = await hold(page, 'PATCH', /\/node-exporter\?dryRun=All$/);
    const writes = countOf(page, 'PATCH', /\/node-exporter$/);
    await open();
    await press(page, 'Roll node-exporter back to revision 1');
    await dryRun.begun;
    await page.keyboard.press('Escape');
    const answered = page.waitForResponse(/\/node-exporter\?dryRun=All$/);
    await dryRun.release();
    await answered;
    expect(await writes()).to.equal(0);
    await open();
    await press(page, 'Roll node-exporter back to revision 1');
    await history.getByRole('row', { name: /^3 \(current\) registry\.example\.com\/node-exporter:1\.8\.2/ }).waitFor();
  });
});

describe('the workload of a caller who may list neither budgets nor revisions', () => {
  const { demo, page } = loggedIn('nobody', '/');

  it('names the kinds that may not be listed', async () => {
    const role = { metadata: { name: 'only-sets' }, rules: [{ apiGroups: ['apps'], resources: ['statefulsets'], verbs: ['get'] }] };
    const rbac = 'apis/rbac.authorization.k8s.io/v1/namespaces/payments';
    await create(demo, `${rbac}/roles`, role);
    await create(demo, `${rbac}/rolebindings`, {
      metadata: { name: 'only-sets' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'only-sets' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody@example.com' }],
    });
    await untilAllowed(demo, 'nobody', { verb: 'get', group: 'apps', resource: 'statefulsets', name: 'orders-db', namespace: 'payments' });
    await page.goto(`${demo.url}/r/apps/v1/statefulsets/ns/payments/orders-db`);
    for (const resource of ['poddisruptionbudgets', 'horizontalpodautoscalers', 'controllerrevisions'])
      await page.getByText(`You may not list ${resource} in payments.`).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });
});

describe('the page of a TLS Secret', () => {
  const { demo, page } = loggedIn('admin', '/');
  const certificate = () => part(page, 'Certificate');

  it('shows the certificate without its key', async () => {
    await page.goto(`${demo.url}/r/core/v1/secrets/ns/shop/storefront-tls`);
    await certificate().getByText('The certificate ends in 11 days.').waitFor();
    const text = await certificate().innerText();
    for (const shown of ['CN=shop.example.com', 'DNS:www.shop.example.com', 'CN=Example Shop CA', '2 certificates'])
      expect(text).to.contain(shown);
    expect(await page.content()).not.to.match(/PRIVATE KEY|BEGIN CERTIFICATE/);
    await inspect(page, 'tls-secret');
  });

  it('reports an unreadable certificate', async () => {
    await create(demo, 'api/v1/namespaces/shop/secrets', {
      ...{ metadata: { name: 'broken-tls' }, type: 'kubernetes.io/tls' },
      data: { 'tls.crt': base64('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'), 'tls.key': base64('none') },
    });
    await page.goto(`${demo.url}/r/core/v1/secrets/ns/shop/broken-tls`);
    await certificate().getByRole('alert').getByText('The value of tls.crt is not a chain of certificates in PEM.').waitFor();
  });
});
