import type { AuditWebhook, TokenWebhook, TrustedIssuer } from '../cluster/authentication-config.ts';
import { type KeyPair, loopbackCertificates } from '../cluster/certificates.ts';
import { ClusterAdmin, eventually, installation } from './cluster-admin.ts';

/** `admin` is in the group `system:masters`; the others are users without any binding. */
const people = ['admin', 'alice', 'bob', 'carol', 'viewer', 'manager', 'nobody'] as const;
export type Person = (typeof people)[number];

/** A Kubernetes API server for the suites: its address, the certificate authority that verifies it, and bearer tokens. */
export interface ApiServer {
  url: string;
  /** PEM bundle. */
  certificateAuthority: string;
  token(person: Person): Promise<string>;
  /** True if the cluster already has the objects of an installation. */
  isInstalled?: boolean;
  stop(): Promise<void>;
}

/** A server for one suite, which may bind roles, trust issuers and inject failures. */
export interface OwnApiServer extends ApiServer {
  /** Key pair for https servers on 127.0.0.1 or localhost, such as an issuer: `certificateAuthority` verifies it. */
  serving: KeyPair;
  /** Path of its audit log, one JSON object a line; the embedded cluster keeps none. */
  auditLog: string | undefined;
  /**
   * Makes the API server accept tokens of a running issuer. kube-apiserver restarts for it (3 s); name a known issuer at the start instead.
   */
  trustIssuer(issuer: TrustedIssuer): Promise<void>;
}

export interface ApiServerOptions {
  /** Issuers that are trusted from the start; they must be running. */
  issuers?: readonly TrustedIssuer[];
  /** Reviews tokens of all other issuers, with a token of one of the people; need not be running yet. */
  tokenWebhook?: TokenWebhook;
  /** Receives the audit events of a new control plane; the embedded cluster has none. */
  auditWebhook?: AuditWebhook | undefined;
  /**
   * Allows a server that another suite had before: the objects of that suite are deleted, and those of an installation exist. Default: a
   * new server.
   */
  isReused?: boolean;
  /** Further controllers of a control plane, by the names of kube-controller-manager. */
  controllers?: readonly string[];
  /** Runs workloads in the embedded cluster; kube-apiserver always has them. */
  hasWorkloads?: boolean;
  /** Clock of the embedded cluster; the clock of kube-apiserver cannot be replaced. */
  now?: () => Date;
}

const isReal = process.env.TEST_CLUSTER === 'real';

/** Starts a server for the caller alone: with `TEST_CLUSTER=real` a control plane, ready in 4 s, otherwise an embedded cluster. */
export const apiServer = (options: ApiServerOptions = {}): Promise<OwnApiServer> =>
  isReal ? (options.isReused ? reused(options) : real(options)) : embedded(options);

/**
 * Returns a server for suites that keep to a namespace of their own: that of the kubeconfig file `TEST_KUBECONFIG` (a user with a token for
 * each of `people`), with `TEST_CLUSTER=real` a control plane that is started once per run, otherwise an embedded cluster.
 */
export async function sharedApiServer(): Promise<ApiServer> {
  if (process.env.TEST_KUBECONFIG) return fromKubeconfig(process.env.TEST_KUBECONFIG);
  if (!isReal) return embedded({});
  shared ??= real({});
  return { ...(await shared), async stop() {} };
}

let shared: Promise<OwnApiServer> | undefined;

// Benchmarks run outside mocha and never share a server.
globalThis.after?.(async () => (await shared)?.stop());

async function real({ issuers = [], tokenWebhook, auditWebhook, controllers = [] }: ApiServerOptions): Promise<OwnApiServer> {
  const { startControlPlane } = await import('../cluster/control-plane.ts');
  const plane = await startControlPlane({ people, issuers, tokenWebhook, auditWebhook, controllers });
  const server = await fromKubeconfig(plane.kubeconfig);
  for (const issuer of issuers) await untilTrusted(server, issuer);
  return {
    ...server,
    serving: plane.serving,
    auditLog: plane.auditLog,
    async trustIssuer(issuer) {
      await plane.trustIssuer(issuer);
      await plane.restartApiServer();
      await untilTrusted(server, issuer);
    },
    stop: () => plane.stop(),
  };
}

async function reused({ issuers = [] }: ApiServerOptions): Promise<OwnApiServer> {
  const { ReusedPlane } = await import('./reused-plane.ts');
  const reused = await ReusedPlane.take(people, ({ kubeconfig }) => fromKubeconfig(kubeconfig));
  const server = await fromKubeconfig(reused.plane.kubeconfig);
  const trust = async (...trusted: readonly TrustedIssuer[]) => {
    await reused.trust(...trusted);
    for (const issuer of trusted) await untilTrusted(server, issuer);
  };
  if (issuers.length > 0) await trust(...issuers);
  return {
    ...server,
    isInstalled: true,
    serving: reused.plane.serving,
    auditLog: reused.plane.auditLog,
    trustIssuer: (issuer) => trust(issuer),
    stop: () => reused.giveBack(),
  };
}

/** Waits until kube-apiserver verifies tokens of an issuer: it fetches the keys in the background, also after it is ready. */
async function untilTrusted(server: ApiServer, { url }: TrustedIssuer): Promise<void> {
  const admin = new ClusterAdmin(server, await server.token('admin'));
  const token = [{ alg: 'RS256' }, { iss: url }, {}].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
  await eventually(
    () => admin.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review),
    ({ body }) => JSON.stringify(body).includes('oidc: verify token'),
  );
  await admin.close();
}

async function fromKubeconfig(path: string): Promise<ApiServer> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (!cluster?.caData) throw new Error(`${path} names no cluster with certificate-authority-data`);
  return {
    url: cluster.server,
    certificateAuthority: Buffer.from(cluster.caData, 'base64').toString(),
    async token(person) {
      const token = config.getUser(person)?.token;
      if (!token) throw new Error(`${path} has no token for ${person}`);
      return token;
    },
    async stop() {},
  };
}

/** Certificate authority of all embedded clusters of a process: generating keys and signatures is slow. */
let certificates: ReturnType<typeof loopbackCertificates> | undefined;

async function embedded({
  issuers = [],
  tokenWebhook,
  now,
  isReused = false,
  hasWorkloads = false,
}: ApiServerOptions): Promise<OwnApiServer> {
  const { Cluster } = await import('@atrium/embedded-cluster/cluster.ts');
  certificates ??= loopbackCertificates();
  const { authority, serving } = await certificates;
  // The authority of the API server also verifies the servers of the tests, as on the control plane.
  const trusted = (issuer: TrustedIssuer) => ({ certificateAuthority: authority.certificate, ...issuer });
  const cluster = await Cluster.start({ issuers: issuers.map(trusted), hasWorkloads, ...(now && { now }) });
  if (tokenWebhook) {
    const token = people.some((person) => person === tokenWebhook.as)
      ? await cluster.issueToken({ username: tokenWebhook.as })
      : tokenWebhook.as;
    cluster.askTokenWebhook({ url: tokenWebhook.url, token, certificateAuthority: authority.certificate });
  }
  // Calls in the process take a fraction of the time of requests.
  if (isReused) await cluster.apply(...(await installation()));
  return {
    url: cluster.url,
    certificateAuthority: `${cluster.certificateAuthority}\n${authority.certificate}`,
    isInstalled: isReused,
    serving,
    auditLog: undefined,
    token: async (person) => cluster.issueToken({ username: person, groups: person === 'admin' ? ['system:masters'] : [] }),
    trustIssuer: async (issuer) => cluster.trustIssuer(trusted(issuer)),
    stop: () => cluster.stop(),
  };
}
