/**
 * What the embedded cluster understands of a CustomResourceDefinition's `openAPIV3Schema`. Everything in a schema is either
 * enforced or refused when the schema arrives; nothing is passed over in silence.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { z } from 'zod';
import { invalidValue } from '../../../src/api/field-error.ts';
import { invalid } from '../../../src/api/status.ts';

/** One of `x-kubernetes-validations`. */
export interface ValidationRule {
  rule: string;
  message?: string | undefined;
  messageExpression?: string | undefined;
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate' | undefined;
  /** From the rule's place, e.g. `.constraint`. */
  fieldPath?: string | undefined;
  optionalOldSelf?: boolean | undefined;
}

/** A structural schema as read: what it says by the names of OpenAPI, regular expressions compiled. */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | undefined;
  nullable?: boolean | undefined;
  format?: string | undefined;
  enum?: unknown[] | undefined;
  default?: unknown;
  pattern?: { text: string; expression: RegExp } | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  exclusiveMinimum?: boolean | undefined;
  exclusiveMaximum?: boolean | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  minProperties?: number | undefined;
  maxProperties?: number | undefined;
  required?: string[] | undefined;
  /** A map, so that a field may be called `constructor`. */
  properties?: Map<string, Schema> | undefined;
  additionalProperties?: Schema | undefined;
  items?: Schema | undefined;
  'x-kubernetes-preserve-unknown-fields'?: true | undefined;
  'x-kubernetes-int-or-string'?: true | undefined;
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map' | undefined;
  'x-kubernetes-list-map-keys'?: string[] | undefined;
  'x-kubernetes-map-type'?: 'granular' | 'atomic' | undefined;
  'x-kubernetes-validations'?: ValidationRule[] | undefined;
}

/** Formats of strings that are checked here; the API server's others are refused, and names unknown to it mean nothing to either. */
const CHECKED_FORMATS = ['date-time', 'password'];
const KNOWN_FORMATS = new Set(
  (
    'bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor rgbcolor ' +
    'byte password date duration datetime k8sshortname k8slongname'
  ).split(' '),
);

/** The API server reads format names without their dashes. */
const isUncheckedFormat = ({ type, format = '' }: Schema) =>
  type === 'number'
    ? format === 'float'
    : type !== 'integer' && KNOWN_FORMATS.has(format.replaceAll('-', '')) && !CHECKED_FORMATS.includes(format);

const count = z.int().nonnegative().optional();

const rule = z.strictObject({
  rule: z.string().min(1),
  message: z.string().optional(),
  messageExpression: z.string().optional(),
  reason: z.enum(['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate']).optional(),
  fieldPath: z
    .string()
    .regex(/^(\.[A-Za-z_][\w-]*)+$/, 'only names after dots are understood')
    .optional(),
  optionalOldSelf: z.boolean().optional(),
});

const schema: z.ZodType<Schema> = z.lazy(() =>
  z
    .strictObject({
      title: z.string().optional(),
      description: z.string().optional(),
      example: z.unknown().optional(),
      type: z.enum(['object', 'array', 'string', 'integer', 'number', 'boolean']).optional(),
      nullable: z.boolean().optional(),
      format: z.string().optional(),
      enum: z.array(z.unknown()).min(1).optional(),
      default: z.unknown().optional(),
      pattern: z.string().transform(compilePattern).optional(),
      minLength: count,
      maxLength: count,
      minimum: z.number().optional(),
      maximum: z.number().optional(),
      exclusiveMinimum: z.boolean().optional(),
      exclusiveMaximum: z.boolean().optional(),
      minItems: count,
      maxItems: count,
      minProperties: count,
      maxProperties: count,
      required: z.array(z.string()).optional(),
      properties: z
        .record(z.string(), schema)
        .transform((properties) => new Map(Object.entries(properties)))
        .optional(),
      additionalProperties: schema.optional(),
      items: schema.optional(),
      'x-kubernetes-preserve-unknown-fields': z.literal(true).optional(),
      'x-kubernetes-int-or-string': z.literal(true).optional(),
      'x-kubernetes-list-type': z.enum(['atomic', 'set', 'map']).optional(),
      'x-kubernetes-list-map-keys': z.array(z.string()).min(1).optional(),
      'x-kubernetes-map-type': z.enum(['granular', 'atomic']).optional(),
      'x-kubernetes-validations': z.array(rule).optional(),
    })
    .check(({ value, issues }) => {
      for (const message of structuralProblems(value)) issues.push({ code: 'custom', message, input: value });
    }),
);

/** @throws StatusError 422 with every part of the schema that would not be enforced */
export function parseSchema(definition: unknown): Schema {
  const result = schema.safeParse(definition);
  if (result.success) return result.data;
  throw unenforceable(result.error.issues.map(({ path, message }) => ({ path: path.map(String), problem: message })));
}

/** 422 about a definition; `path` leads from its `openAPIV3Schema` to the place. */
export const unenforceable = (problems: readonly { path: readonly string[]; problem: string }[]) =>
  invalid(
    { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition', name: '' },
    problems.map(({ path, problem }) => invalidValue(['openAPIV3Schema', ...path].join('.'), path.at(-1) ?? '', problem)),
  );

function structuralProblems(value: Schema): string[] {
  const { type, format, items } = value;
  const anyType = value['x-kubernetes-int-or-string'] || value['x-kubernetes-preserve-unknown-fields'];
  const listKeys = value['x-kubernetes-list-map-keys'];
  return [
    ...(type || anyType ? [] : ['must have a type']),
    ...(type && value['x-kubernetes-int-or-string'] ? ['an int-or-string must not have a type'] : []),
    ...(type === 'array' && !items ? ['an array must say what its items are'] : []),
    ...(value.properties && value.additionalProperties !== undefined ? ['properties and additionalProperties exclude each other'] : []),
    ...(isUncheckedFormat(value) ? [`format ${format} is not checked here`] : []),
    ...((value['x-kubernetes-list-type'] === 'map') === Boolean(listKeys) ? [] : ['list type map and list map keys go together']),
    ...(listKeys?.every((key) => items?.properties?.has(key)) === false ? ['list map keys must be properties of the items'] : []),
  ];
}

/**
 * Patterns are written for RE2. What both languages know means the same in them; what only JavaScript knows would pass here and be
 * refused by an API server.
 */
function compilePattern(text: string, context: z.RefinementCtx) {
  try {
    if (/\(\?(?!:)|\\[1-9k]/.test(text)) throw new SyntaxError('look-around, back references and named groups are not RE2');
    return { text, expression: new RegExp(text, 'u') };
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is no regular expression' });
    return z.NEVER;
  }
}
