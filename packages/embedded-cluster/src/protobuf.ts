/**
 * Bodies in Kubernetes' protobuf encoding, which kubectl sends for the built-in kinds: turned into the JSON that Go would have written
 * instead. Answers are always JSON, which those clients accept as well.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#kubernetes-protobuf-encoding
 * @see https://github.com/kubernetes/api generated.proto of each group
 */
import { badRequest } from '@atrium/objects/status.ts';
import { Reader } from 'protobufjs/minimal.js';
import { kubernetesApi, type MessageField, schemaNameOf } from './kubernetes-api.ts';
import type { JsonObject } from './objects.ts';

const magic = Buffer.from('k8s\0');
const unknownMessage = 'k8s.io.apimachinery.pkg.runtime.Unknown';
/** Messages within messages: kinds have no more than a dozen. */
const maxDepth = 40;

/** Undefined for a kind that is not built in. @throws StatusError 400 */
export function decodeProtobuf(body: Buffer): JsonObject | undefined {
  if (!body.subarray(0, magic.length).equals(magic)) throw malformed();
  try {
    const { typeMeta, raw = '' } = message(unknownMessage, new Reader(body.subarray(magic.length)));
    const { apiVersion, kind } = Object(typeMeta) as { apiVersion?: unknown; kind?: unknown };
    const type = messageOf(String(apiVersion), String(kind));
    return type === undefined ? undefined : { apiVersion, kind, ...message(type, new Reader(Buffer.from(String(raw), 'base64'))) };
  } catch {
    // The library fails with plain errors: bytes that are missing, or no number.
    throw malformed();
  }
}

const malformed = () => badRequest('the body does not appear to be a protobuf message of Kubernetes');

/** Every group has options of its own with the same fields. */
const optionsMessage = 'k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions';

function messageOf(apiVersion: string, kind: string): string | undefined {
  if (kind === 'DeleteOptions') return optionsMessage;
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const name = schemaNameOf({ group, version, kind })?.replace(/^io\.k8s\./, 'k8s.io.');
  return name !== undefined && Object.hasOwn(kubernetesApi().messages, name) ? name : undefined;
}

function message(type: string, reader: Reader, depth = 0): JsonObject {
  const fields = kubernetesApi().messages[type] ?? {};
  if (depth > maxDepth) throw new Error('too deep');
  const result: JsonObject = {};
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = fields[tag >>> 3];
    if (field === undefined) reader.skipType(tag & 7);
    else add(result, field, reader, depth);
  }
  return result;
}

function add(result: JsonObject, field: MessageField, reader: Reader, depth: number): void {
  if (field.repeats === 'map') {
    const [key, value] = entry(field.type, part(reader), depth);
    define(result, field.name, define(Object(result[field.name] ?? {}) as JsonObject, key, value));
    return;
  }
  const value = jsonOf(field.type, reader, depth);
  if (field.repeats === 'list') define(result, field.name, [...((result[field.name] as unknown[] | undefined) ?? []), value]);
  else if (field.isInline) Object.assign(result, value);
  else if (field.isPointer || !isLeftOut(value)) define(result, field.name, merged(result[field.name], value));
}

/** A key such as `__proto__` is a member, too. */
const define = (target: JsonObject, key: string, value: unknown) =>
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });

/** A message may come in parts. */
const merged = (old: unknown, value: unknown) =>
  typeof old === 'object' && typeof value === 'object' && !Array.isArray(old) ? { ...old, ...value } : value;

/** Go leaves out zeros, unless the field is a pointer. */
const isLeftOut = (value: unknown) => value === '' || value === 0 || value === false || value === undefined;

const part = (reader: Reader) => new Reader(reader.bytes());

function entry(type: string, reader: Reader, depth: number): [key: string, value: unknown] {
  let [key, value]: [string, unknown] = ['', type === 'string' || type === 'bytes' ? '' : {}];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) key = reader.string();
    else if (tag >>> 3 === 2) value = jsonOf(type, reader, depth);
    else reader.skipType(tag & 7);
  }
  return [key, value];
}

function jsonOf(type: string, reader: Reader, depth: number): unknown {
  switch (type) {
    case 'string':
      return reader.string();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'bool':
      return reader.bool();
    case 'int32':
      return reader.int32();
    case 'int64':
      return Number(reader.int64());
    case 'double':
      return reader.double();
  }
  const value = message(type, part(reader), depth + 1);
  const own = ownForm[type.slice(type.lastIndexOf('.') + 1)];
  return own === undefined ? value : own(value);
}

const time = ({ seconds, nanos = 0 }: JsonObject): string | undefined =>
  seconds === undefined ? undefined : new Date(Number(seconds) * 1000 + Number(nanos) / 1e6).toISOString();

/** Messages that are no object in JSON. */
const ownForm: Readonly<Record<string, (value: JsonObject) => unknown>> = {
  Time: (value) => time(value)?.replace(/\.\d+Z$/, 'Z'),
  MicroTime: (value) => time(value)?.replace(/Z$/, '000Z'),
  Quantity: ({ string = '0' }) => string,
  IntOrString: ({ type, intVal = 0, strVal = '' }) => (type === 1 ? strVal : intVal),
  RawExtension: ({ raw = '' }) => JSON.parse(Buffer.from(String(raw), 'base64').toString() || 'null') as unknown,
  ExtraValue: ({ items = [] }) => items,
};
