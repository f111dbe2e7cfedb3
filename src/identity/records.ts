import { hash } from 'node:crypto';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { Seal } from '@atrium/http/seal.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { type KubernetesObject, resourcePath } from '@atrium/kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import { isGone, isRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import type { AdapterPayload } from 'oidc-provider';
import { z } from 'zod';
import { requestScope } from './request-scope.ts';

export const identityRecordKind: ResourceKind = {
  type: { group: 'auth.platform.io', version: 'v1', resource: 'identityrecords' },
  kind: 'IdentityRecord',
};

const recordObject = z.object({
  metadata: z.object({ name: z.string(), resourceVersion: z.string() }),
  spec: z.object({ model: z.string(), sealed: z.string(), consumedAt: z.iso.datetime({ offset: true }).optional() }),
});
const recordList = z.object({ items: z.array(z.unknown()) });
export const sealedPayload = z.custom<AdapterPayload>(isRecord);

/** Fields by which a record can be found, besides its id. */
export type LookupField = 'uid' | 'userCode';

export const hashed = (text: string) => hash('sha256', text);

/** Returns the object name. The id is the token itself, so readers of the objects see only its hash. */
const recordObjectName = (model: string, id: string): string => `${model.toLowerCase()}-${hashed(id)}`;

const grantPrefix = recordObjectName('Grant', '').slice(0, -hashed('').length);
const endedAtOnce = 8;
/** Limits the deletions of a login. Usually one record is surplus, unless the limit was lowered; later logins delete the rest. */
const maxEnded = 100;

/** Reports whether the number of a user's records of the model is limited. */
const isBounded = (model: string) => model === 'Grant' || model === 'Session';

/** Returns the hash of the user, and for a grant also of the client: logins at one client end no grants of another. */
const ownerOf = ({ accountId = '', clientId = '' }: AdapterPayload): string => hashed(`${accountId} ${clientId}`);

/** Sorts by creation time. Times are in whole seconds; resource versions order objects of one second, so that all replicas agree. */
const byAge = ({ metadata: left }: KubernetesObject, { metadata: right }: KubernetesObject): number =>
  createdAt(left) - createdAt(right) ||
  (compareResourceVersions(left.resourceVersion, right.resourceVersion) ?? 0) ||
  (left.name < right.name ? -1 : 1);

const createdAt = ({ creationTimestamp = '' }: KubernetesObject['metadata']) => Date.parse(creationTimestamp) || 0;

export interface RecordsOptions {
  client: ServiceClient;
  namespace: string;
  seal: Seal;
  now: () => Date;
  /** Called with the SHA-256 of the id of a grant that ends. */
  onGrantEnded?: ((grant: string) => Promise<void>) | undefined;
}

/**
 * Reads and writes IdentityRecord objects. Every read goes to the API server, never to a cache, so that a write of one replica takes effect
 * on all others at once. An update names the resource version that it is based on, so the API server accepts only one of two.
 */
export class IdentityRecords {
  readonly #options: RecordsOptions;
  readonly #objects: ServiceResource;

  constructor(options: RecordsOptions) {
    this.#options = options;
    this.#objects = new ServiceResource(options.client, { ...identityRecordKind, namespace: options.namespace });
  }

  /** Returns whether the record was read or written in this request. */
  isKnown(model: string, id: string): boolean {
    return requestScope().known.has(recordObjectName(model, id));
  }

  async find(model: string, id: string): Promise<AdapterPayload | undefined> {
    const name = recordObjectName(model, id);
    const object = await this.#call('GET', { name }).catch(ignoreGone(name));
    return object === undefined ? undefined : this.#payloadOf(object, model);
  }

  async findBy(model: string, field: LookupField, value: string): Promise<AdapterPayload | undefined> {
    const fieldSelector = `spec.model=${model},spec.${field}=${hashed(value)}`;
    const { items } = recordList.parse(await this.#call('GET', { query: { fieldSelector, limit: '1' } }));
    return items[0] === undefined ? undefined : this.#payloadOf(items[0], model);
  }

  /**
   * Creates a record, or replaces the one that was read in this request. A change of the expiry alone is not written, since a session
   * always expires at the same moment.
   *
   * @returns false if another request has changed or deleted the record since
   */
  async save(model: string, id: string, payload: AdapterPayload, ttlSeconds: number): Promise<boolean> {
    const { known } = requestScope();
    const name = recordObjectName(model, id);
    const seen = known.get(name);
    const content = contentOf(payload);
    if (seen?.content === content) return true;
    const body = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'IdentityRecord',
      metadata: { name, namespace: this.#options.namespace, ...(seen && { resourceVersion: seen.resourceVersion }) },
      spec: this.#specOf(model, payload, ttlSeconds),
    };
    const saved =
      seen === undefined
        ? await this.#call('POST', { body }).catch(ignoreConflict)
        : await this.#call('PUT', { name, body }).catch(ignoreConflictOrGone(name));
    if (saved === undefined) return false;
    known.set(name, { resourceVersion: recordObject.parse(saved).metadata.resourceVersion, content });
    return true;
  }

  /** Marks a record as used, once. @returns false if another request was first, or the record does not exist */
  async consume(model: string, id: string): Promise<boolean> {
    const name = recordObjectName(model, id);
    const seen = requestScope().known.get(name);
    if (seen === undefined) return false;
    const body = { metadata: { resourceVersion: seen.resourceVersion }, spec: { consumedAt: this.#options.now().toISOString() } };
    return (await this.#call('PATCH', { name, body }).catch(ignoreConflictOrGone(name))) !== undefined;
  }

  /** Deletes a record in the version that this request has read. @returns false if another request was first */
  async take(model: string, id: string): Promise<boolean> {
    const { known, signal } = requestScope();
    const name = recordObjectName(model, id);
    const seen = known.get(name);
    if (seen === undefined) return false;
    return this.#objects.remove(name, { preconditions: { resourceVersion: seen.resourceVersion }, signal });
  }

  async remove(model: string, id: string): Promise<void> {
    const name = recordObjectName(model, id);
    await this.#call('DELETE', { name }).catch(ignoreGone(name));
  }

  /** Deletes all records that were issued on a grant. */
  removeIssued(grantId: string): Promise<void> {
    return this.#removeIssued(hashed(grantId));
  }

  /** Deletes a grant and all records that were issued on it. @param grant SHA-256 of its id */
  async endGrant(grant: string): Promise<void> {
    await Promise.all([
      this.#options.onGrantEnded?.(grant),
      this.#removeIssued(grant),
      this.#objects.remove(`${grantPrefix}${grant}`, { signal: requestScope().signal }),
    ]);
  }

  /**
   * Deletes the oldest records of a model and owner beyond the limit. A request counts after it has created its own record, so the last
   * of racing requests sees all. All requests sort alike, so none deletes a record that the last one would keep.
   */
  async endOldest(model: string, payload: AdapterPayload, max: number): Promise<void> {
    const { signal } = requestScope();
    const fieldSelector = `spec.model=${model},spec.owner=${ownerOf(payload)}`;
    const owned: KubernetesObject[] = [];
    for await (const object of this.#objects.list({ fieldSelector, isMetadataOnly: true }, signal)) owned.push(object);
    const surplus = owned.sort(byAge).slice(0, Math.max(0, owned.length - max));
    await mapLimit(endedAtOnce, surplus.slice(0, maxEnded), async ({ metadata: { name } }) => {
      if (name.startsWith(grantPrefix)) await this.endGrant(name.slice(grantPrefix.length));
      else await this.#objects.remove(name, { signal });
    });
  }

  async #removeIssued(grant: string): Promise<void> {
    const { revoked } = requestScope();
    if (revoked.has(grant)) return;
    revoked.add(grant);
    await this.#call('DELETE', { query: { fieldSelector: `spec.grantId=${grant}` } });
  }

  #specOf(model: string, payload: AdapterPayload, ttlSeconds: number) {
    const { uid, userCode, grantId, consumed } = payload;
    return {
      model,
      expiration: new Date(this.#options.now().getTime() + ttlSeconds * 1000).toISOString(),
      ...(typeof uid === 'string' && { uid: hashed(uid) }),
      ...(userCode !== undefined && { userCode: hashed(userCode) }),
      ...(grantId !== undefined && { grantId: hashed(grantId) }),
      ...(isBounded(model) && { owner: ownerOf(payload) }),
      ...(typeof consumed === 'number' && { consumedAt: new Date(consumed * 1000).toISOString() }),
      sealed: this.#options.seal.seal(JSON.stringify(payload)),
    };
  }

  /** Opens a record; undefined if it cannot be opened, or if the sealed text belongs to a record of another name. */
  async #payloadOf(object: unknown, model: string): Promise<AdapterPayload | undefined> {
    const { metadata, spec } = recordObject.parse(object);
    const text = await this.#options.seal.open(spec.sealed);
    if (text === undefined) return undefined;
    const payload = sealedPayload.parse(JSON.parse(text));
    if (recordObjectName(model, payload.jti ?? '') !== metadata.name) return undefined;
    const { consumedAt } = spec;
    const found = { ...payload, ...(consumedAt !== undefined && { consumed: Math.floor(Date.parse(consumedAt) / 1000) }) };
    requestScope().known.set(metadata.name, { resourceVersion: metadata.resourceVersion, content: contentOf(found) });
    return found;
  }

  #call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    { name, query, body }: { name?: string; query?: Record<string, string>; body?: unknown },
  ): Promise<unknown> {
    const { client, namespace } = this.#options;
    return client.request({
      method,
      path: resourcePath(identityRecordKind.type, { namespace, ...(name && { name }) }),
      call: `${method.toLowerCase()} identityrecords`,
      signal: requestScope().signal,
      ...(query && { query: new URLSearchParams(query) }),
      ...(body !== undefined && { body }),
      ...(method === 'PATCH' && { contentType: 'application/merge-patch+json' }),
      ...(method === 'DELETE' && { isRepeatable: true }),
    });
  }
}

const contentOf = ({ exp: _end, ...content }: AdapterPayload): string =>
  JSON.stringify(Object.fromEntries(Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1))));

const ignoreGone =
  (name: string) =>
  (error: unknown): undefined => {
    if (!isGone(error, identityRecordKind.type, name)) throw error;
  };

function ignoreConflict(error: unknown): undefined {
  if (!isRefusal(error, 409)) throw error;
}

const ignoreConflictOrGone = (name: string) => (error: unknown) => (isRefusal(error, 409) ? undefined : ignoreGone(name)(error));
