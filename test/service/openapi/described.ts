import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';

const mediaType = z.looseObject({
  schema: z.looseObject({}).optional(),
  examples: z.record(z.string(), z.looseObject({})).optional(),
});
const content = z.record(z.string(), mediaType);
const response = z.looseObject({ description: z.string().optional(), $ref: z.string().optional(), content: content.optional() });
const operation = z.looseObject({
  operationId: z.string(),
  tags: z.array(z.string()),
  summary: z.string(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().default(false),
        description: z.string().optional(),
        schema: z.looseObject({}).optional(),
      }),
    )
    .default([]),
  requestBody: z.looseObject({ content }).optional(),
  responses: z.record(z.string(), response),
});
const documentSchema = z.looseObject({
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({
    responses: z.record(z.string(), response),
    examples: z.record(z.string(), z.object({ value: z.unknown() })),
  }),
});

type Response = z.output<typeof response>;

export interface DescribedOperation extends z.output<typeof operation> {
  method: string;
  path: string;
}

/** An OpenAPI document, with validators for its schemas. */
export class Described {
  readonly operations: readonly DescribedOperation[];
  readonly tags: ReadonlySet<string>;
  readonly #document: z.output<typeof documentSchema>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(text: unknown) {
    this.#document = documentSchema.parse(text);
    this.tags = new Set(this.#document.tags.map(({ name }) => name));
    this.operations = Object.entries(this.#document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, one]) => ({ ...one, method, path })),
    );
    formats.default(this.#ajv);
    this.#ajv.addSchema(closed(this.#document), 'document', false, false);
  }

  /** Returns a response, with references resolved. */
  responseOf({ responses }: DescribedOperation, code: string): Response | undefined {
    const found = responses[code];
    return found?.$ref === undefined ? found : this.#document.components.responses[found.$ref.replace('#/components/responses/', '')];
  }

  /** Returns an example, with references resolved. */
  example(example: Record<string, unknown>): unknown {
    return typeof example.$ref === 'string'
      ? this.#document.components.examples[example.$ref.replace('#/components/examples/', '')]?.value
      : example.value;
  }

  /** Returns the problems of a value with a schema of the document. A member that the document does not describe is a problem. */
  problems(schema: object, value: unknown): string[] {
    const key = JSON.stringify(schema);
    // References within a schema are relative to the document.
    const validate = this.#validators.get(key) ?? this.#ajv.compile(closed(JSON.parse(key.replaceAll('"$ref":"#', '"$ref":"document#'))));
    this.#validators.set(key, validate);
    return validate(value) ? [] : (validate.errors ?? []).map(problem);
  }
}

/** Refuses undescribed members: answers may grow, so the document allows them, but it must describe all of today's. */
function closed<Value>(schema: Value): Value {
  if (Array.isArray(schema)) return schema.map(closed) as Value;
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([key, value]) => [key, key === 'examples' || key === 'example' ? value : closed(value)]);
  const isOpen = 'type' in schema && schema.type === 'object' && 'properties' in schema && !('additionalProperties' in schema);
  return Object.fromEntries(isOpen ? [...members, ['additionalProperties', false]] : members);
}

const problem = ({ instancePath, message, params }: ErrorObject) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`;
