/** Creations, changes and deletions that follow the strategy of a resource. The API server decides, with the rights of the caller. */

import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '@atrium/http/caller.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, type NewObject, type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { isRefusal } from '@atrium/kubernetes/upstream-error.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { FieldError } from '@atrium/objects/field-error.ts';
import { checkTests, mergePatchOf } from '@atrium/objects/json-patch.ts';
import { partsOf, reader } from '@atrium/objects/reader.ts';
import { badRequest, conflict, notFound } from '@atrium/objects/status.ts';
import { readObject } from '@atrium/objects/validation.ts';
import { isVersionAsked, requiresVersion, type WriteRequest } from '@atrium/objects/write-options.ts';
import { z } from 'zod';
import type { Services } from '../services.ts';
import type { Deletion } from './bulk-delete.ts';
import { servedObject } from './standard-row.ts';

/** Members of a merge patch by their names. Null deletes a member. */
type Members = Readonly<Record<string, unknown>>;

/** Members that every patch may have. */
export interface Patched {
  metadata?:
    | {
        name?: string | undefined;
        uid?: string | undefined;
        resourceVersion?: string | undefined;
        labels?: Members | undefined;
        annotations?: Members | undefined;
      }
    | undefined;
  spec?: Members | undefined;
}

/**
 * Rules of a resource, as in the registry of the API server.
 *
 * @see https://pkg.go.dev/k8s.io/apiserver/pkg/registry/rest#RESTCreateStrategy
 */
export interface Strategy<New, Patch extends Patched> {
  /** Schema of a new object. */
  newBody: z.ZodType<New>;
  /** Refuses a creation before its body is read. @throws StatusError 401, 403 */
  admit?(caller: Caller): void;
  /** Returns violations of rules that span several members. */
  errorsOf?(body: unknown): FieldError[];
  /** Requires further rights, and facts that the schema does not know. @throws StatusError 401, 403, 422, 503 */
  beforeCreate?(object: New, caller: Caller, signal: AbortSignal): Promise<void>;
  /** Returns the object to create. */
  manifestOf(object: New, caller: Caller): NewObject;
  /** Reports whether a definition that lacks fields of the object must refuse it. Default: such fields are dropped. */
  isStrict?(object: New): boolean;
  /** Undefined for a resource whose objects cannot be changed. */
  patch?: PatchStrategy<Patch>;
  /** Milliseconds that a deletion waits for a controller, which completes it. Default: the deletion waits for the watch alone. */
  deletedWithinMs?: number;
}

interface Changes {
  metadata: object;
  [member: string]: unknown;
}

interface PatchStrategy<Patch extends Patched> {
  body: z.ZodType<Patch>;
  /** Returns the object that tests of a JSON Patch see. Default: the object without `metadata.managedFields`. */
  serve?(object: KubernetesObject): unknown;
  /** Returns the members to change; undefined if the object has them already. Default: members of spec, labels and annotations. */
  changesOf?(object: KubernetesObject, patch: Patch): Changes | undefined;
}

export interface PatchRequest extends WriteRequest {
  name: string;
  isJsonPatch: boolean;
  /** Value of the header; undefined without one. */
  ifMatch: string | undefined;
}

/** A written object. */
export interface Written {
  object: KubernetesObject;
  warnings: readonly string[];
  /** False for a dry run, and for a change that changes nothing. */
  isChanged: boolean;
}

type WriteServices = Pick<Services, 'access' | 'apiServer'>;
type WriteCache = Pick<WatchCache<{ uid: string }>, 'get' | 'waitForWrite' | 'until'>;

const readNamed = reader(z.object({ metadata: z.object({ name: z.string() }) }));

export class StandardWrites<New, Patch extends Patched> {
  readonly #services: WriteServices;
  readonly #cache: WriteCache;
  readonly #kind: ResourceKind;
  readonly #strategy: Strategy<New, Patch> | undefined;

  /** @param cache the watched objects of the resource */
  constructor(services: WriteServices, cache: WriteCache, kind: ResourceKind, strategy: Strategy<New, Patch> | undefined) {
    this.#services = services;
    this.#cache = cache;
    this.#kind = kind;
    this.#strategy = strategy;
  }

  /** @throws StatusError 400, 401, 403, 409, 422, 503, 504 */
  async create({ body, isDryRun, fieldValidation }: WriteRequest, caller: Caller, signal: AbortSignal): Promise<Written> {
    if (this.#strategy === undefined) throw new Error(`a ${this.#kind.kind} has no strategy`);
    const { admit, newBody, errorsOf, beforeCreate, manifestOf, isStrict } = this.#strategy;
    admit?.(caller);
    await this.require(caller, 'create', undefined, signal);
    const { name = '' } = readNamed(body).metadata ?? {};
    const { object: read, warnings } = readObject(newBody, body, {
      ...this.#named(name),
      fieldValidation,
      alsoWrong: errorsOf?.(body) ?? [],
    });
    await beforeCreate?.(read, caller, signal);
    const options = { isDryRun, isStrict: isStrict?.(read) ?? false, signal };
    const object = await this.#asCaller(caller).create(manifestOf(read, caller), options);
    if (!isDryRun) await this.#cache.waitForWrite(object.metadata.resourceVersion, signal);
    return { object, warnings, isChanged: !isDryRun };
  }

  /** @throws StatusError 400, 403, 404, 409, 422, 503, 504 */
  async patch(request: PatchRequest, caller: Caller, signal: AbortSignal): Promise<Written> {
    await this.require(caller, 'patch', request.name, signal);
    const written = await retryOnConflict(() => this.#attemptPatch(request, caller, signal), signal);
    if (written === undefined) throw this.#modified(request.name);
    if (written.isChanged) await this.#cache.waitForWrite(written.object.metadata.resourceVersion, signal);
    return written;
  }

  /** @returns the uid of the deleted object; @throws StatusError 403, 404, 409, 503, 504 */
  async delete({ name, preconditions = {}, isDryRun, asCaller }: Deletion, caller: Caller, signal: AbortSignal): Promise<{ uid: string }> {
    const { deletedWithinMs } = this.#strategy ?? {};
    if (asCaller) await this.require(caller, 'delete', name, signal);
    const objects = asCaller ? this.#asCaller(caller) : this.#asService();
    const options = { preconditions, isDryRun, signal, ...(deletedWithinMs !== undefined && { propagationPolicy: 'Background' as const }) };
    const uid = await objects.delete(name, options);
    const isGone = () => this.#cache.get(name)?.uid !== uid;
    if (isDryRun) return { uid };
    // Otherwise the next list of this replica would still show the object.
    await (deletedWithinMs === undefined ? this.#cache.waitForWrite(isGone, signal) : this.#cache.until(isGone, deletedWithinMs, signal));
    return { uid };
  }

  /** @throws StatusError 403, 503 */
  require(caller: Caller, verb: string, name: string | undefined, signal: AbortSignal): Promise<void> {
    return this.#services.access.require(caller, { ...this.#kind.type, verb, ...(name !== undefined && { name }) }, signal);
  }

  /** Returns undefined after a conflict with a controller or another writer, as the caller's tests may still hold. */
  async #attemptPatch(request: PatchRequest, caller: Caller, signal: AbortSignal): Promise<Written | undefined> {
    const { name, ifMatch, isDryRun, fieldValidation } = request;
    const { patch: strategy } = this.#strategy ?? {};
    if (strategy === undefined) throw new Error(`a ${this.#kind.kind} cannot be changed`);
    const kind = this.#named(name);
    const { patch, tests } = request.isJsonPatch ? mergePatchOf(request.body, kind) : { patch: request.body, tests: [] };
    const found = await this.#asService().get(name, signal);
    if (found === undefined) throw notFound(this.#kind.type, name);
    const { object: read, warnings } = readObject(strategy.body, patch, { ...kind, fieldValidation });
    const asked = read.metadata;
    if (asked?.name !== undefined && asked.name !== name) throw badRequest(`metadata.name: must be ${name}, as in the path`);
    if (!isVersionAsked(found.metadata, asked, ifMatch)) throw this.#modified(name);
    const { serve = (served: KubernetesObject) => servedObject(this.#kind, served), changesOf = changedMembers } = strategy;
    checkTests(serve(found), tests, kind);
    const changes = changesOf(found, read);
    if (changes === undefined) return { object: found, warnings, isChanged: false };
    const { uid, resourceVersion } = found.metadata;
    const isAskedFor = requiresVersion(asked, ifMatch);
    const isOfVersion = isAskedFor || tests.length > 0;
    const change = { ...changes, metadata: { ...changes.metadata, uid, ...(isOfVersion && { resourceVersion }) } };
    try {
      return { object: await this.#asCaller(caller).patch(name, change, { isDryRun, signal }), warnings, isChanged: !isDryRun };
    } catch (error) {
      if (isOfVersion && !isAskedFor && isRefusal(error, 409)) return undefined;
      throw error;
    }
  }

  #named(name: string) {
    return { group: this.#kind.type.group, kind: this.#kind.kind, name };
  }

  #asCaller(caller: Caller): CallerResource {
    return new CallerResource(this.#services.apiServer.asCaller(caller), this.#kind);
  }

  #asService(): ServiceResource {
    return new ServiceResource(this.#services.apiServer.asService, this.#kind);
  }

  #modified(name: string) {
    return conflict(this.#kind.type, name, 'the object has been modified; please apply your changes to the latest version and try again');
  }
}

/** Returns the members of the patch that differ from the object; undefined if there are none. */
function changedMembers(object: KubernetesObject, { metadata: { labels, annotations } = {}, spec }: Patched): Changes | undefined {
  const { metadata } = object;
  const changed = {
    spec: differences(spec, partsOf(object).spec ?? {}),
    labels: differences(labels, metadata.labels ?? {}),
    annotations: differences(annotations, metadata.annotations ?? {}),
  };
  if (Object.values(changed).every((change) => change === undefined)) return undefined;
  return {
    ...(changed.spec && { spec: changed.spec }),
    metadata: { ...(changed.labels && { labels: changed.labels }), ...(changed.annotations && { annotations: changed.annotations }) },
  };
}

function differences(wanted: Members = {}, old: Members): Members | undefined {
  const changes = Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key]));
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}
