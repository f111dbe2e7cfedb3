/** `atrium sandbox`: the service on an embedded cluster with people and objects in it, for a first look and for development. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { App } from './app.ts';
import { parseConfig } from './config/load.ts';
import { createLog } from './http/log.ts';
import { type Demo, startDemo } from './sandbox/demo.ts';
import { demoEnvironment, demoNamespace } from './sandbox/demo-objects.ts';

export interface SandboxOptions {
  port: number;
  host: string;
  /** Generated people beside the named ones. */
  users: number;
  /** Directory for the cluster's objects; in memory without it. */
  data?: string;
  /** File that tells scripts where everything is. */
  info?: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Where deploy/ and web/ are. */
  packageRoot: URL;
}

/** Starts everything and prints what to try next. */
export async function runSandbox(options: SandboxOptions): Promise<{ stop(options: { drain: boolean }): Promise<void> }> {
  const started = performance.now();
  const directory = options.data ?? (await mkdtemp(join(tmpdir(), 'atrium-')));
  const kubeconfig = join(directory, 'kubeconfig.yaml');
  const demo = await startDemo({
    host: options.host,
    users: options.users,
    ...(options.data !== undefined && { dataDirectory: options.data }),
    manifests: new URL('deploy/manifests/', options.packageRoot),
    kubeconfig,
  });
  const { cluster } = demo;
  const app = new App({
    config: demoConfig(options),
    connection: {
      server: cluster.url,
      tls: { ca: cluster.certificateAuthority },
      namespace: demoNamespace,
      authorization: async () => `Bearer ${demo.serviceToken}`,
      discardAuthorization() {},
    },
    environment: options.environment,
    log: createLog({ level: 'warn', format: 'json' }),
  });
  const { port } = await app.start();
  const url = `http://${shownHost(options.host)}:${port}`;
  const { people, images } = demo;
  if (options.info !== undefined)
    await writeFile(options.info, `${JSON.stringify({ url, kubeconfig, people, images }, null, 2)}\n`, { mode: 0o600 });
  console.log(welcome({ demo, url, kubeconfig, seconds: (performance.now() - started) / 1000 }));
  return {
    async stop(options) {
      await app.stop(options);
      await cluster.stop();
    },
  };
}

const demoConfig = ({ host, port, packageRoot }: SandboxOptions) =>
  parseConfig({
    yaml: stringify({
      server: { host, port, metricsPort: 0 },
      kubernetes: { namespace: demoNamespace },
      console: {
        static: { directory: fileURLToPath(new URL('web/public', packageRoot)) },
        assetsHostPath: 'web/public',
        envsConfigMap: demoEnvironment,
        envs: { CONSOLE_PUBLIC_CLUSTER: 'embedded' },
        environment: [{ key: 'title', value: 'Atrium demo' }],
        languages: [
          { id: 'en', name: 'English' },
          { id: 'de', name: 'Deutsch' },
          { id: 'zh', name: '中文' },
        ],
      },
    }),
  });

const shownHost = (host: string) => (host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host);

function welcome({ demo, url, kubeconfig, seconds }: { demo: Demo; url: string; kubeconfig: string; seconds: number }): string {
  const people = demo.people.map(({ email, role, token }) => `  ${role.padEnd(8)} ${email}\n           ${token}`);
  return `
Atrium is ready after ${seconds.toFixed(1)} s: ${url}

An embedded cluster runs beside it (a stand-in for first steps and tests, not a cluster for work), with ${demo.users} people in it.
Bearer tokens of four of them, for 12 hours:

${people.join('\n')}

Try next:
  TOKEN='paste one from above'
  curl ${url}/api/v1/modules?pretty=true
  curl -H "Authorization: Bearer $TOKEN" '${url}/auth/v2/users?limit=3&sortBy=email&pretty=true'
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' ${url}/auth/v1/selfsubjectaccessreviews \\
    -d '{"spec":{"resourceAttributes":{"verb":"list","group":"auth.platform.io","resource":"users"}}}'
  kubectl --kubeconfig ${kubeconfig} get users

Ctrl-C stops it.`;
}
