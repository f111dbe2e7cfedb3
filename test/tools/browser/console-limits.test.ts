/** Pages of volumes, autoscalers, budgets, quotas, limits, priorities, Leases and certificate requests. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { expect } from 'chai';
import { loggedIn } from './demo.ts';
import { create, inspect, merge, part } from './kind-pages.ts';

describe('the pages of claims, volumes and storage classes', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('list the users of a claim, also those that start later', async () => {
    const claims = 'api/v1/namespaces/shop/persistentvolumeclaims';
    const spec = { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } } };
    await create(demo, claims, { metadata: { name: 'data' }, spec });
    await page.goto(`${demo.url}/r/core/v1/persistentvolumeclaims/ns/shop/data`);
    await page.getByText('No pod or workload of this namespace refers to it.').waitFor();
    await create(demo, 'api/v1/namespaces/shop/pods', {
      metadata: { name: 'user-of-data' },
      spec: { containers: [{ name: 'app', image: 'nginx' }], volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] },
    });
    await part(page, 'Used by').getByRole('link', { name: 'user-of-data' }).waitFor();
    await create(demo, 'apis/apps/v1/namespaces/shop/deployments', {
      metadata: { name: 'archive' },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'archive' } },
        template: {
          metadata: { labels: { app: 'archive' } },
          spec: {
            containers: [{ name: 'app', image: 'nginx' }],
            volumes: [{ name: 'old', persistentVolumeClaim: { claimName: 'data' } }],
          },
        },
      },
    });
    await page
      .getByRole('row', { name: /^Deployment archive/ })
      .getByText('volume old')
      .waitFor();
    await inspect(page, 'claim-used');
  });

  it('show the recent warnings of a claim, and no older ones', async () => {
    const claims = 'api/v1/namespaces/shop/persistentvolumeclaims';
    const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'slow', resources: { requests: { storage: '1Gi' } } };
    await create(demo, claims, { metadata: { name: 'waiting' }, spec });
    const uid = await page.evaluate<string>(
      `fetch('/api/kubernetes/${claims}/waiting').then((it) => it.json()).then((it) => it.metadata.uid)`,
    );
    for (const [reason, age, count] of [
      ['ProvisioningFailed', 60, 4],
      ['ExternalExpanding', 3600, 1],
    ] as const) {
      const time = new Date(Date.now() - age * 1000).toISOString();
      await create(demo, 'api/v1/namespaces/shop/events', {
        metadata: { name: `waiting.${reason.toLowerCase()}` },
        involvedObject: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'waiting', uid },
        ...{ type: 'Warning', reason, message: `${reason} of the disk`, count, firstTimestamp: time, lastTimestamp: time },
      });
    }
    await page.goto(`${demo.url}/r/core/v1/persistentvolumeclaims/ns/shop/waiting`);
    const warning = page.locator('.notice.warn');
    expect(await warning.innerText()).to.match(/^ProvisioningFailed 4 × · 1 minute ago\s+ProvisioningFailed of the disk$/);
    await inspect(page, 'claim-warned');
  });

  it('lead from a class to its volumes, and from a volume to its claim and source', async () => {
    await page.goto(`${demo.url}/r/storage.k8s.io/v1/storageclasses/fast`);
    await page.getByText('disks.example.com').waitFor();
    await part(page, 'Volumes of this class').getByRole('link', { name: 'disk-7f3a' }).waitFor();
    await inspect(page, 'storage-class');
    await part(page, 'Volumes of this class').getByRole('link', { name: 'disk-7f3a' }).click();
    await page.getByText('csi disks.example.com disk-7f3a').waitFor();
    expect(await page.getByRole('link', { name: 'backup' }).getAttribute('href')).to.match(
      /\/persistentvolumeclaims\/ns\/payments\/backup$/,
    );
    await inspect(page, 'volume');
  });
});

describe('the pages of autoscalers, budgets, quotas, priorities and Leases', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('show metrics of an autoscaler beside their targets, and its conditions in words', async () => {
    const scalers = 'apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers';
    const target = { type: 'AverageValue', averageValue: '500m' };
    await create(demo, scalers, {
      metadata: { name: 'sized' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'missing' },
        ...{ minReplicas: 2, maxReplicas: 6, metrics: [{ type: 'Pods', pods: { metric: { name: 'requests' }, target } }] },
      },
    });
    const conditions = [
      { type: 'AbleToScale', status: 'False', reason: 'FailedGetScale', message: 'not found', lastTransitionTime: '2026-01-12T08:30:00Z' },
    ];
    await merge(demo, `${scalers}/sized/status`, { status: { currentReplicas: 0, desiredReplicas: 0, conditions } });
    await page.goto(`${demo.url}/r/autoscaling/v2/horizontalpodautoscalers/ns/shop/sized`);
    const metric = part(page, 'Metrics').getByRole('row', { name: /^requests/ });
    await metric.waitFor();
    expect(await metric.innerText()).to.match(/Unknown\s+500m/);
    expect(await page.getByRole('link', { name: 'missing' }).getAttribute('href')).to.match(/\/deployments\/ns\/shop\/missing$/);
    await page.getByRole('row', { name: /^Able to scale No FailedGetScale/ }).waitFor();
    expect(await page.getByRole('alert').innerText()).to.match(/^AbleToScale is false FailedGetScale [\s\S]*not found/);
    expect(await page.getByRole('main').innerText()).to.match(/Last scaled\s+Never/);
    await inspect(page, 'autoscaler');
  });

  it('show the number of pods of a budget that may be evicted', async () => {
    await page.goto(`${demo.url}/r/policy/v1/poddisruptionbudgets/ns/shop/storefront`);
    await page.getByText('One pod may be evicted now. 3 of 3 pods are healthy, and 2 must be.').waitFor();
    await part(page, 'Pods')
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .waitFor();
    await inspect(page, 'budget');
  });

  it('show quota, limits and a priority', async () => {
    await page.goto(`${demo.url}/r/core/v1/resourcequotas/ns/shop/team`);
    await part(page, 'Quota')
      .getByRole('row', { name: /^pods .*40$/ })
      .waitFor();
    await inspect(page, 'quota');
    const limits = [{ type: 'Container', max: { cpu: '2' }, defaultRequest: { cpu: '100m' } }];
    await create(demo, 'api/v1/namespaces/shop/limitranges', { metadata: { name: 'bounds' }, spec: { limits } });
    await page.goto(`${demo.url}/r/core/v1/limitranges/ns/shop/bounds`);
    await part(page, 'Limits')
      .getByRole('row', { name: /^Container cpu/ })
      .waitFor();
    await inspect(page, 'limit-range');
    await create(demo, 'apis/scheduling.k8s.io/v1/priorityclasses', {
      metadata: { name: 'high' },
      value: 100_000,
      description: 'For the shop.',
    });
    await page.goto(`${demo.url}/r/scheduling.k8s.io/v1/priorityclasses/high`);
    await page.getByText('For the shop.').waitFor();
    await inspect(page, 'priority');
  });

  it('show renewed and expired Leases', async () => {
    const leases = 'apis/coordination.k8s.io/v1/namespaces/shop/leases';
    const spec = { holderIdentity: 'leader-0', leaseDurationSeconds: 3600, renewTime: '2026-01-01T00:00:00.000000Z' };
    await create(demo, leases, { metadata: { name: 'leader' }, spec });
    await page.goto(`${demo.url}/r/coordination.k8s.io/v1/leases/ns/shop/leader`);
    await page.getByText('leader-0 has not renewed this lease in time.').waitFor();
    await merge(demo, `${leases}/leader`, { spec: { renewTime: new Date().toISOString().replace('Z', '000Z') } });
    await page.getByText('leader-0 holds this lease.').waitFor();
    await inspect(page, 'lease');
  });
});

describe('the page of a certificate request', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('shows subject, names and requester, and the pending state', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const names = new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'shop.example.com' }]);
    const name = 'CN=robot, O=shop';
    const request = await x509.Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm, extensions: [names] });
    await create(demo, 'apis/certificates.k8s.io/v1/certificatesigningrequests', {
      metadata: { name: 'robot' },
      spec: {
        ...{ request: Buffer.from(request.toString('pem')).toString('base64'), signerName: 'example.com/nobody' },
        usages: ['client auth'],
      },
    });
    await page.goto(`${demo.url}/r/certificates.k8s.io/v1/certificatesigningrequests/robot`);
    await page.getByText('The request waits for approval.').waitFor();
    for (const text of ['CN=robot', 'O=shop', 'DNS:shop.example.com', 'client auth', demo.person('admin').email])
      await page.getByRole('main').getByText(text, { exact: true }).waitFor();
    await inspect(page, 'certificate-request');
  });
});
