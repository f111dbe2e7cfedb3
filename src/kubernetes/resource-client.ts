import type { Context } from 'koa';
import { z } from 'zod';
import { partsOf, reader } from '../api/reader.ts';
import { serviceUnavailable } from '../api/status.ts';
import type { ForwardCall } from './forward.ts';
import type { ApiCall, CallerClient, ServiceClient } from './kubernetes-client.ts';
import { listPages, type Selection } from './list-watch.ts';
import { definitionMissing } from './missing-rights.ts';
import { ourTrouble } from './own-account.ts';
import { isKubernetesObject, type KubernetesObject, type ResourceTarget, type ResourceType, resourcePath } from './resource.ts';
import { isRefusal, UpstreamError } from './upstream-error.ts';

const fieldManager = 'atrium';
const pageSize = 500;

export interface ResourceKind {
  type: ResourceType;
  /** Of one object: `Group`. */
  kind: string;
  /** Left out for a resource without namespaces. */
  namespace?: string;
}

/** An object as it is sent. */
export interface NewObject {
  readonly metadata: object;
  readonly [member: string]: unknown;
}

export interface WriteOptions {
  signal: AbortSignal;
  isDryRun?: boolean;
  /** Whether a field that the API server does not know is refused, and not left out. */
  isStrict?: boolean;
  /** Whether it may be sent again after a connection was lost. */
  isRepeatable?: boolean;
}

export interface DeletionOptions extends WriteOptions {
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined };
  propagationPolicy?: 'Background';
}

/** Calls about the objects of one resource. Whose rights they need, the two classes below say. */
abstract class ResourceClient {
  protected readonly resource: ResourceKind;
  readonly #send: (call: ApiCall) => Promise<unknown>;

  constructor(resource: ResourceKind, send: (call: ApiCall) => Promise<unknown>) {
    this.resource = resource;
    this.#send = send;
  }

  /**
   * @returns the uid of what was deleted
   * @throws UpstreamError 404, 409 and others in the words of the API server
   * @throws StatusError 503, 504
   */
  async delete(
    name: string,
    { signal, isDryRun = false, preconditions, propagationPolicy, isRepeatable = false }: DeletionOptions,
  ): Promise<string> {
    const answer = await this.call('DELETE', 'delete', { name }, signal, {
      // Where there is a body, the API server looks at no query.
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(preconditions && { preconditions }),
        ...(propagationPolicy && { propagationPolicy }),
        ...(isDryRun && { dryRun: ['All'] }),
      },
      isRepeatable,
    });
    return uidOf(answer);
  }

  protected async post(
    object: NewObject,
    { signal, isDryRun = false, isStrict = false, isRepeatable = false }: WriteOptions,
  ): Promise<KubernetesObject> {
    const created = await this.call('POST', 'create', {}, signal, { query: writeQuery(isDryRun, isStrict), body: object, isRepeatable });
    // What is not stored has no version.
    const { metadata } = partsOf(created);
    return this.objectOf(isDryRun && metadata ? Object.assign({}, created, { metadata: { resourceVersion: '-', ...metadata } }) : created);
  }

  /** An array is a JSON Patch (RFC 6902), an object a merge patch (RFC 7396). */
  protected async merge(
    target: ResourceTarget,
    change: object,
    { signal, isDryRun = false, isRepeatable = false }: WriteOptions,
  ): Promise<KubernetesObject> {
    const contentType = Array.isArray(change) ? 'application/json-patch+json' : 'application/merge-patch+json';
    const call = { query: writeQuery(isDryRun), contentType, body: change, isRepeatable };
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
    return this.#send({ ...rest, method, path: resourcePath(type, target), call, signal });
  }

  /** The object that the API server answered. @throws StatusError 503 for anything else */
  protected objectOf(answer: unknown): KubernetesObject {
    if (isKubernetesObject(answer)) return answer;
    throw serviceUnavailable('kubernetes', { cause: new Error(`a ${this.resource.kind} without its metadata`) });
  }
}

/** Writes with the rights of the caller, who gets to know what the API server says of it. */
export class CallerResource extends ResourceClient {
  readonly #client: CallerClient;

  constructor(client: CallerClient, resource: ResourceKind) {
    super(resource, (call) => client.request(call));
    this.#client = client;
  }

  /** Has the API server answer a list, a watch, or, with a name, a get. @throws UpstreamError in its words; StatusError 503, 504 */
  forward(ctx: Context, { name, ...call }: Omit<ForwardCall, 'path' | 'query'> & { name?: string }): Promise<void> {
    const path = resourcePath(this.resource.type, { ...(name !== undefined && { name }) });
    return this.#client.forward(ctx, { ...call, path, query: ctx.querystring });
  }

  /** @throws UpstreamError in the words of the API server, also if there is no such object; StatusError 503, 504 */
  async get(name: string, signal: AbortSignal): Promise<KubernetesObject> {
    return this.objectOf(await this.call('GET', 'get', { name }, signal));
  }

  /** @throws UpstreamError in the words of the API server; StatusError 503, 504 */
  create(object: NewObject, options: WriteOptions): Promise<KubernetesObject> {
    return this.post(object, options);
  }

  /** Merges into the object; null removes a member. @throws UpstreamError in the words of the API server; StatusError 503, 504 */
  patch(name: string, change: object, options: WriteOptions): Promise<KubernetesObject> {
    return this.merge({ name }, change, options);
  }
}

/** Reads and writes with the service's own account. A refusal of what no caller asked for is our trouble. */
export class ServiceResource extends ResourceClient {
  readonly #client: ServiceClient;

  constructor(client: ServiceClient, resource: ResourceKind) {
    super(resource, (call) => client.request(call));
    this.#client = client;
  }

  /** @returns undefined if there is no such object; @throws StatusError 503, also where the resource is not installed; 504 */
  async get(name: string, signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const found = await this.find(name, signal);
    if (found !== 'notInstalled') return found;
    throw definitionMissing(this.resource.type);
  }

  /** As `get`, where it can be done without the resource. */
  async find(name: string, signal: AbortSignal): Promise<KubernetesObject | 'notInstalled' | undefined> {
    try {
      return this.objectOf(await this.call('GET', 'get', { name }, signal));
    } catch (error) {
      if (isGone(error, name)) return undefined;
      if (isRefusal(error, 404)) return 'notInstalled';
      throw error;
    }
  }

  /** @throws UpstreamError 404 where the resource is not installed, 410; StatusError 503, 504 */
  async *list(
    selectors: Pick<Selection, 'fieldSelector' | 'labelSelector' | 'isMetadataOnly'>,
    signal: AbortSignal,
  ): AsyncGenerator<KubernetesObject> {
    const { type, namespace } = this.resource;
    const selection = { type, ...(namespace !== undefined && { namespace }), ...selectors };
    for await (const { objects } of listPages({ client: this.#client, signal }, selection, pageSize)) yield* objects;
  }

  /** @returns 'conflict' if there is one of that name; @throws StatusError 503, 504 */
  create(object: NewObject, options: WriteOptions): Promise<KubernetesObject | 'conflict'> {
    return this.post(object, options).catch((error: unknown) => {
      if (isRefusal(error, 409)) return 'conflict' as const;
      throw oursAlone(error);
    });
  }

  /**
   * Merges into the object; null removes a member.
   *
   * @returns 'conflict' if the change names another uid or version than there is, 'gone' if there is no such object
   * @throws StatusError 503, 504
   */
  patch(name: string, change: object, options: WriteOptions): Promise<KubernetesObject | 'conflict' | 'gone'> {
    return this.merge({ name }, change, options).catch(conflictOrGone(name));
  }

  /** Applies a JSON Patch. @returns as `patch`; also 'conflict' if one of its tests does not hold; @throws StatusError 503, 504 */
  patchTested(name: string, operations: readonly object[], options: WriteOptions): Promise<KubernetesObject | 'conflict' | 'gone'> {
    return this.merge({ name }, operations, options).catch((error: unknown) =>
      isRefusal(error, 422) ? ('conflict' as const) : conflictOrGone(name)(error),
    );
  }

  /** Replaces a subresource. @returns as `patch`; @throws StatusError 503, 504 */
  async replace(
    name: string,
    subresource: string,
    object: object,
    { signal }: WriteOptions,
  ): Promise<KubernetesObject | 'conflict' | 'gone'> {
    try {
      return this.objectOf(await this.call('PUT', 'update', { name, subresource }, signal, { body: object }));
    } catch (error) {
      return conflictOrGone(name)(error);
    }
  }

  /** As `patch`, of its status. */
  patchStatus(name: string, change: object, options: WriteOptions): Promise<KubernetesObject | 'conflict' | 'gone'> {
    return this.merge({ name, subresource: 'status' }, change, options).catch(conflictOrGone(name));
  }

  /** Deletes what the preconditions say, if it is there still. @returns whether it was; @throws StatusError 503, 504 */
  async remove(name: string, options: DeletionOptions): Promise<boolean> {
    try {
      await this.delete(name, options);
      return true;
    } catch (error) {
      if (isRefusal(error, 404, 409)) return false;
      throw oursAlone(error);
    }
  }
}

const writeQuery = (isDryRun: boolean, isStrict = false) =>
  new URLSearchParams({ fieldManager, ...(isDryRun && { dryRun: 'All' }), ...(isStrict && { fieldValidation: 'Strict' }) });

/** The API server says so of the object; where it does not know the resource, or misses another object, it names that one or none. */
const isGone = (error: unknown, name: string): boolean => isRefusal(error, 404) && error.status.details?.name === name;

const conflictOrGone =
  (name: string) =>
  (error: unknown): 'conflict' | 'gone' => {
    if (isRefusal(error, 409)) return 'conflict';
    if (isGone(error, name)) return 'gone';
    throw oursAlone(error);
  };

const oursAlone = (error: unknown) => (error instanceof UpstreamError ? ourTrouble(error) : error);

const identified = z.object({ uid: z.string() });
const readDeleted = reader(z.object({ metadata: identified, details: identified }));

/** The API server answers a deletion with the object, or with a Status about it. */
function uidOf(answer: unknown): string {
  const { metadata, details } = readDeleted(answer);
  return metadata?.uid ?? details?.uid ?? '';
}
