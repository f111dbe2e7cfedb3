import { partsOf, reader } from '@atrium/objects/reader.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { ForwardCall } from './forward.ts';
import type { ApiCall, CallerClient } from './kubernetes-client.ts';
import { listPages, type Selection } from './list-watch.ts';
import type { ServiceClient } from './own-account.ts';
import { definitionMissing, isNotInstalled, ownAccountRefused, whileInstalled } from './own-account.ts';
import { isKubernetesObject, type KubernetesObject, type ResourceTarget, type ResourceType, resourcePath } from './resource.ts';
import type { UpstreamResponse } from './transport.ts';
import { isGone, isRefusal, pageAsOutage, UpstreamError } from './upstream-error.ts';

const fieldManager = 'atrium';
const pageSize = 500;

export interface ResourceKind {
  type: ResourceType;
  /** Kind of an object: `Group`. */
  kind: string;
  /** Undefined for a resource without namespaces. */
  namespace?: string;
}

/** An object to create. */
export interface NewObject {
  readonly metadata: object;
  readonly [member: string]: unknown;
}

export interface WriteOptions {
  signal: AbortSignal;
  isDryRun?: boolean;
  /** Refuses unknown fields, which the API server otherwise drops. */
  isStrict?: boolean;
  /** Allows a retry after a lost connection. */
  isRepeatable?: boolean;
  /** True for a write with the account of the service that an audit event of the same request tells. */
  isAudited?: boolean;
}

export interface ReadOptions {
  signal: AbortSignal;
  query?: URLSearchParams;
  /** Media type of another form than objects, such as a table. */
  accept?: string;
}

export interface DeletionOptions extends WriteOptions {
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined };
  propagationPolicy?: 'Background';
}

/** Calls for the objects of one resource. The subclasses determine whose rights are used. */
abstract class ResourceClient {
  protected readonly resource: ResourceKind;
  readonly #send: (call: ApiCall) => Promise<unknown>;

  constructor(resource: ResourceKind, send: (call: ApiCall) => Promise<unknown>) {
    this.resource = resource;
    this.#send = send;
  }

  /**
   * Deletes an object.
   *
   * @returns the UID of the deleted object
   * @throws UpstreamError 404, 409 and others in the words of the API server
   * @throws StatusError 503, 504
   */
  async delete(
    name: string,
    { signal, isDryRun = false, preconditions, propagationPolicy, isRepeatable = false }: DeletionOptions,
  ): Promise<string> {
    const answer = await this.call('DELETE', 'delete', { name }, signal, {
      // The API server ignores the query if a body is sent.
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(preconditions && { preconditions }),
        ...(propagationPolicy && { propagationPolicy }),
        ...(isDryRun && { dryRun: ['All'] }),
      },
      isRepeatable,
      isDryRun,
    });
    return uidOf(answer);
  }

  protected async post(
    object: NewObject,
    { signal, isDryRun = false, isStrict = false, isRepeatable = false, isAudited = false }: WriteOptions,
  ): Promise<KubernetesObject> {
    const call = { query: writeQuery(isDryRun, isStrict), body: object, isRepeatable, isAudited, isDryRun };
    const created = await this.call('POST', 'create', {}, signal, call);
    // A dry run stores nothing, so that its object has no version.
    const metadata = isDryRun ? partsOf(created).metadata : undefined;
    return this.objectOf(metadata ? Object.assign({}, created, { metadata: { resourceVersion: '-', ...metadata } }) : created);
  }

  /** Patches an object: an array is a JSON Patch (RFC 6902), an object a merge patch (RFC 7396). */
  protected async merge(
    target: ResourceTarget,
    change: object,
    { signal, isDryRun = false, isRepeatable = false, isAudited = false }: WriteOptions,
  ): Promise<KubernetesObject> {
    const contentType = Array.isArray(change) ? 'application/json-patch+json' : 'application/merge-patch+json';
    const call = { query: writeQuery(isDryRun), contentType, body: change, isRepeatable, isAudited, isDryRun };
    return this.objectOf(await this.call('PATCH', 'patch', target, signal, call));
  }

  protected call(
    method: ApiCall['method'],
    verb: string,
    { name, subresource }: ResourceTarget,
    signal: AbortSignal,
    rest: Omit<ApiCall, 'call' | 'method' | 'path' | 'signal'> = {},
  ): Promise<unknown> {
    const { type, namespace } = this.resource;
    const target = {
      ...(namespace !== undefined && { namespace }),
      ...(name !== undefined && { name }),
      ...(subresource && { subresource }),
    };
    const call = `${verb} ${type.resource}${subresource ? `/${subresource}` : ''}`;
    return this.#send({ ...rest, method, path: resourcePath(type, target), call, signal, isWrite: method !== 'GET' });
  }

  /** Returns the object of an answer. @throws StatusError 503 for anything else */
  protected objectOf(answer: unknown): KubernetesObject {
    if (isKubernetesObject(answer)) return answer;
    throw serviceUnavailable('kubernetes', { cause: new Error(`a ${this.resource.kind} without its metadata`) });
  }
}

/** Reads and writes with the rights of the caller, who receives refusals of the API server. */
export class CallerResource extends ResourceClient {
  readonly #client: CallerClient;

  constructor(client: CallerClient, resource: ResourceKind) {
    super(resource, (call) =>
      client.request(call).catch((error: unknown) => {
        throw pageAsOutage(error);
      }),
    );
    this.#client = client;
  }

  /** Forwards a list or watch, or with a name a get. @throws UpstreamError in the words of the API server; StatusError 503, 504 */
  forward(ctx: Context, { name, ...call }: Omit<ForwardCall, 'path' | 'query'> & { name?: string }): Promise<void> {
    const path = resourcePath(this.resource.type, { ...(name !== undefined && { name }) });
    return this.#client.forward(ctx, { ...call, path, query: ctx.querystring });
  }

  /** Gets an object. @throws UpstreamError in the words of the API server, also if the object does not exist; StatusError 503, 504 */
  async get(name: string, signal: AbortSignal): Promise<KubernetesObject> {
    return this.objectOf(await this.call('GET', 'get', { name }, signal));
  }

  /** Returns the answer to a list. @throws UpstreamError in the words of the API server; StatusError 503, 504 */
  list({ signal, ...options }: ReadOptions): Promise<unknown> {
    return this.call('GET', 'list', {}, signal, options);
  }

  /** Returns a subresource unread, such as a log. The caller has to read or destroy it. @throws like `list` */
  stream({ name, subresource }: Required<Pick<ResourceTarget, 'name' | 'subresource'>>, options: ReadOptions): Promise<UpstreamResponse> {
    const { type, namespace } = this.resource;
    const path = resourcePath(type, { name, subresource, ...(namespace !== undefined && { namespace }) });
    const call = `get ${type.resource}/${subresource}`;
    return this.#client.stream({ ...options, call, method: 'GET', path, isLong: false }).catch((error: unknown) => {
      throw pageAsOutage(error);
    });
  }

  /** Creates an object. @throws UpstreamError in the words of the API server; StatusError 503, 504 */
  create(object: NewObject, options: WriteOptions): Promise<KubernetesObject> {
    return this.post(object, options);
  }

  /** Merges into an object; null removes a member. @throws UpstreamError in the words of the API server; StatusError 503, 504 */
  patch(name: string, change: object, options: WriteOptions): Promise<KubernetesObject> {
    return this.merge({ name }, change, options);
  }
}

/** Reads and writes with the service's own account. Refusals become 503, because no caller asked for the call. */
export class ServiceResource extends ResourceClient {
  readonly #client: ServiceClient;

  constructor(client: ServiceClient, resource: ResourceKind) {
    super(resource, (call) => whileInstalled({ client, signal: call.signal }, resource.type, () => client.request(call)));
    this.#client = client;
  }

  /**
   * Gets an object.
   *
   * @returns undefined if it does not exist
   * @throws StatusError 503, also if the resource is not installed; 504
   */
  async get(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const found = await this.find(name, signal);
    if (found !== 'notInstalled') return found;
    throw definitionMissing(this.resource.type);
  }

  /** Gets an object of a resource that may not be installed. */
  async find(name: string, signal: AbortSignal): Promise<KubernetesObject | 'notInstalled' | undefined> {
    try {
      return this.objectOf(await this.call('GET', 'get', { name }, signal));
    } catch (error) {
      if (isGone(error, this.resource.type, name)) return undefined;
      if (isNotInstalled(error)) return 'notInstalled';
      throw error;
    }
  }

  /**
   * Gets an object by a list, for resources that the service's account may list, but not get.
   *
   * @param selection further conditions on the object
   * @returns undefined if it does not exist
   * @throws StatusError 503, see `isNotInstalled`; 504
   */
  async getByList(
    name: string,
    signal: AbortSignal,
    selection: Pick<Selection, 'labelSelector' | 'isMetadataOnly'> = {},
  ): Promise<KubernetesObject | undefined> {
    for await (const object of this.list({ ...selection, fieldSelector: `metadata.name=${name}` }, signal)) return object;
    return undefined;
  }

  /** Lists objects. @throws UpstreamError 410; StatusError 503, see `isNotInstalled`; 504 */
  async *list(
    selectors: Pick<Selection, 'fieldSelector' | 'labelSelector' | 'isMetadataOnly'>,
    signal: AbortSignal,
  ): AsyncGenerator<KubernetesObject> {
    const { type, namespace } = this.resource;
    const selection = { type, ...(namespace !== undefined && { namespace }), ...selectors };
    for await (const { objects } of listPages({ client: this.#client, signal }, selection, pageSize)) yield* objects;
  }

  /**
   * Creates an object.
   *
   * @returns 'conflict' if the name is taken
   * @throws StatusError 503, 504
   */
  create(object: NewObject, options: WriteOptions): Promise<KubernetesObject | 'conflict'> {
    return this.post(object, options).catch((error: unknown) => {
      if (isRefusal(error, 409)) return 'conflict' as const;
      throw hideOwnRefusal(error);
    });
  }

  /**
   * Merges into an object; null removes a member.
   *
   * @returns 'conflict' if the change names another UID or version than the current one, 'gone' if the object does not exist
   * @throws StatusError 503, 504
   */
  patch(name: string, change: object, options: WriteOptions): Promise<KubernetesObject | 'conflict' | 'gone'> {
    return this.merge({ name }, change, options).catch((error: unknown) => this.#conflictOrGone(error, name));
  }

  /**
   * Applies a JSON Patch.
   *
   * @returns like `patch`; also 'conflict' if a test operation fails
   * @throws StatusError 503, 504
   */
  patchTested(name: string, operations: readonly object[], options: WriteOptions): Promise<KubernetesObject | 'conflict' | 'gone'> {
    return this.merge({ name }, operations, options).catch((error: unknown) =>
      isRefusal(error, 422) ? ('conflict' as const) : this.#conflictOrGone(error, name),
    );
  }

  /**
   * Replaces a subresource.
   *
   * @returns like `patch`
   * @throws StatusError 503, 504
   */
  async replace(
    name: string,
    subresource: string,
    object: object,
    { signal }: WriteOptions,
  ): Promise<KubernetesObject | 'conflict' | 'gone'> {
    try {
      return this.objectOf(await this.call('PUT', 'update', { name, subresource }, signal, { body: object }));
    } catch (error) {
      return this.#conflictOrGone(error, name);
    }
  }

  /** Merges into the status of an object. @returns like `patch` */
  patchStatus(name: string, change: object, options: WriteOptions): Promise<KubernetesObject | 'conflict' | 'gone'> {
    return this.merge({ name, subresource: 'status' }, change, options).catch((error: unknown) => this.#conflictOrGone(error, name));
  }

  /**
   * Deletes an object if it exists and meets the preconditions.
   *
   * @returns whether it was deleted
   * @throws StatusError 503, 504
   */
  async remove(name: string, options: DeletionOptions): Promise<boolean> {
    try {
      await this.delete(name, options);
      return true;
    } catch (error) {
      if (isRefusal(error, 409) || isGone(error, this.resource.type, name)) return false;
      throw hideOwnRefusal(error);
    }
  }

  #conflictOrGone(error: unknown, name: string): 'conflict' | 'gone' {
    if (isRefusal(error, 409)) return 'conflict';
    if (isGone(error, this.resource.type, name)) return 'gone';
    throw hideOwnRefusal(error);
  }
}

const writeQuery = (isDryRun: boolean, isStrict = false) =>
  new URLSearchParams({ fieldManager, ...(isDryRun && { dryRun: 'All' }), ...(isStrict && { fieldValidation: 'Strict' }) });

const hideOwnRefusal = (error: unknown) => (error instanceof UpstreamError ? ownAccountRefused(error) : error);

const identified = z.object({ uid: z.string() });
const readDeleted = reader(z.object({ metadata: identified, details: identified }));

/** Returns the UID of a deleted object. The API server answers with the object, or with a Status about it. */
function uidOf(answer: unknown): string {
  const { metadata, details } = readDeleted(answer);
  return metadata?.uid ?? details?.uid ?? '';
}
