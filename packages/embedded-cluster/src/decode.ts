/**
 * Decoding of a request body to an object: kind and version of the path, metadata of known fields, the rest pruned to the schema. Unknown
 * fields are an error, a warning or ignored, as `fieldValidation` requests.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
 */
import { invalidValue } from '@atrium/objects/field-error.ts';
import { badRequest, invalid, StatusError } from '@atrium/objects/status.ts';
import { WrongType } from './kind-schema.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, type ObjectMeta, objectMeta, valueAt } from './objects.ts';
import { apiVersionOf, type ResourceType } from './resources.ts';

export interface Decoded {
  object: KubernetesObject;
  /** Dotted paths of dropped fields. */
  unknownFields: string[];
}

/** Fields that upstream knows, and that are not stored here. */
const ignoredMetadata = new Set(['selfLink']);

/** Parses the text of a JSON body. @throws StatusError 400 */
export function parseJson(text: string, kind: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: invalid JSON`,
    );
  }
  if (!isJsonObject(value)) {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: not an object`,
    );
  }
  return value;
}

/** Decodes an object, and changes `body`. @throws StatusError 400 if it is not an object of this kind, version and shape. */
export function decodeObject(type: ResourceType, body: JsonObject): Decoded {
  checkKind(type, body);
  const unknown = type.isCustom ? [] : prunedKind(type, body);
  const { metadata, unknownFields } = decodeMetadata(type, body.metadata);
  const object: KubernetesObject = { ...body, apiVersion: apiVersionOf(type), kind: type.kind, metadata };
  return { object, unknownFields: [...unknown, ...unknownFields, ...(type.isCustom ? type.schema.prune(object) : [])] };
}

function prunedKind(type: ResourceType, body: JsonObject): string[] {
  try {
    return type.schema.prune(body);
  } catch (error) {
    throw error instanceof WrongType ? notHandled(type, error.message, { cause: error }) : error;
  }
}

function checkKind(type: ResourceType, body: JsonObject): void {
  const expected = apiVersionOf(type);
  const { apiVersion = type.isCustom ? undefined : expected, kind = type.isCustom ? undefined : type.kind } = body;
  if (typeof kind !== 'string' || kind === '') throw missing(type, 'Kind', body);
  if (typeof apiVersion !== 'string' || apiVersion === '') throw missing(type, 'apiVersion', body);
  if (apiVersion !== expected && type.isCustom)
    throw badRequest(`the API version in the data (${apiVersion}) does not match the expected API version (${expected})`);
  if (apiVersion !== expected) throw unregistered(type, kind, apiVersion);
  if (kind === type.kind) return;
  if (type.isCustom) throw otherKind(type, kind, body);
  throw unregistered(type, kind, expected);
}

const unregistered = (type: ResourceType, kind: string, version: string) =>
  badRequest(
    `${kind} in version "${version.split('/').at(-1)}" cannot be handled as a ${type.kind}: no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`,
  );

function missing({ kind }: ResourceType, field: string, body: JsonObject): StatusError {
  const text = JSON.stringify(body);
  const shown = text.length > 200 ? `${text.slice(0, 200)}...` : text;
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): Object '${field}' is missing in '${shown}'`);
}

function otherKind(type: ResourceType, kind: string, body: JsonObject): StatusError {
  const name = valueAt(body, ['metadata', 'name']);
  return invalid({ group: type.group, kind, name: typeof name === 'string' ? name : '' }, [
    invalidValue('kind', kind, `must be ${type.kind}`),
  ]);
}

function decodeMetadata(type: ResourceType, value: unknown): { metadata: ObjectMeta; unknownFields: string[] } {
  const given = isJsonObject(value) ? { ...value } : {};
  if (value !== undefined && value !== null && !isJsonObject(value)) throw notHandled(type, 'metadata must be an object');
  dropNulls(given);
  const parsed = objectMeta.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw notHandled(type, `metadata.${issue?.path.join('.')}: ${issue?.message}`);
  }
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(objectMeta.shape, key) && !ignoredMetadata.has(key));
  return { metadata: withoutEmpty(parsed.data), unknownFields: unknown.map((key) => `metadata.${key}`) };
}

/** Removes empty members, like Go's `omitempty`. */
function withoutEmpty<T extends object>(value: T): T {
  for (const [key, part] of Object.entries(value)) {
    const isEmpty = part === '' || part === 0 || (typeof part === 'object' && Object.keys(part).length === 0);
    if (isEmpty) Reflect.deleteProperty(value, key);
  }
  return value;
}

function dropNulls(value: unknown): void {
  if (Array.isArray(value)) value.forEach(dropNulls);
  else if (isJsonObject(value)) dropNullFields(value);
}

function dropNullFields(value: JsonObject): void {
  for (const [key, part] of Object.entries(value)) {
    if (part === null) delete value[key];
    else dropNulls(part);
  }
}

const notHandled = ({ kind, version }: ResourceType, why: string, options: ErrorOptions = {}) =>
  new StatusError(400, 'BadRequest', `${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`, options);

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** Formats the refusal of unknown fields. */
export const strictDecodingError = (fields: readonly string[]) => `strict decoding error: ${fields.map(unknownField).join(', ')}`;
export const unknownField = (field: string) => `unknown field ${JSON.stringify(field)}`;
export const strictRefusal = (type: ResourceType, fields: readonly string[]) => notHandled(type, strictDecodingError(fields));
