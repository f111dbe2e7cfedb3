/** An audit store for a service of the tests, on a port that the service knows before the store runs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { stringify } from 'yaml';
import { openStoreServer } from '../../../src/audit-store.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { StoreServer } from '../../../src/store-server/server.ts';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { connectionWith } from '../../support/installed-cluster.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';

const serviceAccount = `system:serviceaccount:${serviceNamespace}:atrium`;

/** A service with a store beside it, which a test stops and starts. */
export interface Installation extends TestServer {
  storeURL: string;
  /** File with a token of the service for the store. */
  tokenFile: string;
  storeMetricsURL(): string;
  /** Lines of the log of the store. */
  storeLines: readonly string[];
  /** Issues a token of an account of the service's namespace. */
  accountToken(audience: string | undefined, account?: string): Promise<string>;
  /** @param changed settings of the store in place of those before */
  startStore(changed?: object): Promise<void>;
  stopStore(): Promise<void>;
  /** File of the store, which a test may change while the store is stopped. */
  databaseFile: string;
}

interface InstallationOptions extends ServerOptions {
  /** Token of the audit webhook of the API server. */
  webhookToken?: string;
  /** Gives the store a certificate. A kube-apiserver sends its events, because it sends no token without TLS. */
  hasTLS?: boolean;
}

/** @param database settings of the database in place of a file */
export async function withAuditStore(
  { config, webhookToken, hasTLS = false, ...options }: InstallationOptions = {},
  database: object = {},
): Promise<Installation> {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const tokenFile = join(directory, 'token');
  const port = await freePort();
  const storeURL = `${hasTLS ? 'https' : 'http'}://127.0.0.1:${port}`;
  await writeFile(tokenFile, 'none');
  const file = (name: string) => join(directory, name);
  const { authority, serving } = await loopbackCertificates('audit store');
  const files = { 'ca.crt': authority.certificate, 'tls.crt': serving.certificate, 'tls.key': serving.key, webhook: `${webhookToken}\n` };
  for (const [name, text] of Object.entries(files)) await writeFile(file(name), text);
  const server = await startServer({
    ...options,
    ...(hasTLS &&
      webhookToken !== undefined && {
        auditWebhook: { url: `${storeURL}/v1/kube-apiserver`, token: webhookToken, certificateAuthority: authority.certificate },
      }),
    config: {
      ...config,
      audit: { ...(config?.audit as object), store: { url: storeURL, tokenFile, ...(hasTLS && { caFile: file('ca.crt') }) } },
    },
  });
  const accountToken = async (audience: string | undefined, account = 'atrium') => {
    const spec = { expirationSeconds: 7200, ...(audience !== undefined && { audiences: [audience] }) };
    const path = `/api/v1/namespaces/${serviceNamespace}/serviceaccounts/${account}/token`;
    const { body } = await server.kubernetes.call('POST', path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
    return (body as { status: { token: string } }).status.token;
  };
  await writeFile(tokenFile, await accountToken('atrium-audit-store'));
  const intake = webhookToken !== undefined && { apiServer: { tokenFile: file('webhook') } };
  const storeLines: string[] = [];
  let running: { store: StoreServer; metricsPort: number } | undefined;
  const stopStore = async () => {
    await running?.store.stop();
    running = undefined;
  };
  return {
    ...server,
    storeURL,
    tokenFile,
    storeLines,
    databaseFile: join(directory, 'audit.db'),
    storeMetricsURL: () => `http://127.0.0.1:${running?.metricsPort}`,
    accountToken,
    async startStore(changed = {}) {
      const store = await openStoreServer({
        config: parseConfig({
          yaml: stringify({
            server: {
              ...{ host: '127.0.0.1', port, metricsPort: 0 },
              ...(hasTLS && { tls: { certFile: file('tls.crt'), keyFile: file('tls.key') } }),
            },
            auditStore: { databaseFile: join(directory, 'audit.db'), callers: [serviceAccount], ...intake, ...database, ...changed },
          }),
        }),
        connection: connectionWith(await server.token('admin'), server.cluster),
        log: createLog({ level: 'info', format: 'json' }, { write: (line) => storeLines.push(line) }),
      });
      running = { store, ...(await store.start()) };
    },
    stopStore,
    async stop() {
      await server.stop();
      await stopStore();
      await rm(directory, { recursive: true });
    },
  };
}
