/** Tests that need a process of their own: its survival, its memory, and the state that outlives it. */

import { expect } from 'chai';
import { stringify } from 'yaml';
import { userInfoOf } from '../../service/login/provider/browser.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { run } from '../../support/command.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ask, expectFollows, nativeUsers, usersList, whenReady } from './asking.ts';
import { delay, type Fault, halfAnswer, refuse, reset, silence } from './fault-proxy.ts';
import { Issuer } from './issuer.ts';
import { theRealCluster } from './real-cluster.ts';
import { type Report, ServiceProcess } from './service-process.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const megabyte = 1024 * 1024;

describe('the process of the service', () => {
  const cluster = theRealCluster();
  const issuer = forSuite(() => Issuer.start(cluster));
  const proxy = forSuite(() => cluster.proxy());

  async function configFile(ofKubernetes: Record<string, unknown> = {}): Promise<string> {
    const { login, kubernetes } = issuer.config;
    return cluster.file(
      stringify({
        server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: 'http://console.test' },
        kubernetes: {
          ...kubernetes,
          kubeconfig: await cluster.kubeconfig(proxy.url),
          namespace: serviceNamespace,
          accessCache: '0s',
          ...ofKubernetes,
        },
        console: { static: { directory: 'web/dist' }, envs: { theme: 'dark' } },
        login,
        users: { lockout: { failures: 3 } },
      }),
    );
  }

  it('FLT-03 FLT-06 holds no more after 50 faults than after ten, and no more sockets and timers', async () => {
    const service = await ServiceProcess.start(await configFile({ requestTimeout: '1s' }));
    const token = cluster.token('viewer');
    try {
      await whenReady(service);
      const faults: Fault[] = [
        reset,
        halfAnswer,
        silence,
        refuse(500, 'InternalError'),
        refuse(429, 'TooManyRequests'),
        refuse(410, 'Expired'),
        delay(400),
      ];
      const endure = async (times: number) => {
        for (let turn = 0; turn < times; turn += 1) {
          const fault = faults[turn % faults.length] ?? reset;
          proxy.inject(fault);
          // The service waits nine seconds for its issuer, so silence would take too long.
          if (fault !== silence) issuer.proxy.inject(fault);
          proxy.cut();
          const asked = Array.from({ length: 20 }, (_, index) =>
            ask(service, index % 2 ? usersList : nativeUsers, { token }).catch(() => undefined),
          );
          await Promise.all([...asked, issuer.logIn(service).catch(() => undefined)]);
          proxy.mend();
          issuer.proxy.mend();
        }
        await whenReady(service);
        await expectFollows(cluster, service);
      };
      /** Weighs the process until the report is as wanted, because idle connections end by themselves. */
      const settled = async (isWanted: (report: Report) => boolean) => eventually(() => service.weigh(), isWanted);
      await endure(10);
      const first = await settled(() => true);
      await endure(40);
      await settled(
        ({ heapUsed, external, rss, resources }) =>
          heapUsed + external < first.heapUsed + first.external + 6 * megabyte && rss < 2 * first.rss && resources <= first.resources + 10,
      );
      expect(service.isRunning).to.equal(true);
      expect(service.stderr).to.not.match(/Warning|Error/);
    } finally {
      await service.kill();
    }
  });

  it('FLT-13 may be killed: ended sessions stay ended, the others stay valid', async () => {
    const file = await configFile();
    const service = await ServiceProcess.start(file);
    let next: ServiceProcess | undefined;
    try {
      await whenReady(service);
      const stays = await issuer.logIn(service);
      const ended = await issuer.logIn(service);
      const local = await issuer.logIn(service, { token_storage: 'local' });
      const { id_token: bearer = '', refresh_token: localHandle = '' } = userInfoOf(local.callback).ext.token ?? {};
      const handle = userInfoOf(ended.callback).ext.token?.refresh_token ?? '';
      const logout = (refresh: string) => `/api/v2/token/logout?${new URLSearchParams({ refresh_token: refresh })}`;
      expect((await ended.browser.request(logout(handle))).status).to.equal(200);
      expect((await local.browser.request(logout(localHandle), { headers: { authorization: `Bearer ${bearer}` } })).status).to.equal(200);
      await service.kill();
      next = await ServiceProcess.start(file);
      await whenReady(next);
      const info = (cookies: ReadonlyMap<string, string>) =>
        fetch(`${next?.url}/api/v2/token/info`, { headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') } });
      expect((await info(stays.browser.cookies)).status).to.equal(200);
      expect((await info(ended.browser.cookies)).status).to.equal(401);
      expect((await ask(next, '/api/v2/token/info', { token: bearer })).status).to.equal(401);
    } finally {
      await service.kill();
      await next?.kill();
    }
  });

  it('FLT-13 keeps the last valid configuration when the new one is invalid, and does not start with an invalid one', async () => {
    const file = await configFile();
    const service = await ServiceProcess.start(file);
    try {
      await whenReady(service);
      await cluster.overwrite(file, 'server: { port: eighty }\nunknown: true\n');
      const refused = await run(['serve', '--config', file]);
      expect(refused.code).to.equal(2);
      expect(refused.stderr).to.include('server.port').and.to.include('unknown');
      await pause(500);
      expect(JSON.parse((await ask(service, '/api/v1/envs')).text)).to.deep.equal({ theme: 'dark' });
      await expectFollows(cluster, service);
    } finally {
      await service.kill();
    }
  });
});
