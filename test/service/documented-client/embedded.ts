import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Dispatcher, fetch } from 'undici';
import { stringify } from 'yaml';
import { z } from 'zod';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { apiServer } from '../../support/api-server.ts';
import { ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { addLocalUser } from '../../support/local-user.ts';
import { Trusting } from '../../support/trusting.ts';
import { Browser } from '../identity/browser.ts';
import { aUser } from '../users/a-user.ts';
import type { SetUp } from './suite.ts';

interface Credentials {
  email: string;
  password: string;
}

/** Logs a user in at the page of the embedded issuer, up to its redirect. */
const atLoginPage =
  (origin: string, { email, password }: Credentials, dispatcher?: Dispatcher): SetUp['authenticate'] =>
  async (authURL) => {
    const browser = new Browser(origin, [origin], dispatcher && { dispatcher });
    const { url } = await browser.submit(await browser.get(authURL), { email, password });
    return new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1));
  };

const infoSchema = z.object({
  url: z.string(),
  people: z.array(z.object({ email: z.string(), password: z.string(), role: z.string() })),
});

/** Starts `npm run demo` with its defaults. */
export async function demo(): Promise<SetUp> {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-documented-'));
  const path = join(directory, 'info.json');
  const command = new Command(['sandbox', '--port', `${await freePort()}`, '--users', '3', '--info', path]);
  await eventually(
    () => command.process.exitCode !== null || command.stdout.includes('Ctrl-C'),
    (isReady) => isReady,
  );
  const { url, people } = infoSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  const admin = people.find(({ role }) => role === 'admin');
  if (admin === undefined) throw new Error('the demo names no administrator');
  return {
    base: url,
    authenticate: atLoginPage(url, admin),
    canRenew: true,
    image: { name: 'console-logo', key: 'logo.png' },
    file: '/',
    async stop() {
      await command.end();
      await rm(directory, { recursive: true });
    },
  };
}

const gif = 'R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';

/** Returns the objects of every cluster of these suites: the image, and all permissions for that user name. */
export const objectsFor = (subject: string): readonly Manifest[] => [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'documented-logo', namespace: serviceNamespace, labels: { 'console.platform.io/public': 'true' } },
    binaryData: { 'logo.gif': gif },
  },
  clusterRoleBinding('documented-client', 'cluster-admin', { kind: 'User', name: subject }),
];

export const image = { name: 'documented-logo', key: 'logo.gif' };

const admin: Credentials = { email: 'admin@example.com', password: 'documented horse battery' };

interface ServeOptions {
  basePath?: string;
  /** Default: `code`. The embedded issuer sends ID tokens to the browser over https only. */
  flow?: 'code' | 'id_token';
}

/** Starts `atrium serve` in a process of its own beside a cluster, with the minimal settings and those that a test varies. */
export async function serve({ basePath = '', flow = 'code' }: ServeOptions = {}): Promise<SetUp> {
  const cluster = await apiServer();
  const kubernetes = new ClusterAdmin(cluster, await cluster.token('admin'));
  const directory = await mkdtemp(join(tmpdir(), 'atrium-documented-'));
  const dispatcher = new Trusting(cluster.certificateAuthority);
  let command: Command | undefined;
  const stop = async () => {
    await command?.end();
    await dispatcher.close();
    await kubernetes.close();
    await cluster.stop();
    await rm(directory, { recursive: true });
  };
  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  try {
    await kubernetes.install();
    await kubernetes.applyFile('impersonation.yaml');
    await kubernetes.apply(...objectsFor(admin.email));
    await addLocalUser(kubernetes, aUser(admin.email), await new Passwords().hash(admin.password));
    const [port, metricsPort] = [await freePort(), await freePort()];
    const isSecure = flow === 'id_token';
    const origin = `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`;
    const config = {
      server: {
        host: '127.0.0.1',
        port,
        metricsPort,
        publicURL: `${origin}${basePath}`,
        ...(isSecure && {
          tls: {
            certFile: await file('serving.crt', cluster.serving.certificate),
            keyFile: await file('serving.key', cluster.serving.key),
          },
        }),
      },
      kubernetes: { namespace: serviceNamespace },
      ...(isSecure && { login: { responseMode: 'id_token', caFile: await file('ca.crt', cluster.certificateAuthority) } }),
    };
    const kubeconfig = await file('kubeconfig', stringify(kubeconfigOf(cluster, await kubernetes.serviceToken())));
    command = new Command(['serve', '--config', await file('atrium.yaml', stringify(config))], { KUBECONFIG: kubeconfig });
    await untilReady(command, `http://127.0.0.1:${metricsPort}/readyz`);
    return {
      base: `${origin}${basePath}`,
      dispatcher,
      authenticate: atLoginPage(origin, admin, dispatcher),
      canRenew: flow === 'code',
      image,
      file: '/',
      stop,
    };
  } catch (error) {
    const output = `${command?.stdout ?? ''}${command?.stderr ?? ''}`;
    await stop();
    throw new Error(`atrium serve did not come up: ${output}`, { cause: error });
  }
}

async function untilReady({ process }: Command, address: string): Promise<void> {
  await eventually(
    async () =>
      process.exitCode ??
      fetch(address).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  );
}

const kubeconfigOf = ({ url, certificateAuthority }: { url: string; certificateAuthority: string }, token: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    { name: 'test', cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } },
  ],
  users: [{ name: 'atrium', user: { token } }],
  contexts: [{ name: 'test', context: { cluster: 'test', user: 'atrium' } }],
  'current-context': 'test',
});
