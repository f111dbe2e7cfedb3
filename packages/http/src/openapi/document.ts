import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiMediaTypeObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi';
import { type AnswerDescription, bytes, type Operation } from '../operation.ts';
import { reservedPath } from '../router.ts';
import { describedHeaders, failureComponents, failureResponse, sharedFailures } from './failures.ts';
import { readable } from './schemas.ts';

/**
 * Returns the static files that no request reaches, because an operation or the embedded issuer answers their path.
 *
 * @param files paths below the root, without the first slash
 * @param prefixes paths that are answered before any operation: `/identity`
 */
export function shadowedPaths(files: Iterable<string>, operations: readonly Operation[], prefixes: readonly string[]): string[] {
  const patterns = operations
    .filter(({ method }) => method === 'GET')
    .flatMap(({ paths }) => paths)
    .filter((path) => !path.startsWith('/{*'))
    .map(patternOf);
  const isTaken = (path: string) =>
    reservedPath.test(path) ||
    prefixes.some((prefix) => path === prefix || path.startsWith(`${prefix}/`)) ||
    patterns.some((pattern) => pattern.test(path));
  return [...files].filter((file) => isTaken(`/${file}`)).sort();
}

/** Returns the expression for a path in the router's syntax. */
const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/:\w+/g, '[^/]+')}$`);

const rest = /\/\{\*(\w+)\}/;

/** Express-like paths of the router as OpenAPI templates. */
const template = (path: string) => path.replace(rest, '/{$1}').replace(/:(\w+)/g, '{$1}');

/** Parameters of the path. The rest of a path is none to its handler, and one to the document. */
function pathParameters(path: string, params: z.ZodObject): z.ZodObject {
  const name = rest.exec(path)?.[1];
  return name === undefined ? params : params.extend({ [name]: z.string().describe('Rest of the path, with slashes.') });
}

/** Returns the examples of a schema, or those of the schema inside an optional one. */
function examplesOf(schema: z.ZodType): readonly unknown[] {
  const { examples } = schema.meta() ?? {};
  if (examples !== undefined) return examples;
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault ? schema.unwrap() : undefined;
  return inner instanceof z.ZodType ? examplesOf(inner) : [];
}

/** A schema, and beside it the examples that it was declared with: tools look for them there. */
function mediaType(schema: z.ZodType): ZodOpenApiMediaTypeObject {
  const named = examplesOf(schema).map((value, index) => [index === 0 ? 'example' : `example${index + 1}`, { value }]);
  return { schema: namedSchema(schema), ...(named.length > 0 && { examples: Object.fromEntries(named) }) };
}

/** Returns the named schema, also for a copy of it with other examples. */
function namedSchema(schema: z.ZodType): z.ZodType {
  const { parent } = schema._zod;
  return parent instanceof z.ZodType && schema.meta()?.id === undefined && parent.meta()?.id !== undefined ? parent : schema;
}

const contentOf = (schemas: Readonly<Record<string, z.ZodType>>) =>
  Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, mediaType(schema)]));

const response = ({ description, content, headers }: AnswerDescription): ZodOpenApiResponseObject => ({
  description,
  ...(content && { content: contentOf(content) }),
  headers: { ...describedHeaders(headers ?? {}), 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
});

/** Reports whether an operation may answer 304 (RFC 9110, section 15.4.5). */
const isRevalidated = ({ method, answers }: Operation) => method === 'GET' && answers[200]?.headers?.ETag !== undefined;

/** The statuses that the document names for an operation; undefined if it answers with those of another server. */
export const statusesOf = (operation: Operation): ReadonlySet<string> | undefined =>
  operation.described?.passedOn === undefined
    ? new Set([
        ...Object.keys({ ...sharedFailures(operation.credential), ...operation.answers }),
        ...(isRevalidated(operation) ? ['304'] : []),
      ])
    : undefined;

function describe(operation: Operation, path: string): ZodOpenApiOperationObject {
  const { described = {} } = operation;
  const own = Object.entries(operation.answers).map(([code, answer]) => [
    code,
    // The body of every failure is a Status.
    Number(code) < 400 ? response(answer) : failureResponse(Number(code), answer.description),
  ]);
  const responses: ZodOpenApiOperationObject['responses'] = {
    ...sharedFailures(operation.credential),
    ...(isRevalidated(operation) && { 304: { $ref: '#/components/responses/NotModified' } }),
    ...Object.fromEntries(own),
    ...(described.passedOn && { default: response({ description: described.passedOn, content: { '*/*': bytes } }) }),
  };
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    ...(described.deprecated && { deprecated: true }),
    security: security(operation),
    requestParams: {
      path: pathParameters(path, operation.params),
      query: described.query ?? operation.query,
      header: requestHeaders(operation),
    },
    ...requestBody(operation),
    responses,
  };
}

const viewHeaderTexts = {
  'Impersonate-User': 'User to impersonate, if the caller may (docs/contract/view-as.md).',
  'Impersonate-Group': 'Group of the impersonated user; a header line for each group.',
  'Impersonate-Uid': 'UID of the impersonated user.',
  'Atrium-View-As-Groups': 'Groups of the impersonated user as a JSON array, because browsers join repeated header lines.',
};

function requestHeaders(operation: Operation): z.ZodObject {
  const known = isRevalidated(operation) && { 'If-None-Match': "ETag of the caller's copy. The answer is 304 if it is current." };
  const described = Object.entries({ ...known, ...(operation.viewAs && viewHeaderTexts), ...operation.described?.headers });
  return z.object(Object.fromEntries(described.map(([name, text]) => [name, z.string().optional().describe(text)])));
}

function requestBody({ body, bodyTypes = ['application/json'], described }: Operation): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const schemas = described?.body ?? (body && Object.fromEntries(bodyTypes.map((type) => [type, body])));
  if (schemas === undefined) return {};
  const required = Object.values(schemas).every((schema) => !schema.safeParse(undefined).success);
  return { requestBody: { required, content: contentOf(schemas) } };
}

/** A session stands for a token. */
function security({ credential }: Operation): Record<string, string[]>[] {
  if (credential === 'none') return [];
  return [...(credential === 'optional' ? [{}] : []), { bearer: [] }, { session: [] }];
}

const securitySchemes = (sessionCookie: string) => ({
  bearer: {
    type: 'http' as const,
    scheme: 'bearer',
    description: 'A token of the issuer, an access token, or another token that the API server accepts.',
  },
  session: {
    type: 'apiKey' as const,
    in: 'cookie' as const,
    name: sessionCookie,
    description: 'The cookie of a session, which browsers send automatically. Its name depends on the installation.',
  },
});

/** Words about a service and its groups of operations. */
export interface ServiceDescription {
  title: string;
  description: string;
  license: { name: string; identifier: string };
  /** Description of each tag, in reading order. */
  tags: Readonly<Record<string, string>>;
}

export interface DocumentFacts {
  about: ServiceDescription;
  version: string;
  serverURL: string;
  /** Its name. */
  sessionCookie: string;
}

/** The OpenAPI 3.1 document, from the very descriptions that route and validate. */
export function openApiDocument(operations: readonly Operation[], { about, version, serverURL, sessionCookie }: DocumentFacts) {
  const { tags, ...info } = about;
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {};
  for (const operation of operations) {
    const [path] = operation.paths;
    const key = template(path);
    paths[key] = { ...paths[key], [operation.method.toLowerCase()]: describe(operation, path) };
  }
  const used = new Set(operations.map(({ tag }) => tag));
  return createDocument(
    {
      openapi: '3.1.1',
      info: { ...info, version },
      servers: [{ url: serverURL }],
      tags: Object.entries(tags).flatMap(([name, description]) => (used.has(name) ? [{ name, description }] : [])),
      paths,
      components: {
        ...failureComponents,
        responses: { ...failureComponents.responses, NotModified: { description: 'The copy of the caller is current.' } },
        headers: {
          'X-Request-Id': { description: 'Id of the request in the log: the one of the caller, or a new one.', schema: { type: 'string' } },
        },
        securitySchemes: securitySchemes(sessionCookie),
      },
    },
    { override: readable },
  );
}
