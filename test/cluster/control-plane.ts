import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import { controlPlanePrograms } from './build.ts';
import { loopbackCertificates } from './certificates.ts';

const startDeadline = 60_000;
const controllers = [
  'garbage-collector-controller',
  'namespace-controller',
  'clusterrole-aggregation-controller',
  'certificatesigningrequest-signing-controller',
  'certificatesigningrequest-cleaner-controller',
];

export interface ControlPlane {
  url: string;
  /** PEM bundle that verifies `url`. */
  certificateAuthority: string;
  /** Path of a kubeconfig with a user and a context for each person and `admin` as the current one. */
  kubeconfig: string;
  stop(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on free ports of 127.0.0.1, all their files in one temporary
 * folder that goes at `stop()`. Of `people`, who all get a static token, only `admin` has rights (group `system:masters`). Resolves when the API server is ready; rejects with the end of the log of the program that failed.
 */
export async function startControlPlane(people: readonly string[]): Promise<ControlPlane> {
  const programs = await controlPlanePrograms();
  const directory = await mkdtemp(join(tmpdir(), 'atrium-control-plane-'));
  const started: ChildProcess[] = [];
  const abandon = () => {
    for (const child of started) child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  const stop = async () => {
    process.off('exit', abandon);
    for (const child of started.reverse()) await end(child);
    await rm(directory, { recursive: true, force: true });
  };
  const start = (name: string, flags: Record<string, string>) => {
    const log = openSync(join(directory, `${name}.log`), 'w');
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    started.push(spawn(join(programs, name), args, { cwd: directory, stdio: ['ignore', log, log] }));
  };

  try {
    const [etcdPort, etcdPeerPort, port] = await freePorts();
    const url = `https://127.0.0.1:${port}`;
    const { authority, serving } = await loopbackCertificates();
    const tokens = new Map(people.map((person) => [person, randomBytes(24).toString('base64url')]));
    const adminToken = tokens.get('admin') ?? '';
    const write = (name: string, content: string) => writeFile(join(directory, name), content, { mode: 0o600 });
    await write('ca.crt', authority.certificate);
    await write('ca.key', authority.key);
    await write('serving.crt', serving.certificate);
    await write('serving.key', serving.key);
    await write('service-account.key', serviceAccountKey());
    await write('tokens.csv', tokenFile(tokens));
    await write('kubeconfig', kubeconfig(url, authority.certificate, tokens));

    start('etcd', {
      'data-dir': 'etcd',
      'listen-client-urls': `http://127.0.0.1:${etcdPort}`,
      'advertise-client-urls': `http://127.0.0.1:${etcdPort}`,
      'listen-peer-urls': `http://127.0.0.1:${etcdPeerPort}`,
      'unsafe-no-fsync': 'true',
      'log-level': 'error',
    });
    start('kube-apiserver', {
      'etcd-servers': `http://127.0.0.1:${etcdPort}`,
      'bind-address': '127.0.0.1',
      'advertise-address': '127.0.0.1',
      'secure-port': `${port}`,
      'tls-cert-file': 'serving.crt',
      'tls-private-key-file': 'serving.key',
      'client-ca-file': 'ca.crt',
      'token-auth-file': 'tokens.csv',
      'authorization-mode': 'RBAC',
      'disable-admission-plugins': 'ServiceAccount',
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-signing-key-file': 'service-account.key',
      'service-account-key-file': 'service-account.key',
      'service-cluster-ip-range': '10.0.0.0/24',
      'endpoint-reconciler-type': 'none',
    });
    await ready({
      url,
      certificateAuthority: authority.certificate,
      token: adminToken,
      log: join(directory, 'kube-apiserver.log'),
      started,
    });
    start('kube-controller-manager', {
      kubeconfig: 'kubeconfig',
      controllers: controllers.join(','),
      'leader-elect': 'false',
      'secure-port': '0',
      'cluster-signing-cert-file': 'ca.crt',
      'cluster-signing-key-file': 'ca.key',
    });
    return { url, certificateAuthority: authority.certificate, kubeconfig: join(directory, 'kubeconfig'), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Awaited {
  url: string;
  certificateAuthority: string;
  token: string;
  log: string;
  started: ChildProcess[];
}

async function ready({ url, certificateAuthority, token, log, started }: Awaited): Promise<void> {
  const dispatcher = new Agent({ connect: { ca: certificateAuthority } });
  const deadline = Date.now() + startDeadline;
  try {
    for (;;) {
      const status = await request(`${url}/readyz`, { dispatcher, headers: { authorization: `Bearer ${token}` } }).then(
        async (response) => {
          await response.body.dump();
          return response.statusCode;
        },
        () => 0,
      );
      if (status === 200) return;
      const gone = started.some((child) => child.exitCode !== null || child.signalCode !== null);
      if (gone || Date.now() > deadline) throw new Error(`the control plane did not start:\n${(await readFile(log, 'utf8')).slice(-2000)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    await dispatcher.close();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Held open together, so that no two are the same. */
async function freePorts(): Promise<[number, number, number]> {
  const servers = [createServer(), createServer(), createServer()] as const;
  const port = async (server: (typeof servers)[number]) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return address.port;
  };
  const ports: [number, number, number] = [await port(servers[0]), await port(servers[1]), await port(servers[2])];
  for (const server of servers) server.close();
  return ports;
}

function serviceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
}

/** Lines of `token,user,uid[,groups]` (Kubernetes: static token file). */
function tokenFile(tokens: Map<string, string>): string {
  return [...tokens]
    .map(([person, token]) => `${token},${person},uid-of-${person}${person === 'admin' ? ',system:masters' : ''}\n`)
    .join('');
}

function kubeconfig(url: string, certificateAuthority: string, tokens: Map<string, string>): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'admin',
    clusters: [
      { name: 'test', cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } },
    ],
    users: [...tokens].map(([name, token]) => ({ name, user: { token } })),
    contexts: [...tokens.keys()].map((name) => ({ name, context: { cluster: 'test', user: name, namespace: 'default' } })),
  });
}
