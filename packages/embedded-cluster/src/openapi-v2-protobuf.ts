/**
 * The protobuf form of OpenAPI v2, as far as our documents use it.
 *
 * @see https://github.com/google/gnostic-models/blob/main/openapiv2/OpenAPIv2.proto
 */
import { Writer } from 'protobufjs/minimal.js';
import { isJsonObject, type JsonObject } from './objects.ts';

/** Writes a value with the number of its field. */
type Encode = (writer: Writer, field: number, value: unknown) => void;
type Fields = Readonly<Record<string, readonly [field: number, encode: Encode]>>;

const bytesAfterLength = 2;
const tag = (field: number, wire: number) => (field << 3) | wire;

const text: Encode = (writer, field, value) => writer.uint32(tag(field, bytesAfterLength)).string(String(value));
const bool: Encode = (writer, field, value) => writer.uint32(tag(field, 0)).bool(value === true);
const integer: Encode = (writer, field, value) => writer.uint32(tag(field, 0)).int64(Number(value));
const double: Encode = (writer, field, value) => writer.uint32(tag(field, 1)).double(Number(value));

/** A message with one field. */
const wrapped =
  (inner: number, encode: Encode): Encode =>
  (writer, field, value) => {
    writer.uint32(tag(field, bytesAfterLength)).fork();
    encode(writer, inner, value);
    writer.ldelim();
  };

const list =
  (encode: Encode): Encode =>
  (writer, field, value) => {
    for (const one of Array.isArray(value) ? value : [value]) encode(writer, field, one);
  };

/** Members of an object, each as a message of name and value. */
const named =
  (encode: Encode): Encode =>
  (writer, field, value) => {
    for (const [name, member] of Object.entries(Object(value) as JsonObject)) {
      writer.uint32(tag(field, bytesAfterLength)).fork();
      text(writer, 1, name);
      encode(writer, 2, member);
      writer.ldelim();
    }
  };

/** A value of any type is YAML, which JSON is, too. */
const any: Encode = wrapped(2, (writer, field, value) => text(writer, field, JSON.stringify(value)));

/** @param extensions number of the field that holds the members `x-…` */
const message =
  (fields: () => Fields, extensions = 0): Encode =>
  (writer, field, value) => {
    writer.uint32(tag(field, bytesAfterLength)).fork();
    members(writer, fields(), extensions, value);
    writer.ldelim();
  };

function members(writer: Writer, fields: Fields, extensions: number, value: unknown): void {
  for (const [name, member] of Object.entries(Object(value) as JsonObject)) {
    const known = fields[name];
    if (known !== undefined) known[1](writer, known[0], member);
    else if (extensions > 0 && name.startsWith('x-')) named(any)(writer, extensions, { [name]: member });
  }
}

const schema: Encode = message(() => schemaFields, 31);
const schemaFields: Fields = {
  $ref: [1, text],
  format: [2, text],
  title: [3, text],
  description: [4, text],
  default: [5, any],
  maximum: [7, double],
  minimum: [9, double],
  maxLength: [11, integer],
  minLength: [12, integer],
  pattern: [13, text],
  maxItems: [14, integer],
  minItems: [15, integer],
  required: [19, list(text)],
  enum: [20, list(any)],
  additionalProperties: [
    21,
    (writer, field, value) => wrapped(isJsonObject(value) ? 1 : 2, isJsonObject(value) ? schema : bool)(writer, field, value),
  ],
  type: [22, wrapped(1, text)],
  items: [23, wrapped(1, schema)],
  properties: [25, wrapped(1, named(schema))],
};

const parameterFields = (from: number): Fields => ({
  required: [1, bool],
  in: [2, text],
  name: [4, text],
  type: [from, text],
  uniqueItems: [from + 14, bool],
});
const queryParameter = message(() => parameterFields(6));
const pathParameter = message(() => parameterFields(5));
const parameter: Encode = wrapped(
  1,
  wrapped(2, (writer, field, value) => {
    const isQuery = isJsonObject(value) && value.in === 'query';
    wrapped(isQuery ? 3 : 4, isQuery ? queryParameter : pathParameter)(writer, field, value);
  }),
);

const response: Encode = wrapped(
  1,
  message(() => ({ description: [1, text] })),
);
const operation = message(
  () => ({
    parameters: [8, list(parameter)],
    responses: [9, wrapped(1, named(response))],
  }),
  13,
);
const path = message(() => ({
  get: [2, operation],
  put: [3, operation],
  post: [4, operation],
  delete: [5, operation],
  patch: [8, operation],
  parameters: [9, list(parameter)],
}));

const document: Fields = {
  swagger: [1, text],
  info: [2, message(() => ({ title: [1, text], version: [2, text] }))],
  paths: [8, wrapped(2, named(path))],
  definitions: [9, wrapped(1, named(schema))],
};

/** Returns the bytes of a document in JSON. */
export function encodeDocument(value: JsonObject): Buffer {
  const writer = Writer.create();
  members(writer, document, 0, value);
  return Buffer.from(writer.finish());
}
