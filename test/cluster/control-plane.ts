import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import { freePort } from '../support/free-port.ts';
import {
  type AuditWebhook,
  auditPolicy,
  auditWebhookConfig,
  auditWebhookFlags,
  authenticationConfig,
  type TokenWebhook,
  type TrustedIssuer,
  tokenWebhookConfig,
} from './authentication-config.ts';
import { controlPlanePrograms } from './build.ts';
import { type KeyPair, loopbackCertificates } from './certificates.ts';
import { Program } from './program.ts';

const defaultControllers = [
  'garbage-collector-controller',
  'namespace-controller',
  'clusterrole-aggregation-controller',
  'certificatesigningrequest-signing-controller',
  'certificatesigningrequest-cleaner-controller',
];

export interface ControlPlaneOptions {
  /** Users with a static token. Only `admin` has rights (group `system:masters`). */
  people: readonly string[];
  /** Further controllers, by the names of kube-controller-manager. */
  controllers?: readonly string[];
  /** Pods need an existing service account and get its token mounted (admission plugin ServiceAccount). */
  serviceAccountAdmission?: boolean;
  /** Issuers that are trusted from the start. Tokens are accepted at once if the issuer is up by then, or else within 10 s of its start. */
  issuers?: readonly TrustedIssuer[];
  /** Webhook for tokens that no other authenticator accepts, not necessarily up yet. */
  tokenWebhook?: TokenWebhook | undefined;
  /** Receiver of audit events, not necessarily up yet: those that it does not take within seconds are dropped. */
  auditWebhook?: AuditWebhook | undefined;
}

export interface ControlPlane {
  url: string;
  /** PEM bundle that verifies `url`. */
  certificateAuthority: string;
  /** Certificate of the same authority, for https servers of a test on 127.0.0.1 or localhost, such as an issuer. */
  serving: KeyPair;
  /** Path of a kubeconfig with a user and a context for each of `people`. The current context is `admin`. */
  kubeconfig: string;
  /** Path of the audit log, with a line of JSON for each answered request (audit.k8s.io/v1 Event, level Metadata). */
  auditLog: string;
  etcd: Program;
  /** Address of etcd, without TLS. */
  etcdURL: string;
  apiServer: Program;
  controllerManager: Program;
  /**
   * Makes the API server accept tokens of a further issuer. The API server reloads its configuration at once and accepts tokens of an
   * issuer that is up at its second attempt, 10 s later. A restart of `apiServer` is faster.
   */
  trustIssuer(issuer: TrustedIssuer): Promise<void>;
  /**
   * Restarts the API server. kube-controller-manager is suspended meanwhile: each connection that is refused lengthens the pause before its
   * next one, up to 30 s, and until then it signs no certificate and collects no garbage.
   */
  restartApiServer(): Promise<void>;
  /** Reverts all calls of `trustIssuer`. The API server reloads its configuration. */
  trustNobody(): Promise<void>;
  /** Makes Node.js wait for the programs before it ends, or not. The programs end with it in any case. */
  keepsProcess(isKept: boolean): void;
  stop(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on free ports of 127.0.0.1, with all files in a temporary folder that `stop()`
 * deletes. Resolves when the API server is ready. Rejects with the end of the log of the program that failed.
 */
export async function startControlPlane({
  people,
  controllers = [],
  serviceAccountAdmission = false,
  issuers: trusted = [],
  tokenWebhook,
  auditWebhook,
}: ControlPlaneOptions): Promise<ControlPlane> {
  const programs = await controlPlanePrograms();
  const directory = await mkdtemp(join(tmpdir(), 'atrium-control-plane-'));
  const started: Program[] = [];
  const abandon = () => {
    for (const program of started) program.signal('SIGKILL');
    // Killed programs may still write for a moment.
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', abandon);
  const stop = async () => {
    process.off('exit', abandon);
    for (const program of started.reverse()) await program.kill();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  const start = async (name: string, flags: Record<string, string>, isReady?: () => Promise<boolean>) => {
    const program = new Program(join(programs, name), flags, { directory, ...(isReady && { isReady }) });
    started.push(program);
    await program.start();
    return program;
  };

  try {
    const [etcdPort, etcdPeerPort, port] = [await freePort(), await freePort(), await freePort()];
    const url = `https://127.0.0.1:${port}`;
    const { authority, serving } = await loopbackCertificates();
    const certificateAuthority = authority.certificate;
    const tokens = new Map(people.map((person) => [person, randomBytes(24).toString('base64url')]));
    const issuers = new Map(trusted.map((issuer) => [issuer.url, issuer]));
    const write = (name: string, content: string) => writeFile(join(directory, name), content, { mode: 0o600 });
    await write('ca.crt', certificateAuthority);
    await write('ca.key', authority.key);
    await write('serving.crt', serving.certificate);
    await write('serving.key', serving.key);
    await write('service-account.key', serviceAccountKey());
    await write('tokens.csv', tokenFile(tokens));
    await write('kubeconfig', kubeconfig(url, certificateAuthority, tokens));
    await write('authentication.yaml', authenticationConfig(issuers.values(), certificateAuthority));
    await write('audit-policy.yaml', auditPolicy);
    if (tokenWebhook) await write('token-webhook.yaml', tokenWebhookConfig(tokenWebhook, certificateAuthority, tokens));
    if (auditWebhook) await write('audit-webhook.yaml', auditWebhookConfig(auditWebhook));

    const etcdURL = `http://127.0.0.1:${etcdPort}`;
    const etcd = await start(
      'etcd',
      {
        'data-dir': 'etcd',
        'listen-client-urls': etcdURL,
        'advertise-client-urls': etcdURL,
        'listen-peer-urls': `http://127.0.0.1:${etcdPeerPort}`,
        'unsafe-no-fsync': 'true',
        'log-level': 'error',
      },
      () => answers(`${etcdURL}/readyz`),
    );
    const apiServer = await start(
      'kube-apiserver',
      {
        'etcd-servers': etcdURL,
        'bind-address': '127.0.0.1',
        'advertise-address': '127.0.0.1',
        'secure-port': `${port}`,
        'tls-cert-file': 'serving.crt',
        'tls-private-key-file': 'serving.key',
        'client-ca-file': 'ca.crt',
        'token-auth-file': 'tokens.csv',
        'authentication-config': 'authentication.yaml',
        ...(tokenWebhook && {
          'authentication-token-webhook-config-file': 'token-webhook.yaml',
          'authentication-token-webhook-version': tokenWebhook.version ?? 'v1',
          'authentication-token-webhook-cache-ttl': '2s',
        }),
        'authorization-mode': 'RBAC',
        ...(!serviceAccountAdmission && { 'disable-admission-plugins': 'ServiceAccount' }),
        'service-account-issuer': 'https://kubernetes.default.svc',
        'service-account-signing-key-file': 'service-account.key',
        'service-account-key-file': 'service-account.key',
        'service-cluster-ip-range': '10.0.0.0/24',
        'endpoint-reconciler-type': 'none',
        'audit-log-path': 'audit.log',
        'audit-policy-file': 'audit-policy.yaml',
        ...(auditWebhook && {
          'audit-webhook-config-file': 'audit-webhook.yaml',
          'audit-webhook-batch-max-wait': '1s',
          'audit-webhook-initial-backoff': '1s',
          ...auditWebhookFlags,
        }),
      },
      () => answers(`${url}/readyz`, { certificateAuthority, token: tokens.get('admin') ?? '' }),
    );
    const controllerManager = await start('kube-controller-manager', {
      kubeconfig: 'kubeconfig',
      controllers: [...defaultControllers, ...controllers].join(','),
      'leader-elect': 'false',
      // Like with kubeadm, the garbage collector has its own account, which admission policies name.
      'use-service-account-credentials': 'true',
      'secure-port': '0',
      'cluster-signing-cert-file': 'ca.crt',
      'cluster-signing-key-file': 'ca.key',
      'root-ca-file': 'ca.crt',
    });
    return {
      url,
      certificateAuthority,
      serving,
      kubeconfig: join(directory, 'kubeconfig'),
      auditLog: join(directory, 'audit.log'),
      etcd,
      etcdURL,
      apiServer,
      controllerManager,
      async trustIssuer(issuer) {
        issuers.set(issuer.url, issuer);
        await write('authentication.yaml', authenticationConfig(issuers.values(), certificateAuthority));
      },
      async restartApiServer() {
        await controllerManager.hang();
        await apiServer.kill();
        await apiServer.start();
        controllerManager.signal('SIGCONT');
      },
      async trustNobody() {
        issuers.clear();
        await write('authentication.yaml', authenticationConfig([], certificateAuthority));
      },
      keepsProcess(isKept) {
        for (const program of started) program.keepsProcess(isKept);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Reports whether a URL answers 200. Without an answer, returns false. */
async function answers(url: string, { certificateAuthority, token }: { certificateAuthority?: string; token?: string } = {}) {
  const dispatcher = new Agent({ connect: { ...(certificateAuthority && { ca: certificateAuthority }) } });
  try {
    const headers = { 'user-agent': 'test', ...(token && { authorization: `Bearer ${token}` }) };
    const { statusCode, body } = await request(url, { dispatcher, headers });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  } finally {
    await dispatcher.close();
  }
}

function serviceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
}

/** Returns the static token file, with lines of `token,user,uid[,groups]`. */
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
