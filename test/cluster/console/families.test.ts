/** Pages by kind in front of a real API server. The test writes the status of the objects. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { inspect, part } from '../../tools/browser/kind-pages.ts';
import { startClusterConsole } from './support.ts';

const at = '2026-01-12T08:30:00Z';
const merging = { 'content-type': 'application/merge-patch+json' };
const condition = (type: string, status: string, reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: at,
});
const container = { name: 'app', image: 'registry.example.com/app:1', resources: { requests: { cpu: '250m', memory: '64Mi' } } };

describe('pages by kind on a real cluster', () => {
  const suite = forSuite(startClusterConsole);
  const writeStatus = async (path: string, status: object) => {
    const answer = await suite.login.admin.call('PATCH', `${path}/status`, { status }, merging);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
  };
  const row = (page: Page, name: RegExp) => page.getByRole('row', { name });

  it('show resources, requests and conditions of a Node as they change', async () => {
    const capacity = { cpu: '2', memory: '4Gi', pods: '110' };
    await suite.login.admin.apply(
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker' } },
      {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'placed', namespace: 'shop' } },
        spec: { nodeName: 'worker', containers: [container] },
      },
    );
    const conditions = [condition('Ready', 'True', 'KubeletReady'), condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory')];
    await writeStatus('/api/v1/nodes/worker', { capacity, allocatable: { ...capacity, memory: '2Gi' }, conditions });
    const page = await suite.open('admin', '/r/core/v1/nodes/worker');
    await row(page, /^cpu 2 2 250m · 12 %/).waitFor();
    await row(page, /^memory 4Gi 2Gi 64Mi · 3 %/).waitFor();
    await row(page, /^Memory pressure No KubeletHasSufficientMemory/).waitFor();
    await page.getByRole('link', { name: 'placed' }).waitFor();
    await writeStatus('/api/v1/nodes/worker', { conditions: [condition('Ready', 'False', 'KubeletNotReady', 'runtime is down')] });
    await row(page, /^Ready No KubeletNotReady runtime is down/).waitFor();
    await inspect(page, 'real-node');
  });

  it('show quota, pods, warnings and bindings of a Namespace, and follow its quota', async () => {
    const hard = { pods: '4', 'requests.cpu': '1' };
    await suite.login.admin.apply({
      ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'team', namespace: 'shop' }, spec: { hard } },
    });
    const quota = '/api/v1/namespaces/shop/resourcequotas/team';
    await writeStatus(quota, { hard, used: { pods: '1', 'requests.cpu': '250m' } });
    const page = await suite.open('admin', '/r/core/v1/namespaces/shop');
    await row(page, /^requests\.cpu 250m · 25 % 1$/).waitFor();
    await part(page, 'Pods by state')
      .getByRole('link', { name: /Running/ })
      .waitFor();
    await part(page, 'Warning events').getByRole('link', { name: 'web-2' }).waitFor();
    await part(page, 'Role bindings').getByRole('link', { name: 'viewer@example.com' }).waitFor();
    await writeStatus(quota, { used: { pods: '4', 'requests.cpu': '1' } });
    await row(page, /^pods 4 · 100 % 4$/).waitFor();
    await inspect(page, 'real-namespace');
  });

  it('open a Namespace to users with a role in it, and name the list that is refused', async () => {
    // The viewer may not list the Namespaces of the whole cluster.
    suite.allow(/status of 403 \(Forbidden\) \S+\/api\/v1\/namespaces$/);
    const page = await suite.open('viewer', '/r/core/v1/namespaces/shop');
    await part(page, 'Pods by state')
      .getByRole('link', { name: /Running/ })
      .waitFor();
    await part(page, 'Role bindings').getByText('You may not list rolebindings in shop.').waitFor();
  });

  it('show the completions of a Job, and the reason of its failure', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [container] } };
    await suite.login.admin.apply({
      ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate', namespace: 'shop' }, spec: { completions: 3, template } },
    });
    const job = '/apis/batch/v1/namespaces/shop/jobs/migrate';
    await writeStatus(job, { startTime: at, active: 1, succeeded: 1, ready: 0 });
    const page = await suite.open('admin', '/r/batch/v1/jobs/ns/shop/migrate');
    await page.getByText('Running').first().waitFor();
    const failure = condition('FailureTarget', 'True', 'BackoffLimitExceeded', 'Job has reached the specified backoff limit');
    await writeStatus(job, { active: 0, failed: 7, conditions: [failure, { ...failure, type: 'Failed' }] });
    await page.getByText('Job has reached the specified backoff limit').first().waitFor();
    await row(page, /^Failed Yes BackoffLimitExceeded/).waitFor();
    await inspect(page, 'real-job');
  });

  it('show the failure of a Pod, its volumes and its sidecar, and no failure once it runs', async () => {
    const path = '/api/v1/namespaces/default/pods/broken';
    await suite.login.admin.apply({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'broken', namespace: 'default' } },
      spec: {
        initContainers: [{ name: 'proxy', image: 'registry.example.com/proxy:1', restartPolicy: 'Always' }],
        containers: [{ ...container, volumeMounts: [{ name: 'settings', mountPath: '/etc/app' }] }],
        volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
      },
    });
    const ended = { exitCode: 137, reason: 'OOMKilled', startedAt: at, finishedAt: at };
    const status = { name: 'app', image: container.image, imageID: 'none', ready: false, restartCount: 3 };
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' };
    await writeStatus(path, {
      phase: 'Running',
      containerStatuses: [{ ...status, state: { waiting }, lastState: { terminated: ended } }],
    });
    const page = await suite.open('admin', '/r/core/v1/pods/ns/default/broken');
    const trouble = page.getByRole('alert').filter({ hasText: 'app: CrashLoopBackOff' });
    await trouble.getByText('OOMKilled, exit code 137').waitFor();
    await part(page, 'Volumes').getByRole('link', { name: 'settings' }).waitFor();
    await part(page, 'Tolerations').getByText('node.kubernetes.io/not-ready:NoExecute').waitFor();
    expect(await page.getByRole('article', { name: 'proxy' }).locator('.chip').innerText()).to.equal('Sidecar');
    await inspect(page, 'real-pod');
    await writeStatus(path, {
      containerStatuses: [{ ...status, ready: true, state: { running: { startedAt: at } }, lastState: { terminated: ended } }],
    });
    await trouble.waitFor({ state: 'detached' });
  });

  it('show the rollout of a Deployment, and roll it back to the template of a ReplicaSet', async () => {
    const { admin } = suite.login;
    const labels = { app: 'till' };
    const revision = (number: string) => ({ 'deployment.kubernetes.io/revision': number });
    const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ ...container, image }] } });
    const spec = { replicas: 2, selector: { matchLabels: labels }, template: template('registry.example.com/till:2') };
    await admin.apply({
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', spec },
      metadata: { name: 'till', namespace: 'shop', annotations: revision('2') },
    });
    const path = '/apis/apps/v1/namespaces/shop/deployments/till';
    const read = async () => (await admin.call('GET', path)).body as { metadata: { uid: string; generation: number }; spec: typeof spec };
    const { uid } = (await read()).metadata;
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till', uid, controller: true };
    for (const number of ['1', '2'])
      await admin.apply({
        ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
        metadata: { name: `till-${number}`, namespace: 'shop', labels, annotations: revision(number), ownerReferences: [owner] },
        spec: { ...spec, template: template(`registry.example.com/till:${number}`) },
      });
    const stuck = condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'ReplicaSet "till-2" has timed out progressing.');
    const counts = { replicas: 3, updatedReplicas: 1, readyReplicas: 2, availableReplicas: 2 };
    await writeStatus(path, { ...counts, observedGeneration: 1, conditions: [stuck] });
    const page = await suite.open('admin', '/r/apps/v1/deployments/ns/shop/till');
    await page.getByText(/The rollout is stuck: 1 of 2 replicas are updated, 2 are available\. ReplicaSet "till-2"/).waitFor();
    await inspect(page, 'real-deployment');
    await row(page, /^1 registry\.example\.com\/till:1/)
      .getByRole('button', { name: 'Roll back' })
      .click();
    await page.getByRole('button', { name: 'Roll till back to revision 1' }).click();
    await page.getByText('till rolls back to revision 1.').waitFor();
    const rolled = await read();
    expect(rolled.spec.template.spec.containers[0]?.image).to.equal('registry.example.com/till:1');
    await writeStatus(path, { replicas: 2, updatedReplicas: 2, observedGeneration: rolled.metadata.generation, conditions: [] });
    await page.getByText('All 2 replicas are updated and available.').waitFor();
  });

  it('show the rules of a Role and its subjects, and follow its bindings', async () => {
    const api = 'rbac.authorization.k8s.io';
    const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'], resourceNames: ['web'] }];
    const metadata = (name: string) => ({ name, namespace: 'shop' });
    const binding = (name: string, user: string) => ({
      ...{ apiVersion: `${api}/v1`, kind: 'RoleBinding', metadata: metadata(name) },
      roleRef: { apiGroup: api, kind: 'Role', name: 'counter' },
      subjects: [{ apiGroup: api, kind: 'User', name: user }],
    });
    await suite.login.admin.apply(
      { apiVersion: `${api}/v1`, kind: 'Role', metadata: metadata('counter'), rules },
      binding('first', 'ann@example.com'),
    );
    const page = await suite.open('admin', `/r/${api}/v1/roles/ns/shop/counter`);
    await part(page, 'Rules').getByText('get, list').waitFor();
    await part(page, 'Bound to').getByRole('link', { name: 'ann@example.com' }).waitFor();
    await suite.login.admin.apply(binding('second', 'bob@example.com'));
    await part(page, 'Bound to').getByRole('link', { name: 'bob@example.com' }).waitFor();
    await inspect(page, 'real-role');
  });

  it('show a definition that the API server has accepted, and a custom resource with its conditions', async () => {
    const [group, name] = ['stores.example.com', 'shops.stores.example.com'];
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const openAPIV3Schema = { type: 'object', properties: { spec: open, status: open } };
    await suite.login.admin.apply({
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name } },
      spec: {
        ...{ group, scope: 'Namespaced', names: { plural: 'shops', kind: 'Shop', singular: 'shop', listKind: 'ShopList' } },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, subresources: { status: {} } }],
      },
    });
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
    await eventually(
      async () => JSON.stringify((await suite.login.admin.call('GET', definition)).body),
      (text) => /"type":"Established"/.test(text),
    );
    const corner = `/apis/${group}/v1/namespaces/shop/shops/corner`;
    await eventually(
      () =>
        suite.login.admin.call('POST', `/apis/${group}/v1/namespaces/shop/shops`, {
          ...{ apiVersion: `${group}/v1`, kind: 'Shop', metadata: { name: 'corner', namespace: 'shop' }, spec: { doors: 2 } },
        }),
      ({ status }) => status === 201 || status === 409,
    );
    await writeStatus(corner, { conditions: [condition('Ready', 'False', 'NoRent', 'The rent is due.')] });
    const page = await suite.open('admin', `/r/apiextensions.k8s.io/v1/customresourcedefinitions/${name}/summary`);
    await page.locator('.notice.ok').getByText('Established').waitFor();
    await part(page, 'Instances').getByText('1 instance.').waitFor();
    await inspect(page, 'real-definition');
    await page.goto(`${suite.url}/r/${group}/v1/shops/ns/shop/corner`);
    await row(page, /^Ready No NoRent The rent is due\./).waitFor();
    await writeStatus(corner, { conditions: [condition('Ready', 'True', 'Open')] });
    await row(page, /^Ready Yes Open/).waitFor();
    await inspect(page, 'real-custom-resource');
  });
});
