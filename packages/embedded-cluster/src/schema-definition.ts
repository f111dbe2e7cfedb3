/**
 * Subset of a CustomResourceDefinition's `openAPIV3Schema` that the embedded cluster enforces: the keywords that our definitions use. Any
 * other keyword is refused when the schema arrives; no keyword is ignored.
 *
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { invalidValue } from '@atrium/objects/field-error.ts';
import { invalid } from '@atrium/objects/status.ts';
import { z } from 'zod';

/** Parsed structural schema: the names of OpenAPI, and compiled regular expressions. */
export interface Schema extends z.infer<typeof plainSchema> {
  /** A map allows a field that is called `constructor`. */
  properties?: Map<string, Schema> | undefined;
  additionalProperties?: Schema | undefined;
  items?: Schema | undefined;
}

export type ValidationRule = z.infer<typeof rule>;

const count = z.int().nonnegative().optional();

/** Entry of `x-kubernetes-validations`. */
const rule = z.strictObject({
  rule: z.string().min(1),
  message: z.string().optional(),
  /** Path from the rule's place, e.g. `.constraint`. */
  fieldPath: z.string().startsWith('.').optional(),
});

const plainSchema = z.strictObject({
  title: z.string().optional(),
  description: z.string().optional(),
  type: z.enum(['object', 'array', 'string', 'integer', 'number', 'boolean']).optional(),
  nullable: z.boolean().optional(),
  format: z.enum(['date-time', 'int32', 'int64', 'double', 'password']).optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  default: z.unknown().optional(),
  pattern: z.string().transform(compilePattern).optional(),
  minLength: count,
  maxLength: count,
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: count,
  maxItems: count,
  required: z.array(z.string()).optional(),
  'x-kubernetes-preserve-unknown-fields': z.literal(true).optional(),
  'x-kubernetes-list-type': z.enum(['atomic', 'set', 'map']).optional(),
  'x-kubernetes-list-map-keys': z.array(z.string()).min(1).optional(),
  'x-kubernetes-map-type': z.enum(['granular', 'atomic']).optional(),
  'x-kubernetes-validations': z.array(rule).optional(),
});

const schema: z.ZodType<Schema> = z.lazy(() =>
  plainSchema
    .extend({
      properties: z
        .record(z.string(), schema)
        .transform((properties) => new Map(Object.entries(properties)))
        .optional(),
      additionalProperties: schema.optional(),
      items: schema.optional(),
    })
    .refine(({ type, ...rest }) => type || rest['x-kubernetes-preserve-unknown-fields'], 'must have a type'),
);

/** @throws StatusError 422 with every part of the schema that would not be enforced */
export function parseSchema(definition: unknown): Schema {
  const result = schema.safeParse(definition);
  if (result.success) return result.data;
  throw unenforceable(result.error.issues.map(({ path, message }) => ({ path: path.map(String), problem: message })));
}

/** Returns a 422 about a definition; `path` leads from its `openAPIV3Schema` to the place. */
export const unenforceable = (problems: readonly { path: readonly string[]; problem: string }[]) =>
  invalid(
    { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition', name: '' },
    problems.map(({ path, problem }) => invalidValue(['openAPIV3Schema', ...path].join('.'), path.at(-1) ?? '', problem)),
  );

/** Compiles a pattern. Patterns are written for RE2, which supports less; an API server checks that ours are valid there. */
function compilePattern(text: string, context: z.RefinementCtx) {
  try {
    return { text, expression: new RegExp(text, 'u') };
  } catch {
    context.addIssue({ code: 'custom', message: 'is not a regular expression' });
    return z.NEVER;
  }
}
