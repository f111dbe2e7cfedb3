import { after } from 'mocha';

/** `admin` is in the group `system:masters`; the others are users without any binding. */
const people = ['admin', 'alice', 'bob', 'carol', 'viewer', 'manager', 'nobody'] as const;
export type Person = (typeof people)[number];

/** A Kubernetes API server as the suites see it: an address, what verifies it, and bearer tokens. */
export interface ApiServer {
  url: string;
  /** PEM bundle. */
  certificateAuthority: string;
  token(person: Person): Promise<string>;
  stop(): Promise<void>;
}

/**
 * The server under test: the one of the kubeconfig file `TEST_KUBECONFIG` (a user with a token for each of `people`), with
 * `TEST_CLUSTER=real` a control plane that is started once per run, otherwise an embedded cluster of the caller's own.
 */
export async function apiServer(): Promise<ApiServer> {
  if (process.env.TEST_KUBECONFIG) return fromKubeconfig(process.env.TEST_KUBECONFIG);
  if (process.env.TEST_CLUSTER === 'real') return fromKubeconfig((await controlPlane()).kubeconfig);
  return embedded();
}

let started: Promise<{ kubeconfig: string; stop(): Promise<void> }> | undefined;

function controlPlane() {
  started ??= import('../cluster/control-plane.ts').then(({ startControlPlane }) => startControlPlane(people));
  return started;
}

after(async () => (await started)?.stop());

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

async function embedded(): Promise<ApiServer> {
  const { Cluster } = await import('../../src/sandbox/cluster.ts');
  const cluster = await Cluster.start({});
  return {
    url: cluster.url,
    certificateAuthority: cluster.certificateAuthority,
    token: async (person) => cluster.issueToken({ username: person, groups: person === 'admin' ? ['system:masters'] : [] }),
    stop: () => cluster.stop(),
  };
}
