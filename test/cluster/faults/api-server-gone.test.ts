/** The real API server killed, hanging, and started again. */
import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { accessReview, ask, expectFault, expectFollows, nativeUsers, plugin, usersList, whenReady } from './asking.ts';
import { type Service, theRealCluster } from './real-cluster.ts';

/** Paths that need no cluster. */
const needsNothing = ['/api/v1/i18n/languages', '/', '/healthz', '/readyz'];
const anonymous = ['/api/v1/envs', '/api/v1/modules', '/api/v1/console-plugins', '/api/v1/cm/logos/logo.svg'];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('an API server', () => {
  const cluster = theRealCluster();
  let service: Service;
  /** A service with a short deadline for the API server. */
  let hasty: Service;

  before(async () => {
    await cluster.admin.apply(plugin('cost-report'), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'environment', namespace: serviceNamespace, labels: { 'console.platform.io/public': 'true' } },
      data: { theme: 'dark' },
    });
    await cluster.admin.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'logos', namespace: serviceNamespace, labels: { 'console.platform.io/public': 'true' } },
      data: { 'logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' },
    });
    const start = async (kubernetes: Record<string, unknown> = {}) => {
      const console = { envsConfigMap: 'environment', imageNamespaces: [serviceNamespace] };
      const started = await cluster.service({ connection: cluster.control.url, config: { kubernetes, console } });
      await whenReady(started, 'identity-provider');
      return started;
    };
    service = await start();
    hasty = await start({ requestTimeout: '2s' });
  });
  after(async () => {
    await service?.stop();
    await hasty?.stop();
  });

  /** Requires a fault for a caller with an unknown token, which only the API server can authenticate. */
  async function expectNothingFor(token: string, code: 503 | 504): Promise<void> {
    const replies = [
      ...[usersList, nativeUsers, ...anonymous].map((path) => ask(service, path, { token })),
      ask(service, accessReview.path, { method: 'POST', token, body: accessReview.body }),
    ];
    for (const reply of await Promise.all(replies)) expectFault(reply, code);
  }

  it('FLT-03 is killed and restarted: requests that do not need it work, the rest is 503 at once, and watches recover', async () => {
    const known = await Promise.all(anonymous.map(async (path) => (await ask(service, path)).text));
    await cluster.control.apiServer.kill();
    try {
      await expectOnlyTheKnown(known);
    } finally {
      await cluster.control.apiServer.start();
    }
    await expectFollows(cluster, service);
    await whenReady(service, 'identity-provider');
    for (const path of anonymous)
      await eventually(
        async () => (await ask(service, path)).header('warning'),
        (warning) => warning === undefined,
      );
  });

  async function expectOnlyTheKnown(known: readonly string[]): Promise<void> {
    const goneAt = Date.now();
    // The watches notice the cut at once, but one of them may be at the beginning of its backoff.
    const noticed = new Set<string>();
    do {
      for (const path of needsNothing) expect((await ask(service, path)).status, path).to.equal(200);
      for (const [index, path] of anonymous.entries()) {
        const { status, text, header } = await ask(service, path);
        expect(status, path).to.equal(200);
        expect(text, path).to.equal(known[index]);
        if (noticed.has(path) || header('warning') !== undefined) {
          expect(header('warning'), path).to.equal('110 - "Response is Stale"');
          noticed.add(path);
        }
      }
      await expectNothingFor(cluster.token('viewer'), 503);
      await expectNothingFor('made-up', 503);
      await pause(200);
    } while (Date.now() - goneAt < 8_000 || noticed.size < anonymous.length);
    await eventually(
      async () => (await ask({ url: service.metricsURL }, '/readyz?verbose')).text,
      (report) => /^\[-\]kubernetes failed \(not critical\): ECONNREFUSED$/m.test(report),
    );
  }

  for (const name of ['apiServer', 'etcd'] as const) {
    it(`FLT-03 ${name === 'etcd' ? 'stops with its etcd' : 'hangs'}: 504 at the deadline, the rest works, and it recovers`, async () => {
      try {
        await cluster.control[name].hang();
        const [asked] = await Promise.all([
          ask(hasty, nativeUsers, { token: cluster.token('viewer') }),
          (async () => {
            for (let turn = 0; turn < 20; turn += 1) {
              for (const path of [...needsNothing, ...anonymous]) {
                const { status } = await ask(hasty, path);
                expect(status, path).to.equal(200);
              }
              await pause(50);
            }
          })(),
        ]);
        if (name === 'apiServer') expectFault(asked, 504);
        // The API server may answer lists from its cache.
        else expect(asked.status).to.be.oneOf([200, 504]);
      } finally {
        cluster.control[name].signal('SIGCONT');
      }
      await expectFollows(cluster, hasty);
    });
  }
});
