/** Pages of a Node, a Namespace and a Job before a real API server, whose status the test writes. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
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
    await row(page, /^cpu 2 2 250m · 13 %/).waitFor();
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

  it('open a Namespace to a person with a role in it, and name the list that is refused', async () => {
    // The viewer may not list the Namespaces of the whole cluster.
    suite.allow(/status of 403 \(Forbidden\) \S+\/api\/v1\/namespaces$/);
    const page = await suite.open('viewer', '/r/core/v1/namespaces/shop');
    await part(page, 'Pods by state')
      .getByRole('link', { name: /Running/ })
      .waitFor();
    await part(page, 'Role bindings').getByText('You may not list rolebindings in shop.').waitFor();
  });

  it('show the completions of a Job, and why it failed', async () => {
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
});
