/** Server-side apply: the fields of a manager, merged into an object that may have other managers. */
import { required } from '@atrium/objects/field-error.ts';
import { badRequest, invalid, type StatusError } from '@atrium/objects/status.ts';
import { parseDocument } from 'yaml';
import { findObject, type WriteContext } from './backend.ts';
import { decodeObject } from './decode.ts';
import { unclassified } from './exchange.ts';
import { fieldsOf, merged, rootSchema, without } from './field-set.ts';
import type { Refusal } from './kind-decoding.ts';
import { WrongType } from './kind-schema.ts';
import { abandoned, refuseConflicts } from './managed-fields.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type StoredObject } from './objects.ts';
import { apiVersionOf, type ResourceType, type Target } from './resources.ts';
import { createObject, updateObject } from './write.ts';

interface ApplyRequest {
  /** YAML or JSON. */
  text: string;
  subresource: string | undefined;
  /** Takes over fields of other managers. */
  isForced: boolean;
}

/** Returns the object, and whether it was created. @throws StatusError 400, 404, 409 or 422 */
export function applyObject(
  context: WriteContext,
  target: Target,
  { text, subresource, isForced }: ApplyRequest,
): { object: StoredObject; isCreated: boolean } {
  const { backend, manager } = context;
  const { type, namespace, name } = target;
  if (!manager?.isNamed)
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions', name: '' }, [required('fieldManager', 'is required for apply patch')]);
  const body = parsed(text);
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  if (Array.isArray(metadata.managedFields) && metadata.managedFields.length > 0) throw badRequest('metadata.managedFields must be nil');
  if (metadata.name !== undefined && metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  const given = { ...body, metadata: { ...metadata, name: metadata.name ?? name } };
  const fields = fieldsOf(type, declaredObject(type, given), subresource);
  const applied = { type, manager: manager.name, subresource, fields };
  const current = findObject(backend, target);
  const asApplied = { ...context, applied: fields };
  if (current === undefined && subresource === undefined)
    return { object: createObject(asApplied, { type, namespace }, given), isCreated: true };
  if (current !== undefined && !isForced) refuseConflicts(current, applied);
  const { managedFields: _managed, ...rest } = current?.metadata ?? {};
  const base = { ...current, metadata: rest };
  const left = current === undefined ? base : without(rootSchema(type), base, abandoned(current, applied));
  const result = structuredClone(merged(rootSchema(type), left, given)) as JsonObject;
  return updateObject(asApplied, target, result, { subresource, isPatch: true });
}

/** Returns the applied object. A built-in kind must have its fields, whatever `fieldValidation` asks for. @throws StatusError */
function declaredObject(type: ResourceType, given: JsonObject): KubernetesObject {
  try {
    const { object, unknownFields } = decodeObject(type, structuredClone(given));
    const [unknown] = type.isCustom ? [] : unknownFields;
    if (unknown !== undefined) throw untyped(type, given, `.${unknown}: field not declared in schema`);
    return object;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    throw cause instanceof WrongType ? untyped(type, given, `.${cause.refusal.path}: ${expectation(cause.refusal)}`) : error;
  }
}

function untyped(type: ResourceType, { metadata }: JsonObject, why: string): StatusError {
  const { namespace = '', name } = metadata as JsonObject;
  return unclassified(`failed to create typed patch object (${namespace}/${name}; ${apiVersionOf(type)}, Kind=${type.kind}): ${why}`);
}

/** Source: sigs.k8s.io/structured-merge-diff, typed/validate.go. */
function expectation({ goType, value }: Refusal): string {
  if (goType.startsWith('[]')) return `expected list, got &{${value}}`;
  if (/^(?:map|v\d)/.test(goType)) return `expected map, got &{${value}}`;
  if (goType === 'bool') return `expected boolean, got &{${value}}`;
  return goType.startsWith('int') ? `expected numeric (int or float), got ${goWord(value)}` : `expected string, got &{${value}}`;
}

const goWord = (value: unknown): string => (typeof value === 'boolean' ? 'bool' : typeof value);

function parsed(text: string): JsonObject {
  const document = parseDocument(text);
  const body: unknown = document.errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 100 });
  if (!isJsonObject(body)) throw badRequest('error decoding YAML: the body is not an object');
  return body;
}
