import { fileURLToPath } from 'node:url';
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
export const chart = fileURLToPath(new URL('../../../deploy/helm/atrium', import.meta.url));

/** No keep-alive: each request is a connection of its own, which the Service gives to the next Pod. */
const once = { connection: 'close' };

/** What an administrator who installs the chart sets; everything else is its default. */
export const values = [
  ...['--set', `image.repository=${repository}`],
  ...['--set', `config.server.publicURL=${publicURL}`],
  ...['--set', `admin.email=${firstAdmin}`],
];

/**
 * The chart's release in a namespace where the API server itself holds every Pod to the standard `restricted`, with its Services for
 * for every client: Pods by name, the test by `url`.
 */
export class Release {
  readonly #cluster: WholeCluster;
  readonly #proxies: ServiceProxy[];
  /** Of the Service: each request without keep-alive goes to the next replica. */
  readonly url: string;

  private constructor(cluster: WholeCluster, url: string, proxies: ServiceProxy[]) {
    this.#cluster = cluster;
    this.url = url;
    this.#proxies = proxies;
  }

  /** The namespace and the Services' addresses; nothing is installed yet. */
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
    // What an ingress controller would do for browsers.
    cluster.hosts[new URL(publicURL).hostname] = address;
    for (const { proxy } of proxies) proxy.start();
    return new Release(
      cluster,
      `http://${address}`,
      proxies.map(({ proxy }) => proxy),
    );
  }

  /** @param path of the chart */
  install(path: string, ...args: string[]): Promise<Ran> {
    return this.#helm('install', path, ...values, ...args);
  }

  upgrade(...args: string[]): Promise<Ran> {
    return this.#helm('upgrade', chart, ...args);
  }

  /** To the revision before. */
  rollback(): Promise<Ran> {
    return this.#cluster.helm('rollback', release, '--namespace', namespace, '--wait', '--timeout', '90s');
  }

  test(): Promise<Ran> {
    return this.#cluster.helm('test', release, '--namespace', namespace, '--timeout', '60s');
  }

  uninstall(): Promise<Ran> {
    return this.#cluster.helm('uninstall', release, '--namespace', namespace, '--wait', '--timeout', '60s');
  }

  /** kubectl in the release's namespace. */
  kubectl(...args: string[]): Promise<Ran> {
    return this.#cluster.kubectl('--namespace', namespace, ...args);
  }

  /** Addresses of the Pods that connections go to. */
  get endpoints(): readonly string[] {
    return this.#proxies[0]?.endpoints ?? [];
  }

  /** Resolves when none but `replicas` Pods run, and connections go to all of them. */
  async settles(replicas = 2): Promise<void> {
    await eventually(
      () => this.pods.map(({ address }) => address).sort(),
      (addresses) => addresses.length === replicas && `${addresses}` === `${[...this.endpoints].sort()}`,
    );
  }

  /** Those that have something to do. */
  get pods(): RunningPod[] {
    return this.#cluster.kubelet.pods.filter((pod) => pod.namespace === namespace && !pod.hasEnded);
  }

  /** Without keep-alive. */
  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { redirect: 'manual', headers: { ...once, ...headers } });
  }

  /** A login at the embedded provider, each of its requests at the next replica. @throws Error with the page or answer that it ended at */
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

  /** Takes everything away, also what an uninstallation leaves. */
  async destroy(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
    await this.#cluster.helm('uninstall', release, '--namespace', namespace, '--ignore-not-found');
    await this.kubectl('delete', 'pods', '--all', '--force', '--grace-period', '0');
    await this.#cluster.kubectl('delete', 'namespace', namespace);
    // Without a store, which kube-apiserver makes at the first request for a kind, the deletion of a definition may take five minutes.
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
  /** Chosen on the page that asks for one. */
  newPassword?: string;
  storage?: 'cookie' | 'local';
}

export interface LogIn {
  /** UserInfo. */
  info: { name: string; ext: { user: string; must_change_password: boolean; token?: { access_token: string } } };
  /** What the browser sends from now on, with storage `cookie`. */
  cookie: string;
}
