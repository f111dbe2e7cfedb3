/** Creations, changes and deletions that follow the strategy of a resource. The API server decides, with the rights of the caller. */
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '@atrium/http/caller.ts';
import { definitionMissing } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import {
  CallerResource,
  type NewObject,
  type ResourceKind,
  ServiceResource,
  type WriteOptions,
} from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { isRefusal, isUnknownResource } from '@atrium/kubernetes/upstream-error.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { Deleted, Deleter, Deletion } from '@atrium/lists/bulk-delete.ts';
import type { FieldError } from '@atrium/objects/field-error.ts';
import { checkTests, mergePatchOf, type PatchTest } from '@atrium/objects/json-patch.ts';
import { partsOf, reader } from '@atrium/objects/reader.ts';
import { badRequest, conflict, notFound, StatusError } from '@atrium/objects/status.ts';
import { type ObjectRules, type ReadObject, readObject } from '@atrium/objects/validation.ts';
import { isVersionAsked, requiresVersion, type WriteRequest } from '@atrium/objects/write-options.ts';
import { z } from 'zod';
import type { AuditOrigin } from '../audit/audit.ts';
import type { WriteAuditName } from '../audit/audit-events.ts';
import type { Services } from '../services.ts';
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
  /** Reads a new object, if its schema and `errorsOf` do not suffice. @throws StatusError 400, 422, 503 */
  read?(body: unknown, rules: ObjectRules): Promise<ReadObject<New>>;
  /** Requires further rights, and facts that the schema does not know. @throws StatusError 401, 403, 409, 422, 503 */
  beforeCreate?(object: New, caller: Caller, signal: AbortSignal): Promise<void>;
  /** Returns the object to create. */
  manifestOf(object: New, caller: Caller): NewObject;
  /** Reports whether a definition that lacks fields of the object must refuse it. Default: such fields are dropped. */
  isStrict?(object: New): boolean;
  /** Returns the refusal of an object whose name is taken. Default: that of the API server. */
  takenBy?(object: New): StatusError;
  /**
   * Prepares writes of other objects and of the status, unless the creation is a dry run. They follow the creation with the service account,
   * also if the caller has left.
   *
   * @returns a function that makes them, or takes the creation back, and returns the object as it is then
   */
  beginCreate?(object: New): Promise<(created: KubernetesObject) => Promise<KubernetesObject>>;
  /** Undefined for a resource whose objects cannot be changed. */
  patch?: PatchStrategy<Patch>;
  /** Milliseconds that a deletion waits for a controller, which completes it. Default: the deletion waits for the watch alone. */
  deletedWithinMs?: number;
}

interface Changes {
  metadata: object;
  [member: string]: unknown;
}

export interface PatchStrategy<Patch extends Patched> {
  body: z.ZodType<Patch>;
  /** Returns the object that tests of a JSON Patch see. Default: the object without `metadata.managedFields`. */
  serve?(object: KubernetesObject): unknown;
  /** Returns the members to change; undefined if the object has them already. Default: members of spec, labels and annotations. */
  changesOf?(object: KubernetesObject, patch: Patch): Changes | undefined;
  /**
   * Requires the rights to a patch, if they depend on it and on the object. Default: the right to patch the object, before it is read.
   *
   * @param object undefined if it does not exist
   * @returns further rules of this patch
   * @throws StatusError 401, 403, 409, 503
   */
  authorize?(patch: UnreadPatch, object: KubernetesObject | undefined): Promise<AuthorizedPatch<Patch>>;
}

/** Body of a patch as a merge patch, before its schema is checked. */
export interface UnreadPatch {
  body: unknown;
  request: PatchRequest;
  caller: Caller;
  signal: AbortSignal;
}

/** Rules of a patch that depend on caller and object. */
export interface AuthorizedPatch<Patch> {
  /** Reads the patch, if its schema does not suffice. @throws StatusError 400, 422, 503 */
  read?(rules: ObjectRules): Promise<ReadObject<Patch>>;
  /** Makes the last checks, and says how the object is written. Default: with the rights of the caller. */
  begin?(patch: Patch): Promise<BegunPatch>;
}

/** Writes of a patch. */
export interface BegunPatch {
  /** Writes the object with the service account, for callers who may change these members without the right to patch. */
  asService?: boolean;
  /** Runs the write of the object, for example while a lock is held. Its signal replaces that of the request. */
  run?<T>(write: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /**
   * Makes the writes that follow from the patch, unless it is a dry run.
   *
   * @param isWritten false if the object had the members already
   */
  finish?(object: KubernetesObject, isWritten: boolean): Promise<Pick<Written, 'object' | 'endsSession'>>;
}

export interface PatchRequest extends WriteRequest {
  name: string;
  isJsonPatch: boolean;
  /** Value of the header; undefined without one. */
  ifMatch: string | undefined;
  origin: AuditOrigin;
  /** The valid patch as a merge patch. Set before it is written. */
  asked?: unknown;
  /** Receives each write that took effect, also if a later one fails or the caller leaves. Default: the event of the patch. */
  onWritten(target: { name: string; uid: string }, audit?: WriteAuditName): void;
}

/** A written object. */
export interface Written {
  object: KubernetesObject;
  warnings: readonly string[];
  /** True if the write has ended the session of the caller. */
  endsSession?: boolean;
}

type WriteServices = Pick<Services, 'access' | 'apiServer'>;
type WriteCache = Pick<WatchCache<{ uid: string }>, 'get' | 'waitForWrite' | 'until'>;

interface PatchWrite {
  tests: readonly PatchTest[];
  /** True if the caller named a version: another one is refused. */
  isAskedFor: boolean;
  asService: boolean;
  caller: Caller;
  isDryRun: boolean;
  signal: AbortSignal;
}

const readNamed = reader(z.object({ metadata: z.object({ name: z.string() }) }));

export class StandardWrites<New, Patch extends Patched> implements Deleter {
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

  /** @returns the object, and the valid body that asked for it; @throws StatusError 400, 401, 403, 409, 422, 429, 503, 504 */
  async create({ body, isDryRun, fieldValidation }: WriteRequest, caller: Caller, signal: AbortSignal): Promise<Written & { asked: New }> {
    if (this.#strategy === undefined) throw new Error(`a ${this.#kind.kind} has no strategy`);
    const { admit, newBody, errorsOf, read, beforeCreate, beginCreate, manifestOf, isStrict, takenBy } = this.#strategy;
    admit?.(caller);
    await this.require(caller, 'create', undefined, signal);
    const { name = '' } = readNamed(body).metadata ?? {};
    const rules = { ...this.#named(name), fieldValidation, alsoWrong: errorsOf?.(body) ?? [] };
    const { object: asked, warnings } = read ? await read(body, rules) : readObject(newBody, body, rules);
    await beforeCreate?.(asked, caller, signal);
    const finish = isDryRun ? undefined : await beginCreate?.(asked);
    const options = { isDryRun, isStrict: isStrict?.(asked) ?? false, signal };
    const created = await this.#asCaller(caller)
      .create(manifestOf(asked, caller), options)
      .catch((error: unknown) => {
        if (takenBy !== undefined && isRefusal(error, 409) && error.status.reason === 'AlreadyExists') throw takenBy(asked);
        throw isUnknownResource(error) ? definitionMissing(this.#kind.type, error) : error;
      });
    const object = finish ? await finish(created) : created;
    if (!isDryRun) await this.#cache.waitForWrite(object.metadata.resourceVersion, signal);
    return { object, warnings, asked };
  }

  /** @throws StatusError 400, 401, 403, 404, 409, 422, 429, 503, 504 */
  async patch(request: PatchRequest, caller: Caller, signal: AbortSignal): Promise<Written> {
    const { name, ifMatch, isDryRun, fieldValidation } = request;
    const { patch: strategy } = this.#strategy ?? {};
    if (strategy === undefined) throw new Error(`a ${this.#kind.kind} cannot be changed`);
    if (strategy.authorize === undefined) await this.require(caller, 'patch', name, signal);
    const kind = this.#named(name);
    const { patch: body, tests } = request.isJsonPatch ? mergePatchOf(request.body, kind) : { patch: request.body, tests: [] };
    const found = await this.#asService().get(name, signal);
    const authorized: AuthorizedPatch<Patch> = (await strategy.authorize?.({ body, request, caller, signal }, found)) ?? {};
    if (found === undefined) throw notFound(this.#kind.type, name);
    const rules = { ...kind, fieldValidation };
    const { object: patch, warnings } = (await authorized.read?.(rules)) ?? readObject(strategy.body, body, rules);
    request.asked = patch;
    const { metadata: asked } = patch;
    if (asked?.name !== undefined && asked.name !== name) throw badRequest(`metadata.name: must be ${name}, as in the path`);
    if (!isVersionAsked(found.metadata, asked, ifMatch)) throw this.#modified(name);
    const isAskedFor = requiresVersion(asked, ifMatch);
    if (tests.length > 0) this.#checkTests(found, tests, strategy);
    const begun: BegunPatch = (await authorized.begin?.(patch)) ?? {};
    const how = { tests, isAskedFor, asService: begun.asService ?? false, caller, isDryRun };
    const write = (held: AbortSignal) => this.#write(found, patch, strategy, { ...how, signal: held });
    const { object, isWritten } = await (begun.run ? begun.run(write) : write(signal));
    if (isDryRun) return { object, warnings };
    if (isWritten) request.onWritten(object.metadata);
    const finished = begun.finish ? await begun.finish(object, isWritten) : { object };
    await this.#cache.waitForWrite(finished.object.metadata.resourceVersion, signal);
    return { ...finished, warnings };
  }

  /** @returns the uid of the deleted object; @throws StatusError 403, 404, 409, 503, 504 */
  async delete({ name, preconditions = {}, isDryRun, asCaller }: Deletion, caller: Caller, signal: AbortSignal): Promise<Deleted> {
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

  /**
   * Writes the changes. Repeats the tests on each version after a conflict with a controller or another writer: callers who named no version
   * only learn of conflicts that persist.
   */
  async #write(
    found: KubernetesObject,
    patch: Patch,
    strategy: PatchStrategy<Patch>,
    { tests, isAskedFor, asService, caller, isDryRun, signal }: PatchWrite,
  ): Promise<{ object: KubernetesObject; isWritten: boolean }> {
    const { changesOf = changedMembers } = strategy;
    const { name, uid } = found.metadata;
    const isOfVersion = isAskedFor || tests.length > 0;
    const isRetried = isOfVersion && !isAskedFor;
    const options = { isDryRun, signal };
    let current = found;
    const attempt = async () => {
      const changes = changesOf(current, patch);
      if (changes === undefined) return { object: current, isWritten: false };
      const { resourceVersion } = current.metadata;
      const change = { ...changes, metadata: { ...changes.metadata, uid, ...(isOfVersion && { resourceVersion }) } };
      const write = asService ? this.#patchAsService(name, change, options) : this.#asCaller(caller).patch(name, change, options);
      return { object: await write, isWritten: true };
    };
    if (!isRetried) return attempt();
    const written = await retryOnConflict(async () => {
      try {
        return await attempt();
      } catch (error) {
        const isConflict = error instanceof StatusError && error.status.code === 409;
        const latest = isConflict ? await this.#asService().get(name, signal) : undefined;
        if (latest?.metadata.uid !== uid) throw error;
        this.#checkTests(latest, tests, strategy);
        current = latest;
        return undefined;
      }
    }, signal);
    if (written === undefined) throw this.#modified(name);
    return written;
  }

  /** @throws StatusError 422 */
  #checkTests(object: KubernetesObject, tests: readonly PatchTest[], { serve }: PatchStrategy<Patch>): void {
    checkTests(serve?.(object) ?? servedObject(this.#kind, object), tests, this.#named(object.metadata.name));
  }

  async #patchAsService(name: string, change: object, options: WriteOptions): Promise<KubernetesObject> {
    const written = await this.#asService().patch(name, change, { ...options, isAudited: !options.isDryRun });
    if (written === 'gone') throw notFound(this.#kind.type, name);
    if (written === 'conflict') throw this.#modified(name);
    return written;
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
