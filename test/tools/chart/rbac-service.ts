import { randomUUID } from 'node:crypto';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { recordSweep } from '../../../src/identity/sweep.ts';
import { RevokedTokens } from '../../../src/revocation/revoked-tokens.ts';
import { SessionStore, sessionSweep } from '../../../src/sessions/store.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { servicesOf } from '../../support/services.ts';
import { namespace, render, type Values } from './chart.ts';
import { RecordedAccount } from './recorded-account.ts';

const log = createLog({ level: 'silent', format: 'json' });

/** Its rules name each impersonated object. The rules of the constrained form name all resources at once. */
const wide = { 'rbac.impersonation.constrained': false };

/** The service with the chart's configuration. All calls of its account are recorded. */
export class RecordedService {
  readonly url: string;
  readonly account: RecordedAccount;
  readonly #objects: readonly Manifest[];
  readonly #apps: App[] = [];

  private constructor(url: string, account: RecordedAccount, objects: readonly Manifest[]) {
    this.url = url;
    this.account = account;
    this.#objects = objects;
  }

  /** @param config of the values. The public URL is set to the address of the first replica */
  static async start(config: Values): Promise<RecordedService> {
    const url = `http://127.0.0.1:${await freePort()}`;
    const objects = await render({ config: { ...config, server: { publicURL: url } }, ...wide });
    return new RecordedService(url, await RecordedAccount.start('atrium', objects), objects);
  }

  /** Starts a replica, the first one at `url`. Resolves when its caches are filled. */
  async replica({ isFirst }: { isFirst: boolean }): Promise<string> {
    const { host, port } = new URL(this.url);
    const configMap = this.#objects.find(({ kind }) => kind === 'ConfigMap')?.data as { 'config.yaml': string };
    const environment = {
      ATRIUM_SERVER__HOST: '127.0.0.1',
      ATRIUM_SERVER__PORT: isFirst ? port : '0',
      ATRIUM_SERVER__METRICSPORT: '0',
      ATRIUM_CONSOLE__STATIC__DIRECTORY: 'web/dist',
    };
    const app = new App({
      config: parseConfig({ yaml: configMap['config.yaml'], environment }),
      connection: this.account.connection,
      environment: {},
      log,
    });
    const started = await app.start();
    this.#apps.push(app);
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${started.metricsPort}/readyz`)).status,
      (status) => status === 200,
    );
    return isFirst ? `http://${host}` : `http://127.0.0.1:${started.port}`;
  }

  /** Deletes expired objects as replicas do periodically, here after a simulated month. */
  async sweep({ identityRecords }: { identityRecords: boolean }): Promise<void> {
    const apiServer = new KubernetesClient({ connection: this.account.connection, requestTimeoutMs: 60_000, metrics: new Metrics() });
    const client = apiServer.asService;
    const now = () => new Date(Date.now() + 31 * 86_400_000);
    if (identityRecords) await new Sweeper({ client, log }, recordSweep({ client, namespace, now })).run();
    await sweepSessions(apiServer, now);
    await apiServer.close();
  }

  async stop(): Promise<void> {
    for (const app of this.#apps) await app.stop();
    await this.account.stop();
  }
}

async function sweepSessions(apiServer: KubernetesClient, now: () => Date): Promise<void> {
  const services = servicesOf(apiServer, { log, namespace, now });
  const store = new SessionStore(services);
  const revokedTokens = new RevokedTokens(services);
  store.start();
  revokedTokens.watch.start();
  await store.find(randomUUID(), 'sweep', AbortSignal.timeout(60_000));
  await revokedTokens.watch.whenSynced(AbortSignal.timeout(60_000), { orNotInstalled: true });
  const sweeper = new Sweeper(services, { ...sessionSweep(store, revokedTokens, now), everyMs: 10 });
  sweeper.start();
  await eventually(
    () => [...store.values(), ...revokedTokens.watch.values()].length,
    (left) => left === 0,
  );
  await sweeper.stop();
  await store.stop();
  await revokedTokens.watch.stop();
}
