import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PluginContext } from '../../../src/plugins/plugins.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';
import { publicLabel } from '../console/objects.ts';
import { loopbackNetwork, PluginService, ServiceAuthority } from './plugin-service.ts';

export const consolePluginsPath = '/apis/console.platform.io/v1/consoleplugins';

export const consolePlugin = (name: string, spec: Record<string, unknown>): Manifest => ({
  apiVersion: 'console.platform.io/v1',
  kind: 'ConsolePlugin',
  metadata: { name },
  spec: { displayName: name, ...spec },
});

/** Returns labels of a public ConfigMap with files of the plugin. */
export const ofPlugin = (plugin: string) => ({ ...publicLabel, 'console.platform.io/plugin': plugin });

/** The assembled service, a certificate authority that it trusts, and a Service called `shop` in the namespace `plugins`. */
export interface PluginSuite {
  server: TestServer;
  authority: ServiceAuthority;
  service: PluginService;
  /** Returns the reference of a ConsolePlugin to the Service. */
  reference(over?: Record<string, unknown>): Record<string, unknown>;
  /** Applies ConsolePlugins, and waits until the service knows them. */
  plugin(name: string, spec: Record<string, unknown>): Promise<void>;
  stop(): Promise<void>;
}

export async function startPluginSuite(options: ServerOptions = {}, context: PluginContext = {}): Promise<PluginSuite> {
  const authority = await ServiceAuthority.create();
  const service = await PluginService.start(await authority.issue('shop.plugins.svc'));
  const directory = await mkdtemp(join(tmpdir(), 'atrium-plugins-'));
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, authority.certificate);
  const { config = {}, ...rest } = options;
  const { publicURL = 'http://console.test/' } = (config.server ?? {}) as { publicURL?: string };
  const page = new URL(publicURL).pathname;
  const server = await startServer({
    ...rest,
    config: { ...config, console: { static: { directory: 'web/dist' }, plugins: { caFile }, ...(config.console as object) } },
    pluginContext: { network: loopbackNetwork(), ...context },
  });
  /** Number in the content security policy of pages, which shows the current change. */
  let mark = 0;
  return {
    server,
    authority,
    service,
    reference: (over = {}) => ({ name: 'shop', namespace: 'plugins', port: service.port, ...over }),
    async plugin(name, spec) {
      mark += 1;
      const seen = `https://seen-${mark}.example`;
      const marker = consolePlugin('marker', { contentSecurityPolicy: [{ directive: 'ImgSrc', values: [seen] }] });
      await server.kubernetes.call('DELETE', `${consolePluginsPath}/${name}`);
      await server.kubernetes.apply(consolePlugin(name, spec), marker);
      await eventually(
        async () => (await server.request(page)).headers.get('content-security-policy') ?? '',
        (policy) => policy.includes(seen),
      );
    },
    async stop() {
      await server.stop();
      await service.stop();
      await rm(directory, { recursive: true });
    },
  };
}
