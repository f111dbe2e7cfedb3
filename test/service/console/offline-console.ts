import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Timer } from '@atrium/http/static/files.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { stringify } from 'yaml';
import { startBareService } from '../../../packages/http/test/bare-service.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { basePathOf } from '../../../src/config/schema.ts';
import { createConsole } from '../../../src/console/console.ts';
import { watchConsolePlugins } from '../../../src/plugins/plugins.ts';
import { servicesOf } from '../../support/services.ts';

/** Creates a directory with these files, within a temporary one that also contains `outside`. */
export async function makeDirectory(
  files: Record<string, string | Buffer>,
): Promise<{ path: string; outside: string; remove(): Promise<void> }> {
  const outside = await mkdtemp(join(tmpdir(), 'atrium-static-'));
  const path = join(outside, 'static');
  for (const [name, content] of Object.entries({ ...files })) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return { path, outside, remove: () => rm(outside, { recursive: true }) };
}

export interface OfflineOptions {
  config?: { server?: Record<string, unknown>; console?: Record<string, unknown> };
  environment?: Record<string, string>;
  /** Timer of the checks of the static directory. */
  timer?: Timer;
}

/** Starts the console with the request chain of the service, and without an API server. */
export async function startOfflineConsole({ config = {}, environment = {}, timer }: OfflineOptions) {
  const parsed = parseConfig({ yaml: stringify(config) });
  const basePath = basePathOf(parsed);
  const metrics = new Metrics();
  const connection = {
    server: 'https://127.0.0.1:1',
    tls: {},
    namespace: 'atrium-system',
    authorization: async () => 'Bearer nobody-listens',
    discardAuthorization() {},
  };
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: 1000, metrics });
  const log = createLog({ level: 'silent', format: 'json' });
  const services = servicesOf(apiServer, { config: parsed, basePath, metrics, log });
  const console = createConsole(services, { consolePlugins: watchConsolePlugins(services), environment, timer });
  await console.start();
  const service = await startBareService(console.operations, { basePath, requestTimeoutMs: parsed.server.requestTimeout });
  return {
    ...service,
    checks: console.checks,
    async stop() {
      await service.stop();
      await console.stop();
      await apiServer.close();
    },
  };
}
