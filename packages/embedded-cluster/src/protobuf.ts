/**
 * Bodies in Kubernetes' protobuf encoding, which kubectl prefers for the kinds it knows: turned into the JSON that it would have sent
 * instead. Answers are always JSON, which those clients accept as well.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#kubernetes-protobuf-encoding
 */

// The library's own messages compile themselves with `new Function`; its reader of the wire format does not.
import { Reader } from 'protobufjs/minimal.js';
import { badRequest } from '../../../src/api/status.ts';
import { isJsonObject, type JsonObject } from './objects.ts';
import { type Field, type Message, messageOf, rawEnvelope, typeMetaEnvelope } from './protobuf-messages.ts';

const magic = Buffer.from('k8s\0');
const varint = 0;
const lengthDelimited = 2;

/** Undefined for a kind whose fields are not known here. @throws StatusError 400 */
export function decodeProtobuf(body: Buffer): JsonObject | undefined {
  if (!body.subarray(0, magic.length).equals(magic)) throw malformed();
  const envelope = body.subarray(magic.length);
  try {
    const { apiVersion = '', kind = '' } = objectAt(readMessage(envelope, typeMetaEnvelope), 'typeMeta');
    const message = messageOf(String(apiVersion), String(kind));
    return message && { apiVersion, kind, ...objectAt(readMessage(envelope, rawEnvelope(message)), 'raw') };
  } catch {
    // The reader fails with plain errors: bytes that are missing, or no number.
    throw malformed();
  }
}

const malformed = () => badRequest('the body does not appear to be a protobuf message of Kubernetes');

const objectAt = (object: JsonObject, name: string): JsonObject => (isJsonObject(object[name]) ? object[name] : {});

/** Only as deep as the tables are, which know no recursion. What comes twice is merged into `object`. */
function readMessage(bytes: Uint8Array, message: Message, object: JsonObject = {}): JsonObject {
  const reader = Reader.create(bytes);
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    const [number, wireType] = [tag >>> 3, tag & 7];
    const field = message[number];
    if (!field) {
      reader.skipType(wireType, 0, number);
      continue;
    }
    const expected = field.type === 'flag' || field.type === 'integer' ? varint : lengthDelimited;
    if (wireType !== expected) throw malformed();
    readField(reader, field, object);
  }
  return object;
}

function readField(reader: Reader, { name, type, label }: Field, object: JsonObject): void {
  const before = object[name];
  if (label === 'map') {
    object[name] = withEntry(objectAt(object, name), readValue(reader, type));
  } else if (label === 'list') {
    const value = readValue(reader, type);
    if (Array.isArray(before)) before.push(value);
    else object[name] = [value];
  } else {
    const value = readValue(reader, type, before);
    // Not told apart here: a text or number that was left out, and one that is empty.
    if (value === '' || value === 0) delete object[name];
    else object[name] = value;
  }
}

/** The entry becomes a property of the map itself, also under a name like `__proto__`. */
function withEntry(map: JsonObject, entry: unknown): JsonObject {
  const { key = '', value = '' } = isJsonObject(entry) ? entry : {};
  return Object.defineProperty(map, String(key), { value, enumerable: true, configurable: true, writable: true });
}

function readValue(reader: Reader, type: Field['type'], before?: unknown): unknown {
  switch (type) {
    case 'text':
      return reader.string();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'flag':
      return reader.bool();
    case 'integer':
      return Number(reader.int64().toString());
    default:
      return readMessage(reader.bytes(), type, isJsonObject(before) ? before : {});
  }
}
