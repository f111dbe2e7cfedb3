/** `atrium sandbox`: the service on an embedded cluster with people and objects in it, for a first look and for development. */
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { passwordSecret } from './accounts/password-secret.ts';
import { Passwords } from './accounts/passwords.ts';
import { App } from './app.ts';
import { parseConfig } from './config/load.ts';
import { issuerOf } from './config/schema.ts';
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
  const port = options.port || (await freePort(options.host));
  const url = `http://${shownHost(options.host)}:${port}`;
  const config = demoConfig({ ...options, port, url, pluginsCaFile: join(directory, 'plugins-ca.crt') });
  const issuer = issuerOf(config) ?? '';
  const passwords = new Passwords();
  const demo = await startDemo({
    host: options.host,
    users: options.users,
    ...(options.data !== undefined && { dataDirectory: options.data }),
    manifests: new URL('deploy/manifests/', options.packageRoot),
    kubeconfig,
    passwordSecret: async (user, password) =>
      passwordSecret({ user, namespace: demoNamespace, hash: await passwords.hash(password), changedAt: new Date() }),
  });
  const { cluster } = demo;
  cluster.trustIssuer({ url: issuer, audiences: [config.login.clientID, ...config.login.audiences] });
  const app = new App({
    config,
    connection: {
      server: cluster.url,
      tls: { ca: cluster.certificateAuthority },
      namespace: demoNamespace,
      authorization: async () => `Bearer ${demo.serviceToken}`,
      discardAuthorization() {},
    },
    environment: options.environment,
    // No Service of the embedded cluster runs anywhere: whoever writes a plugin has it on this machine.
    pluginSurroundings: { network: { resolve: async () => ['127.0.0.1'], isRefused: () => false } },
    log: createLog({ level: 'warn', format: 'json' }),
  });
  await app.start();
  cluster.askTokenWebhook({ url: `${url}/auth/v1/tokenreviews`, token: demo.webhookToken });
  const { people, images } = demo;
  if (options.info !== undefined)
    await writeFile(options.info, `${JSON.stringify({ url, issuer, kubeconfig, people, images }, null, 2)}\n`, { mode: 0o600 });
  console.log(welcome({ demo, url, kubeconfig, seconds: (performance.now() - started) / 1000 }));
  return {
    async stop(options) {
      await app.stop(options);
      await cluster.stop();
    },
  };
}

/** Nobody else takes it in the moment until it is listened on, or the start fails and says so. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

const demoConfig = ({ host, port, url, packageRoot, pluginsCaFile }: SandboxOptions & { url: string; pluginsCaFile: string }) =>
  parseConfig({
    yaml: stringify({
      server: { host, port, metricsPort: 0, publicURL: url },
      kubernetes: { namespace: demoNamespace, credentials: 'passthrough' },
      login: { audiences: ['kubectl'] },
      console: {
        static: { directory: fileURLToPath(new URL('web/public', packageRoot)) },
        assetsHostPath: 'web/public',
        plugins: { caFile: pluginsCaFile },
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

const callback = '/api/v2/token/callback';

const shownHost = (host: string) => (host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host);

function welcome({ demo, url, kubeconfig, seconds }: { demo: Demo; url: string; kubeconfig: string; seconds: number }): string {
  const people = demo.people.map(
    ({ email, role, password, token }) => `  ${role.padEnd(8)} ${email.padEnd(20)} ${password}\n           ${token}`,
  );
  return `
Atrium is ready after ${seconds.toFixed(1)} s: ${url}

An embedded cluster runs beside it (a stand-in for first steps and tests, not a cluster for work), with ${demo.users} people in it.
Four of them, each with a password to log in with and a bearer token for 12 hours:

${people.join('\n')}

Log in as a script does (a browser goes to the address that the first line gives):
  PASSWORD='the one of manager from above'; login() { curl -s -c atrium.cookies -b atrium.cookies "$@"; }
  PAGE=$(login -L -o /dev/null -w '%{url_effective}' "$(login '${url}/api/v2/token/login?redirect_uri=${url}${callback}' | sed -E 's/.*"auth_url":"([^"]*)".*/\\1/')")
  login -L --data-urlencode email=manager@example.com --data-urlencode "password=$PASSWORD" "$PAGE"
  login '${url}/auth/v2/users?limit=3&sortBy=email&pretty=true'

Or send a token:
  TOKEN='paste one from above'
  curl ${url}/api/v1/modules?pretty=true
  curl ${url}/plugins/cost-report/plugin-manifest.json
  curl -H "Authorization: Bearer $TOKEN" '${url}/auth/v2/users?limit=3&sortBy=email&pretty=true'
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' ${url}/auth/v1/selfsubjectaccessreviews \\
    -d '{"spec":{"resourceAttributes":{"verb":"list","group":"auth.platform.io","resource":"users"}}}'
  kubectl --kubeconfig ${kubeconfig} get users

Or make an access token, for a program that acts as you:
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' ${url}/auth/v1/accesstoken -d '{"description":"try"}'
  kubectl --kubeconfig ${kubeconfig} --token 'paste the token that starts with cat_' auth whoami

Ctrl-C stops it.`;
}
