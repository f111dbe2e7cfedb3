/**
 * Embedded cluster: enough of the Kubernetes API for a first run and for tests, in this process, on an HTTPS port of its own. No workload
 * runs in it, and it refuses unsupported requests with 501.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { badRequest } from '@atrium/objects/status.ts';
import { stringify } from 'yaml';
import { findObject, type WriteContext } from './backend.ts';
import { bootstrapObjects, workloadRoles } from './bootstrap.ts';
import { builtinTypes } from './builtins.ts';
import { CertificateSigner } from './certificate-signer.ts';
import { createServerCertificate } from './certificates.ts';
import { clusterKeys } from './cluster-keys.ts';
import { customResourceType, definitionRules } from './custom-resources.ts';
import { Journal } from './journal.ts';
import { Lifecycle } from './lifecycle.ts';
import type { KubernetesObject, StoredObject } from './objects.ts';
import { Rbac } from './rbac.ts';
import type { Backend } from './resources.ts';
import { ResourceRegistry } from './resources.ts';
import { ApiServer } from './server.ts';
import { Store } from './store.ts';
import { TokenAuthenticator } from './token-authenticator.ts';
import type { TokenWebhookOptions } from './token-webhook.ts';
import type { TokenIssuer, UserInfo } from './tokens.ts';
import type { IssuerOptions } from './trusted-issuer.ts';
import type { Workloads } from './workloads/workloads.ts';
import { createObject, updateObject } from './write.ts';

export interface ClusterOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Without a directory, all objects are lost when the cluster stops. */
  dataDirectory?: string;
  /** OpenID providers whose tokens are accepted beside those of the cluster. They may start later. */
  issuers?: readonly IssuerOptions[];
  /** Serves workloads (pods, deployments, …) with controllers that simulate running them. */
  hasWorkloads?: boolean;
  log?: (message: string) => void;
  now?: () => Date;
}

const rbacCollections = ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'].map(
  (resource) => `rbac.authorization.k8s.io/${resource}`,
);
const definitions = 'apiextensions.k8s.io/customresourcedefinitions';
const administrator: UserInfo = { username: 'system:admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
const defaultTokenSeconds = 24 * 3600;

interface Parts {
  backend: Backend;
  server: ApiServer;
  lifecycle: Lifecycle;
  signer: CertificateSigner;
  journal: Journal | undefined;
  workloads: Workloads | undefined;
  certificateAuthority: string;
  url: string;
  isNew: boolean;
}

export class Cluster {
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const {
      host = '127.0.0.1',
      port = 0,
      dataDirectory,
      issuers = [],
      hasWorkloads = false,
      log = () => {},
      now = () => new Date(),
    } = options;
    if (dataDirectory !== undefined) await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
    const { authority, tokens } = await clusterKeys(dataDirectory, now);
    const certificate = await createServerCertificate(authority, host, now());
    const store = new Store();
    const journal = dataDirectory === undefined ? undefined : Journal.open(dataDirectory, store);
    const isNew = store.revision === 1;
    const backend = createBackend(store, tokens, now);
    for (const issuer of issuers) backend.authenticator.trust(issuer);
    const room = hasWorkloads ? await import('./workloads/workloads.ts') : undefined;
    for (const object of [...bootstrapObjects, ...(hasWorkloads ? workloadRoles : [])])
      applyObject(backend, object, { user: administrator, replaces: false });
    const workloads = room?.Workloads.start(backend, log);
    const lifecycle = new Lifecycle(backend);
    const signer = new CertificateSigner(backend, authority);
    // No watch was open while these objects were created, so version 1 is as old as in any other cluster.
    store.compact();
    const server = await ApiServer.start(backend, { host, port, certificate, clientAuthority: authority.certificate, log });
    const url = `https://${host.includes(':') ? `[${host}]` : host.replace(/^0\.0\.0\.0$/, '127.0.0.1')}:${server.port}`;
    return new Cluster({ backend, server, lifecycle, signer, journal, workloads, certificateAuthority: authority.certificate, url, isNew });
  }

  get url(): string {
    return this.#parts.url;
  }

  /** True if it started without objects of an earlier run. */
  get isNew(): boolean {
    return this.#parts.isNew;
  }

  /** PEM. */
  get certificateAuthority(): string {
    return this.#parts.certificateAuthority;
  }

  /** Issues a bearer token for any identity, even if the cluster does not know it. */
  async issueToken(user: { username: string; uid?: string; groups?: string[] }, expiresInSeconds = defaultTokenSeconds): Promise<string> {
    const { username, uid = '', groups = [] } = user;
    const { token } = await this.#parts.backend.tokens.issue({ user: { username, uid, groups }, expiresInSeconds });
    return token;
  }

  /** Accepts tokens of this OpenID provider, too. */
  trustIssuer(issuer: IssuerOptions): void {
    this.#parts.backend.authenticator.trust(issuer);
  }

  /** Sets the webhook that reviews tokens which nothing else verifies. Its answers are cached for 10 s. */
  askTokenWebhook(webhook: TokenWebhookOptions): void {
    this.#parts.backend.authenticator.ask(webhook);
  }

  /** Creates or replaces objects as an administrator, including the status. @throws StatusError like the API */
  apply(...objects: KubernetesObject[]): Promise<KubernetesObject[]> {
    return this.applyAs(administrator.username, ...objects);
  }

  /** Applies objects with all rights in the name of a user that admission policies know. @throws StatusError */
  async applyAs(username: string, ...objects: KubernetesObject[]): Promise<KubernetesObject[]> {
    const user = { ...administrator, username };
    return objects.map((object) => applyObject(this.#parts.backend, object, { user, replaces: true }));
  }

  /** Applies objects in the name of a user at a time in the past, for a cluster with a history. @throws StatusError */
  async applyAt(time: Date, username: string, ...objects: KubernetesObject[]): Promise<KubernetesObject[]> {
    const backend = { ...this.#parts.backend, now: () => time };
    return objects.map((object) => applyObject(backend, object, { user: { ...administrator, username }, replaces: true }));
  }

  /** Returns the object of that kind and name, if it exists. */
  get({ apiVersion, kind, metadata }: KubernetesObject): KubernetesObject | undefined {
    const { backend } = this.#parts;
    const type = backend.registry.find(apiVersion, kind);
    if (!type) return undefined;
    return findObject(backend, {
      type,
      name: metadata.name ?? '',
      namespace: type.namespaced ? (metadata.namespace ?? 'default') : undefined,
    });
  }

  /** Returns a list of metrics.k8s.io at an earlier time, as if the pods of now had run then. Empty without workloads. */
  metricsAt(resource: 'pods' | 'nodes', at: Date): { items: KubernetesObject[] } {
    return { items: this.#parts.workloads?.metricsAt(resource, at) ?? [] };
  }

  /** Returns a kubeconfig (YAML). */
  kubeconfig(token: string): string {
    return kubeconfigText(this.#parts, token);
  }

  /** Writes a kubeconfig that only its owner can read. */
  async writeKubeconfig(path: string, token: string): Promise<void> {
    await writeFile(`${path}.new`, this.kubeconfig(token), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  /** Forgets past versions, as etcd does from time to time: older resource versions get 410. */
  compact(): void {
    this.#parts.backend.store.compact();
  }

  async stop(): Promise<void> {
    const { backend, server, lifecycle, signer, journal, workloads } = this.#parts;
    workloads?.stop();
    await server.stop();
    await backend.authenticator.stop();
    lifecycle.stop();
    signer.stop();
    journal?.close();
  }
}

/** Returns YAML with one cluster, one user and one context. */
function kubeconfigText({ url, certificateAuthority }: Parts, token: string): string {
  const name = 'atrium';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

function createBackend(store: Store, tokens: TokenIssuer, now: () => Date): Backend {
  const registry: ResourceRegistry = new ResourceRegistry(builtinTypes(definitionRules(() => registry, now)));
  for (const definition of store.list(definitions) ?? []) registry.set(customResourceType(definition));
  let rbacRevision = 0;
  store.subscribe(({ collection, type, object }) => {
    if (rbacCollections.includes(collection)) rbacRevision += 1;
    if (collection !== definitions) return;
    if (type === 'DELETED') withdraw(registry, object);
    else registry.set(customResourceType(object));
  });
  const rbac = new Rbac({ list: (resource) => store.list(`rbac.authorization.k8s.io/${resource}`) ?? [], revision: () => rbacRevision });
  return { store, registry, rbac, tokens, authenticator: new TokenAuthenticator(tokens, now), now };
}

function withdraw(registry: ResourceRegistry, { metadata }: StoredObject): void {
  const [resource = '', ...group] = metadata.name.split('.');
  registry.remove({ group: group.join('.'), resource });
}

function applyObject(
  backend: Backend,
  object: KubernetesObject,
  { user, replaces }: { user: UserInfo; replaces: boolean },
): KubernetesObject {
  const context: WriteContext = { backend, user, isDryRun: false, fieldValidation: 'Strict', warn: () => {} };
  const type = backend.registry.find(object.apiVersion, object.kind);
  if (!type) throw badRequest(`no matches for kind "${object.kind}" in version "${object.apiVersion}"`);
  const { name = '', namespace } = object.metadata;
  const target = { type, name, namespace: type.namespaced ? (namespace ?? 'default') : undefined };
  const old = findObject(backend, target);
  if (old && !replaces) return old;
  const fresh = structuredClone(object);
  const written = old
    ? updateObject(context, target, { ...fresh, metadata: { ...fresh.metadata, resourceVersion: old.metadata.resourceVersion } }).object
    : createObject(context, target, fresh);
  if (!type.hasStatus || object.status === undefined) return written;
  const withStatus = { ...structuredClone(written), status: structuredClone(object.status) };
  return updateObject(context, target, withStatus, { subresource: 'status' }).object;
}
