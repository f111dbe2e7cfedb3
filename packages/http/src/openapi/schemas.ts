/** JSON Schemas in a form that generators of clients can read. */
import { z } from 'zod';
import type { CreateDocumentOptions } from 'zod-openapi';

type Override = Extract<NonNullable<CreateDocumentOptions['override']>, (context: never) => void>;
type Context = Parameters<Override>[0];
type JsonSchema = Context['jsonSchema'];

/** Changes the JSON Schema of one schema in place, after those of what is in it. */
export function readable({ jsonSchema, zodSchema, io }: Context): void {
  // Generators make code that does not compile of a default that is an object or a list.
  if (typeof jsonSchema.default === 'object' || jsonSchema.default === '') delete jsonSchema.default;
  delete jsonSchema.propertyNames;
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.type === 'integer') boundInteger(jsonSchema);
  if (zodSchema instanceof z.ZodDiscriminatedUnion && !hasMapping(jsonSchema)) looseChoice(jsonSchema);
  if (zodSchema instanceof z.ZodUnion) spreadTypes(jsonSchema);
  if (zodSchema instanceof z.ZodNullable) foldNull(jsonSchema);
  if (zodSchema instanceof z.ZodObject) describeMembers(jsonSchema, zodSchema.shape, io);
}

const hasMapping = ({ discriminator }: JsonSchema): boolean =>
  typeof discriminator === 'object' && discriminator !== null && 'mapping' in discriminator;

/**
 * Without a mapping, the values of a discriminator would have to be the names of the schemas. Redocly takes schemas of `oneOf` for
 * overlapping if the member that distinguishes them is optional.
 */
function looseChoice(schema: JsonSchema): void {
  delete schema.discriminator;
  if (schema.oneOf === undefined) return;
  schema.anyOf = schema.oneOf;
  delete schema.oneOf;
}

/** zod makes one `type` of several types of `anyOf`, which oapi-codegen knows for one type and null only. */
function spreadTypes(schema: JsonSchema): void {
  const { anyOf = [] } = schema;
  if (anyOf.length < 3 || !anyOf.every((one) => Object.keys(one).join() === 'type')) return;
  const types = anyOf.flatMap(({ type }) => (typeof type === 'string' && type !== 'null' ? [type] : []));
  const isNullable = types.length < anyOf.length;
  schema.oneOf = types.map((type, index) => (index === 0 && isNullable ? { type: [type, 'null'] } : { type }));
  delete schema.anyOf;
}

/** The numbers that JavaScript counts exactly are no limit of the interface, but more than 32 bits. */
function boundInteger(schema: JsonSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  const isWide = schema.maximum === Number.MAX_SAFE_INTEGER;
  if (isWide) delete schema.maximum;
  if (isWide) schema.format ??= 'int64';
}

/** `type: [x, 'null']` instead of a choice of which one is nothing but null. A named schema loses null, which counts as absent. */
function foldNull(schema: JsonSchema): void {
  const [value, nothing] = schema.anyOf ?? [];
  if (value === undefined || nothing?.type !== 'null') return;
  delete schema.anyOf;
  Object.assign(schema, { ...value, ...schema, ...(value.type && { type: [value.type, 'null'] }) });
}

function describeMembers(schema: JsonSchema, shape: z.core.$ZodShape, io: Context['io']): void {
  // Members that exist only to be refused with a reason, and what may only be null, are no part of what a client can send.
  for (const [name, member] of Object.entries(shape)) if (isRefused(member)) delete schema.properties?.[name];
  if (io === 'input') for (const member of Object.values(schema.properties ?? {})) describeDefault(member);
  // Answers may grow; a client that refuses what it does not know would break.
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
}

/** Describes a default in words: openapi-typescript takes a member with `default` for a required one. */
function describeDefault(member: JsonSchema | boolean): void {
  if (typeof member === 'boolean' || member.default === undefined) return;
  const words = typeof member.default === 'object' || member.default === '' ? '' : `Default: ${String(member.default)}.`;
  if (words) member.description = [member.description, words].filter(Boolean).join(' ');
  delete member.default;
}

function isRefused(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodOptional) return isRefused(schema.unwrap());
  return schema instanceof z.ZodNever || schema instanceof z.ZodNull;
}
