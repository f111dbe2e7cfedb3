/** `atrium restore`: creates the objects of a backup in a cluster that does not have them. */
import { hash } from 'node:crypto';
import type { Seal } from '@atrium/http/seal.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { isHeldLease } from '@atrium/kubernetes/controllers/lease-lock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { failureLine } from '@atrium/kubernetes/upstream-error.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import { accessPolicyKind } from './access-requests/policy.ts';
import { accessRequestKind } from './access-requests/request.ts';
import { bindingReviewKind } from './binding-reviews/review.ts';
import { userBindingKind } from './bindings/schema.ts';
import type { Config } from './config/schema.ts';
import { factorKind } from './factors/store.ts';
import { groupKind } from './groups/schema.ts';
import { KeyRing } from './keys/key-ring.ts';
import { consolePluginType } from './plugins/console-plugins.ts';
import { revokedTokenKind } from './revocation/revoked-tokens.ts';
import { accessTokenKind } from './tokens/store.ts';
import { userApiVersion, userKind } from './users/record/schema.ts';

/** Annotation with the uid that a restored object had, by which a repeated run knows it. */
const formerUID = 'auth.platform.io/restored-from';

/** The text is unique in a cluster and beyond (RFC 9562), so that it stands for nothing else wherever it is found. */
const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
/** Names of some objects contain the SHA-256 of a uid. */
const sha256 = /\b[0-9a-f]{64}\b/g;

const stored = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  type: z.string().optional(),
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    deletionTimestamp: z.string().optional(),
    annotations: z.record(z.string(), z.string()).default({}),
    ownerReferences: z.array(z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() })).default([]),
  }),
});
type Stored = z.output<typeof stored>;

/** List of several kinds, as `kubectl get --output json` prints it. */
const list = z.object({ kind: z.string(), items: z.array(stored) });

interface Restored extends ResourceKind {
  readonly isNamespaced?: boolean;
  /** The status has what only the service knows. Otherwise its controllers find it again. */
  readonly keepsStatus?: boolean;
}

const core = (resource: string): ResourceType => ({ group: '', version: 'v1', resource });
const secretKind: Restored = { type: core('secrets'), kind: 'Secret', isNamespaced: true };
const clusterRoleKind = { type: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' }, kind: 'ClusterRole' };
const leaseKind = { type: { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' }, kind: 'Lease' };

/** Lease with the checkpoints of the audit. The others name holders that are gone. */
const checkpointLease = 'atrium-audit';

/** Kinds in the order in which they are created: each names only objects of the lines before. */
const order: readonly (readonly Restored[])[] = [
  [{ type: core('configmaps'), kind: 'ConfigMap', isNamespaced: true }, secretKind, { ...leaseKind, isNamespaced: true }],
  [{ ...userKind, keepsStatus: true }, groupKind, accessPolicyKind, bindingReviewKind, { type: consolePluginType, kind: 'ConsolePlugin' }],
  [{ ...accessRequestKind, keepsStatus: true }],
  [{ ...userBindingKind, keepsStatus: true }],
  [secretKind, { ...accessTokenKind, keepsStatus: true }, { ...factorKind, isNamespaced: true, keepsStatus: true }, revokedTokenKind],
];

/** Secrets that Kubernetes and Helm make for themselves. */
const foreignTypes = ['helm.sh/release.v1', 'kubernetes.io/service-account-token'];

interface RestoreOptions {
  config: Config;
  connection: Connection;
  log: Logger;
  /** The list that `kubectl get --output json` wrote. */
  backup: string;
}

/** Reason why nothing was restored, or what was not restored, for the user of the command. */
class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

/** @returns lines about the result; @throws RestoreError */
export async function runRestore({ config, connection, log, backup }: RestoreOptions): Promise<string> {
  const objects = objectsIn(backup);
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: config.kubernetes.requestTimeout, metrics: new Metrics() });
  const client = apiServer.asService;
  const namespace = config.kubernetes.namespace ?? connection.namespace ?? 'default';
  const keyRing = new KeyRing({ client, namespace, secretName: config.login.keysSecret, log });
  const restore = new Restore({ client, namespace, keysSecret: config.login.keysSecret, seal: keyRing.sealFor('factors') });
  try {
    await refuseWhileServing(new ServiceResource(client, { ...leaseKind, namespace }), () => client.serverClock.now());
    for (const [index, kinds] of order.entries()) {
      for (const object of objects) {
        const kind = kinds.find((it) => it.kind === object.kind && groupOf(object) === it.type.group);
        // Secrets of users follow their users, and the others precede everything.
        if (kind !== undefined && (kind !== secretKind || object.metadata.ownerReferences.length > 0 === index > 0))
          await restore.add(kind, object);
      }
      // Without the keys of the backup, a read makes new ones.
      if (index === 0 && objects.some(({ kind }) => kind === factorKind.kind)) keyRing.start();
      await keyRing.settled();
    }
    return restore.result();
  } catch (error) {
    throw error instanceof StatusError ? new RestoreError(failureLine(error), { cause: error }) : error;
  } finally {
    keyRing.stop();
    await apiServer.close();
  }
}

/** @throws RestoreError */
function objectsIn(backup: string): Stored[] {
  try {
    return list.parse(JSON.parse(backup)).items;
  } catch (error) {
    throw new RestoreError('the file is cut, or lacks the form of "kubectl get --output json": the cluster stays as it is', {
      cause: error,
    });
  }
}

const groupOf = ({ apiVersion }: Stored): string => (apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '');

/** A replica that runs takes a request without its status for a new one. @throws RestoreError */
async function refuseWhileServing(leases: ServiceResource, now: () => Date): Promise<void> {
  for await (const lease of leases.list({}, neverAborts)) {
    const { name } = lease.metadata;
    if (name.startsWith('atrium-') && isHeldLease(lease, now()))
      throw new RestoreError(`a replica of the service runs, as the Lease ${name} tells: scale the Deployment to 0 first`);
  }
}

interface RestoreParts {
  client: KubernetesClient['asService'];
  namespace: string;
  /** Name of the Secret with the keys. */
  keysSecret: string;
  /** Seal of factors, by the keys of the backup. */
  seal: Seal;
}

/** Creates objects with new uids, and writes these in place of the former ones wherever an object names them. */
class Restore {
  readonly #parts: RestoreParts;
  /** New texts by former ones: uids, and their hashes. */
  readonly #replaced = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #left: string[] = [];
  readonly #failed: string[] = [];
  /** UIDs of ClusterRoles by name; undefined for one that does not exist. */
  readonly #roleUIDs = new Map<string, string | undefined>();

  constructor(parts: RestoreParts) {
    this.#parts = parts;
  }

  async add(kind: Restored, object: Stored): Promise<void> {
    const { name, uid, ownerReferences, deletionTimestamp } = object.metadata;
    if (deletionTimestamp !== undefined || foreignTypes.includes(object.type ?? '')) return;
    if (kind.kind === leaseKind.kind && name !== checkpointLease) return;
    const label = `${kind.kind} ${name}`;
    const lost = ownerReferences.find((owner) => !this.#replaced.has(owner.uid));
    if (lost !== undefined && lost.apiVersion !== userApiVersion)
      return void this.#left.push(`left out, because the ${lost.kind} ${lost.name} makes it: ${label}`);
    if (lost !== undefined) return void this.#failed.push(`${label}: the ${lost.kind} ${lost.name}, which owns it, was not restored`);
    try {
      const newUID = await this.#create(kind, object);
      if (newUID === undefined) return void this.#left.push(`left as it is, because the name is taken: ${label}`);
      this.#replaced.set(uid, newUID).set(hash('sha256', uid), hash('sha256', newUID));
      this.#counts.set(kind.kind, (this.#counts.get(kind.kind) ?? 0) + 1);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#failed.push(`${label}: ${failureLine(error)}`);
    }
  }

  /** @throws RestoreError if an object was not restored */
  result(): string {
    const lines = [
      ...[...this.#counts].map(([kind, count]) => `restored: ${kind}, ${count}`),
      ...this.#left,
      ...this.#failed.map((label) => `not restored: ${label}`),
    ];
    if (this.#failed.length > 0) throw new RestoreError(lines.join('\n'));
    return lines.join('\n');
  }

  /** Returns the uid of the new object, or of that of an earlier run; undefined if another object has the name. */
  async #create(kind: Restored, object: Stored): Promise<string | undefined> {
    const { type, isNamespaced, keepsStatus } = kind;
    const resource = new ServiceResource(this.#parts.client, {
      type,
      kind: kind.kind,
      ...(isNamespaced && { namespace: this.#parts.namespace }),
    });
    const { metadata, status, ...content } = await this.#renewed(object);
    const { uid } = object.metadata;
    const { name, labels, annotations, finalizers, ownerReferences } = metadata;
    const kept = { name, labels, annotations: { ...annotations, [formerUID]: uid }, finalizers, ownerReferences };
    const created = await resource.create({ ...content, metadata: kept }, { signal: neverAborts, isStrict: true });
    const found = created === 'conflict' ? await resource.get(name, neverAborts) : created;
    if (found?.metadata.annotations?.[formerUID] !== uid) return undefined;
    for (const next of keepsStatus ? statusesAfter(phased.optional().parse(found.status), phased.optional().parse(status)) : []) {
      const change = { metadata: { uid: found.metadata.uid }, status: next };
      const written = await resource.patchStatus(name, change, { signal: neverAborts });
      if (typeof written === 'string') throw new Error('another program changes it at the same time');
    }
    return found.metadata.uid;
  }

  /** Returns the object as the new cluster is to have it. */
  async #renewed(object: Stored): Promise<Stored> {
    const renewed = this.#replace(object);
    if (object.kind === factorKind.kind) return this.#resealed(renewed);
    if (object.kind === accessRequestKind.kind) return this.#withRole(renewed);
    // A replica that held it when the backup was made is gone.
    if (object.kind === leaseKind.kind) return { ...renewed, spec: {} };
    if (object.kind !== 'Secret' || object.metadata.name !== this.#parts.keysSecret) return renewed;
    // Without the former signing keys, a token that was revoked after the backup is not accepted again.
    const { 'identity.jwks': _signingKeys, ...data } = z.record(z.string(), z.string()).parse(renewed.data);
    return { ...renewed, data };
  }

  #replace<T>(value: T): T {
    const renew = (text: string) => this.#replaced.get(text) ?? text;
    return JSON.parse(JSON.stringify(value).replaceAll(uuid, renew).replaceAll(sha256, renew)) as T;
  }

  /** The sealed content names the user's uid, so that nobody moves it to another user. */
  async #resealed(factor: Stored): Promise<Stored> {
    const { seal } = this.#parts;
    const spec = z.looseObject({ sealed: z.string() }).parse(factor.spec);
    const content = await seal.open(spec.sealed);
    if (content === undefined) throw new Error(`the keys of the Secret ${this.#parts.keysSecret} do not open it`);
    return { ...factor, spec: { ...spec, sealed: seal.seal(JSON.stringify(this.#replace(JSON.parse(content)))) } };
  }

  /** The role of a request is the one that has its name in this cluster. */
  async #withRole(request: Stored): Promise<Stored> {
    const spec = z.looseObject({ roleRef: z.string() }).parse(request.spec);
    const roleUID = await this.#roleUID(spec.roleRef);
    return roleUID === undefined ? request : { ...request, spec: { ...spec, roleUID } };
  }

  async #roleUID(name: string): Promise<string | undefined> {
    if (!this.#roleUIDs.has(name)) {
      const role = await new ServiceResource(this.#parts.client, clusterRoleKind).get(name, neverAborts);
      this.#roleUIDs.set(name, role?.metadata.uid);
    }
    return this.#roleUIDs.get(name);
  }
}

const phased = z.looseObject({ phase: z.string().optional() });
type Phased = z.output<typeof phased>;

/** Phases of an AccessRequest that precede the named one: its definition allows no others. */
const phasesBefore: Readonly<Record<string, readonly string[]>> = {
  Scheduled: ['Approving'],
  Active: ['Approving'],
  Ended: ['Approving', 'Active'],
  Denied: ['Pending'],
  Withdrawn: ['Pending'],
  Lapsed: ['Pending'],
};

/** Returns the statuses to write one after the other. An earlier run may have written some, and the service a later one. */
function statusesAfter(found: Phased | undefined, last: Phased | undefined): Phased[] {
  if (last === undefined) return [];
  const before = phasesBefore[last.phase ?? ''] ?? [];
  const all = [...before.map((phase) => (phase === 'Pending' ? { phase } : { ...last, phase })), last];
  if (found === undefined) return all;
  const index = all.findIndex(({ phase }) => phase === found.phase);
  return index < 0 ? [] : all.slice(index + 1);
}
