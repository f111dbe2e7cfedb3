import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { helmProgram } from '../../cluster/build.ts';
import { Browser } from '../../service/identity/browser.ts';
import { eventually } from '../../support/cluster-admin.ts';
import type { Ran, WholeCluster } from './cluster.ts';
import type { RunningPod } from './pod.ts';
import { ServiceProxy } from './service-proxy.ts';

export const namespace = 'atrium-system';
export const release = 'atrium';
export const publicURL = 'http://console.test';
export const repository = 'registry.test/console/atrium';
export const firstAdmin = 'ada@example.com';
const repositoryFolder = fileURLToPath(new URL('../../../', import.meta.url));
export const chart = join(repositoryFolder, 'deploy/helm/atrium');

/** Writes the artifacts of a release into a folder. @returns the path of the packaged chart */
export async function packagedChart(outdir: string): Promise<string> {
  const env = { ...process.env, PATH: `${dirname(await helmProgram())}:${process.env.PATH}` };
  await promisify(execFile)(process.execPath, ['scripts/write-release.ts', '--outdir', outdir], { cwd: repositoryFolder, env });
  const [file] = (await readdir(outdir)).filter((name) => /^atrium-[\d.]+\.tgz$/.test(name));
  if (file === undefined) throw new Error('the release has no chart');
  return join(outdir, file);
}

/** Disables keep-alive: each request opens a connection, which the Service sends to the next Pod. */
const once = { connection: 'close' };

/** Values that an administrator must set to install the chart. All others are defaults. */
export const values = [
  ...['--set', `image.repository=${repository}`],
  ...['--set', `config.server.publicURL=${publicURL}`],
  ...['--set', `admin.email=${firstAdmin}`],
];

/**
 * The chart's release in a namespace where the API server enforces the Pod security standard `restricted`. Pods reach its Services by
 * name, the test by `url`.
 */
export class Release {
  readonly #cluster: WholeCluster;
  readonly #proxies: ServiceProxy[];
  /** URL of the Service. Each request without keep-alive goes to the next replica. */
  readonly url: string;

  private constructor(cluster: WholeCluster, url: string, proxies: ServiceProxy[]) {
    this.#cluster = cluster;
    this.url = url;
    this.#proxies = proxies;
  }

  /** Creates the namespace and the addresses of the Services, before an installation. */
  static async prepare(cluster: WholeCluster): Promise<Release> {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await cluster.admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
    const { kubeconfig } = cluster.controlPlane;
    const proxies = [release, `${release}-metrics`].map((service) => {
      const address = cluster.network.address();
      cluster.hosts[`${service}.${namespace}.svc`] = address;
      return { address, proxy: new ServiceProxy({ kubeconfig, namespace, service, network: cluster.network, address }) };
    });
    const address = proxies[0]?.address ?? '';
    // An ingress controller would do this for browsers.
    cluster.hosts[new URL(publicURL).hostname] = address;
    for (const { proxy } of proxies) proxy.start();
    return new Release(
      cluster,
      `http://${address}`,
      proxies.map(({ proxy }) => proxy),
    );
  }

  /** Installs the chart at a path. */
  install(path: string, ...args: string[]): Promise<Ran> {
    return this.#helm('install', path, ...values, ...args);
  }

  upgrade(...args: string[]): Promise<Ran> {
    return this.#helm('upgrade', chart, ...args);
  }

  /** Returns to the previous revision. */
  rollback(): Promise<Ran> {
    return this.#cluster.helm('rollback', release, '--namespace', namespace, '--wait', '--timeout', '90s');
  }

  test(): Promise<Ran> {
    return this.#cluster.helm('test', release, '--namespace', namespace, '--timeout', '60s');
  }

  uninstall(): Promise<Ran> {
    return this.#cluster.helm('uninstall', release, '--namespace', namespace, '--wait', '--timeout', '60s');
  }

  /** Runs kubectl in the release's namespace. */
  kubectl(...args: string[]): Promise<Ran> {
    return this.#cluster.kubectl('--namespace', namespace, ...args);
  }

  /** Addresses of the Pods that receive connections. */
  get endpoints(): readonly string[] {
    return this.#proxies[0]?.endpoints ?? [];
  }

  /** Resolves when exactly `replicas` Pods run and all of them receive connections. */
  async settles(replicas = 2): Promise<void> {
    await eventually(
      () => this.pods.map(({ address }) => address).sort(),
      (addresses) => addresses.length === replicas && `${addresses}` === `${[...this.endpoints].sort()}`,
    );
  }

  /** Pods that have not ended. */
  get pods(): RunningPod[] {
    return this.#cluster.kubelet.pods.filter((pod) => pod.namespace === namespace && !pod.hasEnded);
  }

  /** Sends a GET request without keep-alive. */
  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { redirect: 'manual', headers: { ...once, ...headers } });
  }

  /** Logs in at the embedded provider, with each request at the next replica. @throws Error with the last page if the login fails */
  async logIn({ email, password, newPassword, storage = 'cookie' }: Credentials): Promise<LogIn> {
    const browser = new Browser(publicURL, [this.url], { headers: once });
    const { auth_url } = JSON.parse((await browser.get(`${publicURL}/api/v2/token/login?token_storage=${storage}`)).body);
    let visit = await browser.submit(await browser.get(auth_url), { email, password });
    if (newPassword !== undefined) visit = await browser.submit(visit, { new_password: newPassword, new_password_again: newPassword });
    if (!visit.url.searchParams.has('code')) throw new Error(`no log-in: ${visit.url} ${visit.body}`);
    const { response, body } = await browser.get(`${publicURL}/api/v2/token/callback${visit.url.search}`);
    if (response.status !== 200) throw new Error(`no log-in: ${response.status} ${body}`);
    const cookie = browser.cookies.find(({ name }) => name.startsWith('atrium_session_'));
    return { info: JSON.parse(body), cookie: `${cookie?.name}=${cookie?.value}` };
  }

  /** Deletes all objects, also the ones that an uninstallation keeps. */
  async destroy(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
    await this.#cluster.helm('uninstall', release, '--namespace', namespace, '--ignore-not-found');
    await this.kubectl('delete', 'pods', '--all', '--force', '--grace-period', '0');
    await this.#cluster.kubectl('delete', 'namespace', namespace);
    // The deletion of a definition may take five minutes without a store, which kube-apiserver creates at the first request for a kind.
    const { stdout } = await this.#cluster.kubectl('get', 'crds', '--output=jsonpath={.items[*].metadata.name}');
    if (stdout !== '') await this.#cluster.kubectl('get', stdout.trim().replaceAll(' ', ','), '--all-namespaces');
    await this.#cluster.kubectl('delete', 'customresourcedefinitions', '--all');
  }

  #helm(verb: string, path: string, ...args: string[]): Promise<Ran> {
    return this.#cluster.helm(verb, release, path, '--namespace', namespace, '--wait', '--timeout', '90s', ...args);
  }
}

interface Credentials {
  email: string;
  password: string;
  /** New password for the page that requires a change. */
  newPassword?: string;
  storage?: 'cookie' | 'local';
}

export interface LogIn {
  /** Body of the login's answer. */
  info: { name: string; ext: { user: string; must_change_password: boolean; token?: { access_token: string } } };
  /** `Cookie` header of the session, with storage `cookie`. */
  cookie: string;
}
