import type { Caller } from '@atrium/http/caller.ts';
import { type JsonText, jsonText, sendJsonText, sendText } from '@atrium/http/json-answers.ts';
import { type DocumentFacts, openApiDocument } from '@atrium/http/openapi/document.ts';
import { compressed, type Operation, operation } from '@atrium/http/operation.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { forbiddenPath } from '@atrium/objects/status.ts';
import { stringify } from 'yaml';
import { z } from 'zod';
import { serviceDescription } from './service-description.ts';

const versionInfo = z
  .object({
    version: z.string(),
    nodeVersion: z.string(),
    major: z.string(),
    minor: z.string(),
    gitVersion: z.string().describe('Version in the form that `kubectl version` reads.'),
    features: z
      .record(z.string(), z.boolean())
      .describe('Working extensions, by the names of their settings: enabled, and with rights and definitions in the cluster.'),
  })
  .meta({
    id: 'Version',
    examples: [
      {
        version: '1.2.0',
        nodeVersion: 'v26.10.0',
        major: '1',
        minor: '2',
        gitVersion: 'v1.2.0',
        features: { groups: true, sessions: false },
      },
    ],
  });

const documentSchema = z
  .looseObject({ openapi: z.string() })
  .meta({ examples: [{ openapi: '3.1.1', info: { title: 'Atrium', version: '1.2.0' }, paths: {} }] });

/** Reports the version. @param featuresNow whether each extension is enabled, by the name of its setting; a new object after a change */
export function versionOperation(version: string, featuresNow: () => Readonly<Record<string, boolean>>): Operation {
  const [major = '0', minor = '0'] = version.split('.');
  const made = new WeakMap<object, JsonText>();
  const answerWith = (features: Readonly<Record<string, boolean>>): JsonText => {
    const info: z.input<typeof versionInfo> = { version, nodeVersion: process.version, major, minor, gitVersion: `v${version}`, features };
    const answer = made.get(features) ?? jsonText(info);
    made.set(features, answer);
    return answer;
  };
  return operation({
    id: 'Version',
    method: 'GET',
    paths: ['/version'],
    ignoredQuery: 'all',
    tag: 'operations',
    summary: 'Shows the version of the service, and the enabled extensions',
    credential: 'none',
    answers: { 200: { description: 'The version.', content: { 'application/json': versionInfo } } },
    handle: ({ ctx }) => sendJsonText(ctx, answerWith(featuresNow())),
  });
}

/**
 * `GET /openapi/v3`: the description of the given operations and of itself, as JSON, or as YAML if the caller prefers it.
 *
 * @param facts version and address of the service
 */
export function openApiOperation(operations: readonly Operation[], facts: Omit<DocumentFacts, 'about'>): Operation {
  // Created at the first request, as most processes, above all in tests, never need it.
  const made = once(() => {
    const document = openApiDocument([...operations, self], { ...facts, about: serviceDescription });
    const json = jsonText(document);
    return {
      json,
      yaml: once(
        (): JsonText => ({
          short: undefined,
          bytes: Buffer.from(stringify(document, { aliasDuplicateObjects: false })),
          etag: json.etag.replace(/"$/, '.yaml"'),
        }),
      ),
    };
  });
  const self = operation({
    id: 'OpenApi',
    method: 'GET',
    paths: ['/openapi/v3'],
    ignoredQuery: 'all',
    tag: 'operations',
    summary: 'Shows this description, OpenAPI 3.1',
    credential: 'none',
    before: [compressed],
    answers: {
      200: {
        description: 'The document.',
        content: { 'application/json': documentSchema, 'application/yaml': z.string().meta({ examples: ['openapi: 3.1.1\n'] }) },
        headers: { ETag: 'ETag of the text.' },
      },
    },
    handle({ ctx }) {
      ctx.vary('Accept');
      ctx.set('Cache-Control', 'no-cache');
      if (ctx.accepts('application/json', 'application/yaml') !== 'application/yaml') return sendJsonText(ctx, made().json);
      sendText(ctx, made().yaml(), 'application/yaml; charset=utf-8');
    },
  });
  return self;
}

function once<T>(make: () => T): () => T {
  let value: { made: T } | undefined;
  return () => {
    value ??= { made: make() };
    return value.made;
  };
}

const metricsText = {
  200: {
    description: 'The metrics in the text format of Prometheus.',
    content: { 'text/plain': z.string().meta({ examples: ['process_resident_memory_bytes 123456789\n'] }) },
  },
};

async function sendMetrics(ctx: { type: string; body: unknown }, metrics: Metrics): Promise<void> {
  ctx.type = metrics.registry.contentType;
  ctx.body = await metrics.text();
}

/** `GET /metrics` for the port inside the cluster. */
export const scrapeOperation = (metrics: Metrics): Operation =>
  operation({
    id: 'Scrape',
    method: 'GET',
    paths: ['/metrics'],
    ignoredQuery: 'all',
    places: 'none',
    tag: 'operations',
    summary: 'Metrics',
    credential: 'none',
    answers: metricsText,
    handle: ({ ctx }) => sendMetrics(ctx, metrics),
  });

/**
 * `GET /metrics` on the public port.
 *
 * @param mayScrape whether the caller may get the path `/metrics`
 */
export const metricsOperation = (metrics: Metrics, mayScrape: (caller: Caller, signal: AbortSignal) => Promise<boolean>): Operation =>
  operation({
    id: 'Metrics',
    method: 'GET',
    paths: ['/metrics'],
    ignoredQuery: 'all',
    tag: 'operations',
    summary: 'Shows metrics to callers who may `get` the path `/metrics`',
    credential: 'required',
    answers: { ...metricsText, 403: { description: 'The caller may not `get` the path `/metrics`.' } },
    async handle({ ctx, caller, signal }) {
      if (!(await mayScrape(caller, signal))) throw forbiddenPath({ user: caller.identity.name, verb: 'get', path: '/metrics' });
      await sendMetrics(ctx, metrics);
    },
  });
