import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import type { ControlPlane } from '../../test/cluster/control-plane.ts';
import { freePort } from '../../test/support/free-port.ts';
import { writeServiceAccount } from '../../test/tools/image/service-account.ts';
import { Measured } from './process.ts';

/** A running server, with the process whose CPU is counted. */
export interface Target {
  url: string;
  pid: number;
  /** Address of the metrics of the service, which report for how long its event loop was blocked. */
  metricsURL?: string;
  end(): Promise<void>;
}

export interface ServerContext {
  /** Directory for the files that the servers need. */
  directory: string;
  /** Directory of the files that all of them serve. */
  files: string;
  plane: ControlPlane;
  adminToken: string;
  serviceToken: string;
  /** True if perf needs the names of the service's functions. */
  isDrawn: boolean;
}

/** Additional options of the service, by which perf knows the names of compiled functions. */
const namesForPerf = '--perf-basic-prof --interpreted-frames-native-stack';
const bare = new URL('bare.ts', import.meta.url).pathname;
const bareProxyProgram = new URL('bare-proxy.ts', import.meta.url).pathname;

export async function bareServer(kind: 'node' | 'koa', { directory, files }: ServerContext): Promise<Target> {
  const port = await freePort();
  const program = await Measured.start([process.execPath, bare, kind, `${port}`, files], { logFile: join(directory, `${kind}.log`) });
  return targetOf(program, port);
}

/** Starts Koa with undici, without the checks of a service before it forwards a request. */
export async function bareProxy({ directory, plane, adminToken }: ServerContext): Promise<Target> {
  const port = await freePort();
  const authority = join(directory, 'authority.crt');
  await writeFile(authority, plane.certificateAuthority);
  const program = await Measured.start([process.execPath, bareProxyProgram, `${port}`], {
    logFile: join(directory, 'proxy.log'),
    environment: { API_SERVER: plane.url, API_TOKEN: adminToken, API_AUTHORITY: authority },
  });
  return targetOf(program, port);
}

/** Starts nginx with one worker, and Debian's defaults otherwise; connections to the API server are kept alive. */
export async function nginx({ directory, files, plane, adminToken }: ServerContext): Promise<Target> {
  const port = await freePort();
  const home = join(directory, 'nginx');
  await mkdir(home);
  await writeFile(join(home, 'ca.crt'), plane.certificateAuthority);
  await writeFile(
    join(home, 'nginx.conf'),
    `daemon off; master_process off; pid ${home}/pid; error_log ${home}/error.log;
events { worker_connections 1024; }
http {
  sendfile on; tcp_nopush on; access_log ${home}/access.log; keepalive_requests 1000000;
  client_body_temp_path ${home}; proxy_temp_path ${home}; fastcgi_temp_path ${home}; uwsgi_temp_path ${home}; scgi_temp_path ${home};
  upstream api { server ${new URL(plane.url).host}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    location / { root ${files}; }
    location /apis/ {
      proxy_pass https://api; proxy_http_version 1.1; proxy_set_header Connection '';
      proxy_set_header Authorization 'Bearer ${adminToken}';
      proxy_ssl_verify on; proxy_ssl_trusted_certificate ${home}/ca.crt; proxy_ssl_name localhost; proxy_ssl_session_reuse on;
    }
  }
}
`,
    { mode: 0o600 },
  );
  const program = await Measured.start(['nginx', '-p', home, '-c', join(home, 'nginx.conf')], { logFile: join(directory, 'nginx.log') });
  return targetOf(program, port);
}

/** Starts Go's HTTP server, file server and reverse proxy, which other consoles in Go use. */
export async function kubectlProxy({ directory, files, plane }: ServerContext): Promise<Target> {
  const port = await freePort();
  const args = ['proxy', `--kubeconfig=${plane.kubeconfig}`, `--port=${port}`, `--www=${files}`, '--www-prefix=/static/'];
  const program = await Measured.start(['kubectl', ...args], { logFile: join(directory, 'kubectl.log') });
  return targetOf(program, port);
}

/**
 * Starts `atrium serve` as in its image: the built program, its environment, and an account that a kubelet mounts.
 *
 * @param settings added to the YAML file
 */
export async function atrium(
  name: string,
  dist: string,
  context: ServerContext,
  settings: Record<string, unknown> = {},
): Promise<Target & { metricsURL: string }> {
  const { directory, files, plane, serviceToken, isDrawn } = context;
  const [port, metricsPort] = [await freePort(), await freePort()];
  const home = join(directory, name);
  await mkdir(home);
  const account = join(home, 'account');
  await writeServiceAccount(account, plane, serviceToken);
  const config = join(home, 'config.yaml');
  await writeFile(
    config,
    stringify({
      server: { host: '127.0.0.1', port, metricsPort, publicURL: `http://127.0.0.1:${port}` },
      console: { static: { directory: files } },
      ...settings,
    }),
  );
  const { hostname, port: apiPort } = new URL(plane.url);
  const mount = ['--tmpfs', '/run', '--ro-bind', account, '/run/secrets/kubernetes.io/serviceaccount'];
  const program = await Measured.start(
    [
      'bwrap',
      '--dev-bind',
      '/',
      '/',
      ...mount,
      '--info-fd',
      '3',
      process.execPath,
      '--heap-growing-percent=50',
      join(resolve(dist), 'atrium.js'),
      'serve',
      '--config',
      config,
    ],
    {
      logFile: join(directory, `${name}.log`),
      isContained: true,
      environment: {
        NODE_ENV: 'production',
        NODE_OPTIONS: `--max-semi-space-size=4${isDrawn ? ` ${namesForPerf}` : ''}`,
        MALLOC_ARENA_MAX: '2',
        MALLOC_TRIM_THRESHOLD_: '131072',
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: apiPort,
      },
    },
  );
  const metricsURL = `http://127.0.0.1:${metricsPort}`;
  await program.until(`${metricsURL}/readyz`);
  return { ...(await targetOf(program, port)), metricsURL };
}

async function targetOf(program: Measured, port: number): Promise<Target> {
  const url = `http://127.0.0.1:${port}`;
  await program.until(`${url}/`, () => true);
  return { url, pid: program.pid, end: () => program.end() };
}
