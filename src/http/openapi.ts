import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject, type ZodOpenApiResponseObject } from 'zod-openapi';
import type { AnswerDescription, Operation } from './operation.ts';

const statusCause = z
  .object({ reason: z.string().optional(), message: z.string().optional(), field: z.string().optional() })
  .meta({ id: 'StatusCause' });
const statusDetails = z
  .object({
    name: z.string().optional(),
    group: z.string().optional(),
    kind: z.string().optional(),
    uid: z.string().optional(),
    causes: z.array(statusCause).optional(),
    retryAfterSeconds: z.int32().optional(),
  })
  .meta({ id: 'StatusDetails' });
const listMeta = z
  .object({
    continue: z.string().optional(),
    remainingItemCount: z.int().optional(),
    resourceVersion: z.string().optional(),
    selfLink: z.string().optional(),
  })
  .meta({ id: 'ListMeta' });
const status = z
  .object({
    apiVersion: z.string().optional(),
    kind: z.string().optional(),
    code: z.int32().optional(),
    status: z.string().optional(),
    reason: z.string().optional(),
    message: z.string().optional(),
    details: statusDetails.optional(),
    metadata: listMeta.optional(),
  })
  .meta({ id: 'Status', description: 'The error body of every operation, as the Kubernetes API server builds it.' });

/** Statuses that any operation may give, whatever it does (api.md 1.2). */
const transport: Record<number, string> = {
  400: 'Parameters or body cannot be used.',
  405: 'The method is not allowed on this path.',
  413: 'The body is too large.',
  415: 'The body has another media type, or is encoded.',
  429: 'Too many requests.',
  431: 'The headers are too large.',
  500: 'A defect of the service.',
  503: 'Something behind the service is out of reach.',
  504: 'Something behind the service took too long.',
};

const rest = /\/\{\*(\w+)\}/;

/** Express-like paths of the router as OpenAPI templates. */
const template = (path: string) => path.replace(rest, '/{$1}').replace(/:(\w+)/g, '{$1}');

/** Parameters of the path. The rest of a path is none to its handler, and one to the document. */
function pathParameters(path: string, params: z.ZodObject): z.ZodObject {
  const name = rest.exec(path)?.[1];
  return name === undefined ? params : params.extend({ [name]: z.string().describe('All of the path.') });
}

const response = ({ description, content, headers }: AnswerDescription): ZodOpenApiResponseObject => ({
  description,
  ...(content && { content: Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, schema ? { schema } : {}])) }),
  ...(headers && {
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' as const } }]),
    ),
  }),
});

const failure = (description: string): AnswerDescription => ({ description, content: { 'application/json': status } });

function describe(operation: Operation, path: string): ZodOpenApiOperationObject {
  const readsCredentials = operation.credential !== 'none';
  const failures = { ...transport, ...(readsCredentials && { 401: 'No credential where one is needed, or one that is not accepted.' }) };
  const answers: Record<string, AnswerDescription> = {
    ...Object.fromEntries(Object.entries(failures).map(([code, text]) => [code, failure(text)])),
    ...operation.answers,
  };
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    ...(operation.deprecated && { deprecated: true }),
    security: security(operation),
    requestParams: { path: pathParameters(path, operation.params), query: operation.query },
    ...requestBody(operation),
    responses: Object.fromEntries(
      // Whatever an operation says of a failure, its body is a Status.
      Object.entries(answers).map(([code, answer]) => [
        code,
        response(Number(code) < 400 ? answer : { ...answer, ...failure(answer.description) }),
      ]),
    ) as ZodOpenApiOperationObject['responses'],
  };
}

function requestBody({ body, bodyTypes = ['application/json'], describedBody }: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const schemas = describedBody ?? (body && Object.fromEntries(bodyTypes.map((type) => [type, body])));
  if (schemas === undefined) return {};
  const required = Object.values(schemas).every((schema) => !schema.safeParse(undefined).success);
  return { requestBody: { required, content: Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }])) } };
}

function security({ credential }: Operation): Record<string, string[]>[] {
  if (credential === 'none') return [];
  return credential === 'optional' ? [{}, { bearer: [] }] : [{ bearer: [] }];
}

/** The OpenAPI 3.1 document, from the very descriptions that route and validate. */
export function openApiDocument(operations: readonly Operation[], { version, serverURL }: { version: string; serverURL: string }) {
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {};
  for (const operation of operations) {
    operation.paths.forEach((path, index) => {
      const key = template(path);
      // An operation id is unique in a document: the second path of an operation gets a numbered one.
      const described = { ...describe(operation, path), operationId: index === 0 ? operation.id : `${operation.id}_${index + 1}` };
      paths[key] = { ...paths[key], [operation.method.toLowerCase()]: described };
    });
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Atrium',
      version,
      description: 'The backend of a web console for Kubernetes.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverURL }],
    paths,
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  });
}
