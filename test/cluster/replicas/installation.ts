import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import { AccessRequests } from '../../service/access-requests/support.ts';
import { Reviews } from '../../service/binding-reviews/support.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { Balancer } from '../../support/balancer.ts';
import { ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { type ControlPlane, startControlPlane } from '../control-plane.ts';
import { Replica } from './replica.ts';

const root = new URL('../../../', import.meta.url);

/** Users with a static token at the API server. `callers.ts` grants their rights. */
export const tokenHolders = ['alice', 'bob', 'carol', 'dave', 'erin'] as const;
export type TokenHolder = (typeof tokenHolders)[number];

/** Local users of the embedded issuer, with the same password. Their group `dev` may read users. */
export const localUsers = Array.from({ length: 40 }, (_, index) => `person${index}@example.com`);
export const password = 'correct horse battery staple';

/** Sections of the configuration, as in the YAML file. */
export type Settings = Readonly<Record<string, unknown>>;

/** A build of the service. */
export interface Build {
  readonly program: string;
  /** Directory of its console. */
  readonly pages: string;
}

/** API server of an installation. */
interface ClusterOfReplicas extends Pick<ControlPlane, 'url' | 'certificateAuthority' | 'stop'> {
  tokens: ReadonlyMap<string, string>;
}

/** Two replicas of the built service behind two load balancers: on a real control plane with `TEST_CLUSTER=real`, or an embedded cluster. */
export class Installation {
  /** Load balancer of requests, at the public address. */
  readonly balancer = new Balancer({ of: 'requests' });
  /** Load balancer of connections. */
  readonly proxy = new Balancer({ of: 'connections' });
  readonly admin: ClusterAdmin;
  readonly replicas: Replica[] = [];
  readonly #cluster: ClusterOfReplicas;
  readonly #directory: string;
  readonly #more: Settings;
  readonly #host: string;
  #started = 0;
  /** Kills the replicas and deletes all files at the exit of the process. */
  readonly #abandon = () => {
    for (const replica of this.replicas) replica.abandon();
    rmSync(this.#directory, { recursive: true, force: true });
  };

  private constructor(parts: {
    cluster: ClusterOfReplicas;
    admin: ClusterAdmin;
    directory: string;
    settings: Settings;
    host: string;
  }) {
    this.admin = parts.admin;
    this.#more = parts.settings;
    this.#host = parts.host;
    this.#cluster = parts.cluster;
    this.#directory = parts.directory;
    process.once('exit', this.#abandon);
  }

  /**
   * @param settings of every replica, beside those that any replica needs
   * @param host of the public URL. Browsers have passkeys at `localhost`, and at no IP address
   * @param isEmpty starts no replica, and creates no user
   */
  static async start(settings: Settings = {}, host = '127.0.0.1', { isEmpty = false } = {}): Promise<Installation> {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-replicas-'));
    // A build of its own tests the current code, independent of other builds.
    await promisify(execFile)('npm', ['run', 'build', '--', `--outfile=${directory}/atrium.js`], { cwd: fileURLToPath(root) });
    const cluster = await (process.env.TEST_CLUSTER === 'real' ? controlPlane() : embeddedCluster());
    const admin = new ClusterAdmin(cluster, cluster.tokens.get('admin') ?? '');
    const installation = new Installation({ cluster, admin, directory, settings, host });
    try {
      await installation.balancer.start();
      await installation.proxy.start();
      await installation.#install(isEmpty ? [] : localUsers);
      if (!isEmpty)
        for (const replica of await Promise.all([installation.startReplica(), installation.startReplica()])) await untilLoginWorks(replica);
    } catch (error) {
      await installation.stop();
      throw error;
    }
    return installation;
  }

  get url(): string {
    return this.balancer.url.replace('127.0.0.1', this.#host);
  }

  token(person: string): string {
    const token = this.#cluster.tokens.get(person);
    if (token === undefined) throw new Error(`${person} has no token`);
    return token;
  }

  /** Requests of people with tokens of the API server, at the public address. */
  accessRequests(): AccessRequests {
    return new AccessRequests(this.#askedAt(this.url));
  }

  /** Reviews of bindings, by people with tokens of the API server. @param url of a replica; default: the public address */
  reviews(url = this.url): Reviews {
    return new Reviews(this.#askedAt(url));
  }

  #askedAt(url: string): ConstructorParameters<typeof AccessRequests>[0] {
    return {
      kubernetes: this.admin,
      request: (path, { as = 'alice', token, body, headers, ...options } = {}) =>
        fetch(new URL(path, url), {
          ...options,
          headers: { ...headers, authorization: `Bearer ${token ?? this.token(as)}`, 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
    };
  }

  /**
   * Starts a replica. Resolves when the load balancers send requests to it.
   *
   * @param build Default: the present one.
   */
  async startReplica({ program, pages }: Build = this.present): Promise<Replica> {
    this.#started += 1;
    const configFile = join(this.#directory, `config-${this.#started}.yaml`);
    await writeFile(configFile, stringify({ ...this.#settings, console: { static: { directory: pages } } }));
    const replica = await Replica.start(`${this.#started}`, { program, configFile });
    this.replicas.push(replica);
    this.balancer.add(replica);
    this.proxy.add(replica);
    await eventually(
      () => this.balancer.isReady(replica) && this.proxy.isReady(replica),
      (isReady) => isReady,
    );
    return replica;
  }

  /** Stops a replica by SIGTERM. @returns its exit code */
  async stopReplica(replica: Replica): Promise<number | null> {
    const code = await replica.terminate();
    this.#forget(replica);
    return code;
  }

  async killReplica(replica: Replica): Promise<void> {
    await replica.kill();
    this.#forget(replica);
  }

  async stop(): Promise<void> {
    for (const replica of [...this.replicas]) await this.killReplica(replica);
    await this.balancer.stop();
    await this.proxy.stop();
    await this.admin.close();
    await this.#cluster.stop();
    process.off('exit', this.#abandon);
    await rm(this.#directory, { recursive: true, force: true });
  }

  #forget(replica: Replica): void {
    this.replicas.splice(this.replicas.indexOf(replica), 1);
    this.balancer.remove(replica);
    this.proxy.remove(replica);
  }

  async #install(emails: readonly string[]): Promise<void> {
    const { admin } = this;
    await admin.install();
    const impersonation = await readFile(new URL('deploy/manifests/impersonation.yaml', root), 'utf8');
    await admin.apply(...parseAllDocuments(impersonation).map((document): Manifest => document.toJS()));
    await admin.apply(clusterRoleBinding('dev-looks-at-users', 'atrium-users-view', { kind: 'Group', name: 'dev' }));
    const hash = await new Passwords().hash(password);
    for (const email of emails) await this.#addLocalUser(email, hash);
    await this.#writeKubeconfig(this.kubeconfig, await admin.serviceToken());
    await this.#writeKubeconfig(this.adminKubeconfig, this.token('admin'));
  }

  get present(): Build {
    return { program: join(this.#directory, 'atrium.js'), pages: fileURLToPath(new URL('web/dist', root)) };
  }

  /** Settings of every replica. */
  get #settings() {
    return {
      server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: this.url },
      kubernetes: { kubeconfig: this.kubeconfig, namespace: serviceNamespace, credentials: 'impersonate' },
      ...this.#more,
    };
  }

  /** Path of the kubeconfig with the account of the service. */
  get kubeconfig(): string {
    return join(this.#directory, 'kubeconfig');
  }

  /** Path of the kubeconfig of a cluster administrator. */
  get adminKubeconfig(): string {
    return join(this.#directory, 'admin-kubeconfig');
  }

  #writeKubeconfig(path: string, token: string): Promise<void> {
    return writeFile(path, kubeconfigOf(this.#cluster, token), { mode: 0o600 });
  }

  async #addLocalUser(email: string, hash: string): Promise<void> {
    await this.admin.apply(aUser(email, { groups: ['dev'] }));
    const { body } = await this.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`);
    const { metadata: user } = z.object({ metadata: z.object({ name: z.string(), uid: z.string() }) }).parse(body);
    await this.admin.apply(passwordSecret({ user, namespace: serviceNamespace, hash, changedAt: new Date() }));
  }
}

/** Waits for logins. The first replicas find their issuer, which they serve themselves, only behind the load balancer. */
const untilLoginWorks = ({ url }: Replica) =>
  eventually(
    async () => (await fetch(`${url}/api/v2/token/login`)).status,
    (status) => status === 200,
  );

const people = ['admin', ...tokenHolders];

async function controlPlane(): Promise<ClusterOfReplicas> {
  const plane = await startControlPlane({ people });
  const [document] = parseAllDocuments(await readFile(plane.kubeconfig, 'utf8'));
  const user = z.object({ name: z.string(), user: z.object({ token: z.string() }) });
  const { users } = z.object({ users: z.array(user) }).parse(document?.toJS());
  return { ...plane, tokens: new Map(users.map(({ name, user: { token } }) => [name, token])) };
}

async function embeddedCluster(): Promise<ClusterOfReplicas> {
  const cluster = await Cluster.start({ hasWorkloads: true });
  const tokens = new Map<string, string>();
  for (const username of people)
    tokens.set(username, await cluster.issueToken({ username, groups: username === 'admin' ? ['system:masters'] : [] }));
  return { url: cluster.url, certificateAuthority: cluster.certificateAuthority, tokens, stop: () => cluster.stop() };
}

const kubeconfigOf = ({ url, certificateAuthority }: ClusterOfReplicas, token: string) =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'atrium',
    clusters: [
      { name: 'test', cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } },
    ],
    users: [{ name: 'atrium', user: { token } }],
    contexts: [{ name: 'atrium', context: { cluster: 'test', user: 'atrium', namespace: serviceNamespace } }],
  });
