/**
 * Creation and update: the object of a client becomes the stored one, with the fields that only the server sets, defaults, validation and
 * optimistic concurrency.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { alreadyExists, badRequest, conflict, invalid, notFound, StatusError } from '@atrium/objects/status.ts';
import { type Admission, admitByPolicies } from './admission.ts';
import { findObject, getObject, type WriteContext } from './backend.ts';
import { decodeObject, strictDecodingError, strictRefusal, unknownField } from './decode.ts';
import { refuseEscalation } from './escalation.ts';
import { unclassified } from './exchange.ts';
import { manageFields } from './managed-fields.ts';
import { metadataErrors } from './metadata.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, keyOf, type StoredObject, timestamp } from './objects.ts';
import type { Backend, Target } from './resources.ts';
import { collectionOf, type ResourceType, type WriteRequest } from './resources.ts';

const nameCharacters = 'bcdfghjklmnpqrstvwxz2456789';
const generatedNameAttempts = 8;

/** @throws StatusError 400, 403, 404, 409 or 422 */
export const createObject = (context: WriteContext, place: Omit<Target, 'name'>, body: JsonObject): StoredObject =>
  storeNew(context, place, decodeBody(context, place.type, body));

/** Stores an object that was decoded. @throws StatusError 400, 403, 404, 409 or 422 */
export function storeNew(context: WriteContext, { type, namespace }: Omit<Target, 'name'>, object: KubernetesObject): StoredObject {
  const { backend } = context;
  placeInNamespace(object, namespace);
  if (object.metadata.resourceVersion) throw unclassified('resourceVersion should not be set on objects to be created');
  const stored = withServerFields(context, type, object);
  requireNamespace(backend, type, stored);
  if (type.isCustom && type.hasStatus) delete stored.status;
  const request = writeRequest(context);
  finish(type, stored, undefined, request);
  manageFields(stored, undefined, object, managedWrite(context, type));
  admitWrite(context, type, { operation: 'CREATE', object: stored, old: undefined });
  if (findObject(backend, { type, namespace, name: stored.metadata.name })) throw alreadyExists(type, stored.metadata.name);
  refuseEscalation(context, type, stored);
  type.admit?.(stored, undefined, request);
  if (context.isDryRun) return withoutVersion(stored);
  return backend.store.put(collectionOf(type), stored);
}

function admitWrite(
  { backend, user, isDryRun, warn }: WriteContext,
  type: ResourceType,
  write: Pick<Admission, 'operation' | 'subresource' | 'object' | 'old'>,
): void {
  admitByPolicies(backend, { ...write, type, user, isDryRun, warn });
}

const writeRequest = ({ backend, user }: WriteContext, subresource?: string): WriteRequest => ({
  user,
  subresource,
  now: backend.now(),
  may: (access) => backend.rbac.authorize(user, access).allowed,
});

const managedWrite = ({ backend, manager, applied }: WriteContext, type: ResourceType, subresource?: string) => ({
  ...{ type, manager, subresource, applied },
  now: backend.now(),
});

/** Removes the version of an object that was not written. */
function withoutVersion(object: StoredObject): StoredObject {
  Reflect.deleteProperty(object.metadata, 'resourceVersion');
  return object;
}

export interface UpdateOptions {
  subresource?: string | undefined;
  /** True if the body is the result of a patch of the stored object, which errors then name. */
  isPatch?: boolean;
}

interface Update {
  object: StoredObject;
  isCreated: boolean;
}

/** Returns the object after the update, and whether the update created it. @throws StatusError 400, 404, 409 or 422 */
export const updateObject = (context: WriteContext, target: Target, body: JsonObject, options: UpdateOptions = {}): Update =>
  storeUpdate(context, target, decodeBody(context, target.type, body, options.isPatch), options);

/** Stores an object that was decoded. @throws StatusError 400, 404, 409 or 422 */
export function storeUpdate(
  context: WriteContext,
  target: Target,
  object: KubernetesObject,
  { subresource, isPatch = false }: UpdateOptions = {},
): Update {
  const { type, namespace, name } = target;
  checkName(object, name);
  placeInNamespace(object, namespace);
  const old = findObject(context.backend, target);
  if (!old) {
    if (!type.allowsCreateOnUpdate || subresource) throw notFound(type, name);
    if (object.metadata.resourceVersion)
      throw conflict(type, name, 'the object has been modified; please apply your changes to the latest version and try again');
    return { object: storeNew(context, target, object), isCreated: true };
  }
  checkVersion(type, object, old, isPatch);
  const updated = updatedPart(type, subresource)(type, object, old);
  const request = writeRequest(context, subresource);
  finish(type, updated, old, request);
  manageFields(updated, old, object, managedWrite(context, type, subresource));
  admitWrite(context, type, { operation: 'UPDATE', subresource, object: updated, old });
  refuseEscalation(context, type, updated, old);
  type.admit?.(updated, old, request);
  return { object: store(context, type, updated, old), isCreated: false };
}

function store({ backend, isDryRun }: WriteContext, type: ResourceType, updated: StoredObject, old: StoredObject): StoredObject {
  // Upstream writes nothing, and keeps the version, if nothing changed.
  if (isDeepStrictEqual(updated, old)) return old;
  if (isDryRun) return updated;
  const collection = collectionOf(type);
  const stored = backend.store.put(collection, updated);
  if (stored.metadata.deletionTimestamp && !hasFinalizers(stored)) backend.store.remove(collection, keyOf(stored));
  return stored;
}

/** Reports whether the deletion of the object must wait. */
function hasFinalizers(object: StoredObject): boolean {
  const { finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata;
  return finalizers.length > 0 || deletionGracePeriodSeconds > 0 || object.kind === 'Namespace';
}

/** Decodes a body, and reports fields that its kind does not have. @throws StatusError 400, or 422 for the result of a patch */
export function decodeBody(context: WriteContext, type: ResourceType, body: JsonObject, isPatch = false): KubernetesObject {
  const decode = () => decodeObject(type, body);
  const { object, unknownFields } = isPatch ? orPatchRefusal(body, decode) : decode();
  reportUnknown(context, unknownFields, () =>
    isPatch ? patchRefusal(body, strictDecodingError(unknownFields)) : strictRefusal(type, unknownFields),
  );
  return object;
}

function reportUnknown(context: WriteContext, fields: readonly string[], refusal: () => StatusError): void {
  if (fields.length === 0 || context.fieldValidation === 'Ignore') return;
  if (context.fieldValidation === 'Strict') throw refusal();
  for (const field of fields) context.warn(unknownField(field));
}

const patchRefusal = (body: JsonObject, why: string) =>
  invalid({ group: '', kind: '', name: '' }, [invalidValue('patch', JSON.stringify(body), why)]);

/** Reports a decoding failure as one of the patch: the client did not send the decoded object itself. */
function orPatchRefusal<T>(body: JsonObject, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 400) throw patchRefusal(body, error.message);
    throw error;
  }
}

function checkName({ metadata }: KubernetesObject, name: string): void {
  if (!metadata.name) throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

function placeInNamespace({ metadata }: KubernetesObject, namespace: string | undefined): void {
  if (namespace === undefined) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  metadata.namespace = namespace;
}

function withServerFields({ backend }: WriteContext, type: ResourceType, object: KubernetesObject): StoredObject {
  const { deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, generation: _generation, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      name: metadata.name ?? generatedName(backend, type, metadata),
      uid: randomUUID(),
      resourceVersion: '',
      creationTimestamp: timestamp(backend.now()),
      ...(type.hasGeneration && { generation: 1 }),
    },
  };
}

/** Returns an empty name without a prefix, which validation then refuses. */
function generatedName(backend: Backend, type: ResourceType, { generateName, namespace }: KubernetesObject['metadata']): string {
  if (!generateName) return '';
  let name = '';
  for (let attempt = 0; attempt < generatedNameAttempts; attempt += 1) {
    const suffix = Array.from({ length: 5 }, () => nameCharacters.charAt(randomInt(nameCharacters.length))).join('');
    name = generateName.slice(0, 58) + suffix;
    if (!findObject(backend, { type, namespace, name })) break;
  }
  return name;
}

function requireNamespace(backend: Backend, { group, resource, namespaced }: ResourceType, { metadata }: StoredObject): void {
  const type = backend.registry.get({ group: '', resource: 'namespaces' });
  if (!namespaced || !metadata.namespace || !type) return;
  const namespace = getObject(backend, { type, name: metadata.namespace });
  if (!namespace.metadata.deletionTimestamp) return;
  const why = `unable to create new content in namespace ${metadata.namespace} because it is being terminated`;
  throw new StatusError(403, 'Forbidden', `${group ? `${resource}.${group}` : resource} "${metadata.name}" is forbidden: ${why}`, {
    details: { name: metadata.name, ...(group && { group }), kind: resource, causes: [{ reason: 'NamespaceTerminating', message: why }] },
  });
}

function checkVersion(type: ResourceType, { metadata }: KubernetesObject, old: StoredObject, isPatch: boolean): void {
  const { uid, resourceVersion } = metadata;
  if (uid && uid !== old.metadata.uid && !isPatch) {
    throw conflict(type, old.metadata.name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`);
  }
  if (!resourceVersion || resourceVersion === '0') {
    if (type.allowsUnconditionalUpdate) return;
    throw invalid({ group: type.group, kind: type.resource, name: old.metadata.name }, [
      { reason: 'FieldValueInvalid', message: 'Invalid value: 0: must be specified for an update', field: 'metadata.resourceVersion' },
    ]);
  }
  if (!/^\d+$/.test(resourceVersion)) throw unclassified(`strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`);
  if (resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(type, old.metadata.name, 'the object has been modified; please apply your changes to the latest version and try again');
  }
}

function updatedPart({ specParts = {} }: ResourceType, subresource: string | undefined): typeof withSpecOf {
  const member = subresource === undefined ? undefined : specParts[subresource];
  if (member !== undefined) return (type, object, old) => withPartOf(member, withSpecOf(type, object, old), old);
  return subresource ? withStatusOf : withSpecOf;
}

/** Replaces one member of the spec, and keeps the rest of the old object. */
function withPartOf(member: string, { spec }: KubernetesObject, old: StoredObject): StoredObject {
  const { [member]: _old, ...rest } = isJsonObject(old.spec) ? old.spec : {};
  const part = isJsonObject(spec) ? spec[member] : undefined;
  return structuredClone({ ...old, spec: { ...rest, ...(part !== undefined && { [member]: part }) } });
}

/** Replaces the status only, for the status endpoint and similar ones. */
function withStatusOf(type: ResourceType, { status, metadata }: KubernetesObject, old: StoredObject): StoredObject {
  const { status: _old, ...rest } = structuredClone(old);
  const { labels, annotations } = metadata;
  const kept = type.isCustom ? rest.metadata : { ...rest.metadata, ...(labels && { labels }), ...(annotations && { annotations }) };
  return { ...rest, apiVersion: old.apiVersion, kind: old.kind, metadata: kept, ...(status !== undefined && { status }) };
}

/** Replaces everything but the status, if the status has an endpoint of its own. */
function withSpecOf(type: ResourceType, object: KubernetesObject, old: StoredObject): StoredObject {
  const { uid, resourceVersion, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generation, generateName } = old.metadata;
  const updated: StoredObject = {
    ...object,
    metadata: {
      ...(generateName && { generateName }),
      ...object.metadata,
      name: old.metadata.name,
      uid: object.metadata.uid ?? uid,
      resourceVersion,
      creationTimestamp,
      ...(deletionTimestamp && { deletionTimestamp }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
      ...(generation !== undefined && { generation }),
    },
  };
  if (!deletionTimestamp) delete updated.metadata.deletionTimestamp;
  if (type.hasStatus) {
    delete updated.status;
    if (old.status !== undefined) updated.status = structuredClone(old.status);
  }
  // The finalizers of a namespace have an endpoint of their own.
  if (type.kind === 'Namespace') updated.spec = structuredClone(old.spec);
  return updated;
}

/** Applies defaults, then runs every check, then sets the generation. Changes `object`. */
function finish(type: ResourceType, object: StoredObject, old: StoredObject | undefined, request: WriteRequest): void {
  type.schema.applyDefaults(object);
  type.prepare?.(object, old, request);
  const declared = type.schema.validate(object, old);
  const own = ownErrors(() => type.validate?.(object, old, request) ?? [], declared.length > 0);
  const causes = [...metadataErrors(type, object, old), ...own, ...declared];
  if (causes.length > 0) throw invalid({ group: type.group, kind: type.kind, name: object.metadata.name }, causes);
  if (old && type.hasGeneration && !isDeepStrictEqual(versionedPart(type, object), versionedPart(type, old))) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
}

/** A mistake is told before a feature that is not served. */
function ownErrors(validate: () => FieldError[], isWrong: boolean): FieldError[] {
  try {
    return validate();
  } catch (error) {
    if (isWrong && error instanceof StatusError && error.status.code === 501) return [];
    throw error;
  }
}

function versionedPart(type: ResourceType, object: StoredObject) {
  const { metadata: _metadata, status, ...rest } = object;
  return type.hasStatus ? rest : { ...rest, status };
}
