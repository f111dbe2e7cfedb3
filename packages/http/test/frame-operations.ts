import { operation } from '@atrium/http/operation.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { startBareService } from './bare-service.ts';

const answers = { 200: { description: 'done' } };
const common = { tag: 'test', summary: 'test', answers };

/** State of the slow operation for tests that end a request early, with the function that answers all waiting requests. */
export const slow = {
  aborted: [] as unknown[],
  waiting: [] as (() => void)[],
  release() {
    for (const answer of slow.waiting.splice(0)) answer();
  },
};

export const operations = [
  operation({
    ...common,
    id: 'Echo',
    method: 'POST',
    paths: ['/api/echo'],
    credential: 'none',
    query: z.object({ limit: z.coerce.number().int().min(1).optional(), tag: z.array(z.string()).optional() }),
    body: z.object({ name: z.string(), count: z.number().optional() }),
    handle({ ctx, query, body }) {
      ctx.body = { query, body };
    },
  }),
  operation({
    ...common,
    id: 'Read',
    method: 'GET',
    paths: ['/api/echo'],
    credential: 'optional',
    handle({ ctx, caller }) {
      ctx.body = { name: caller?.identity.name ?? 'anonymous' };
    },
  }),
  operation({
    ...common,
    id: 'Tagged',
    method: 'GET',
    paths: ['/api/tagged'],
    credential: 'none',
    handle({ ctx }) {
      ctx.set('ETag', '"1"');
      ctx.body = { a: 1 };
    },
  }),
  operation({
    ...common,
    id: 'Broken',
    method: 'GET',
    paths: ['/api/broken'],
    credential: 'none',
    handle() {
      throw new Error('password=hunter2 at /srv/secret/path');
    },
  }),
  operation({
    ...common,
    id: 'Slow',
    method: 'GET',
    paths: ['/api/slow'],
    credential: 'none',
    handle: ({ ctx, signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => slow.aborted.push(signal.reason));
        slow.waiting.push(() => {
          ctx.body = { released: true };
          resolve();
        });
      }),
  }),
  operation({
    ...common,
    id: 'Page',
    method: 'GET',
    paths: ['/{*subpath}'],
    places: 'static',
    credential: 'none',
    handle({ ctx }) {
      ctx.body = 'page';
    },
  }),
];

export async function statusOf(response: Response) {
  expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
  const body = z
    .looseObject({ kind: z.literal('Status'), status: z.literal('Failure'), code: z.number(), reason: z.string(), message: z.string() })
    .parse(await response.json());
  expect(body.code).to.equal(response.status);
  return body;
}

/** Starts the request chain with operations of the tests, whose deadlines no test reaches. */
export const startFrame = (): ReturnType<typeof startBareService> =>
  startBareService(operations, { maxInFlight: 3, corsOrigins: ['https://console.example.com'], trustedProxies: ['127.0.0.1'] });

/** Sends a request to the operation that echoes it. */
export const post = (
  { url }: { url: string },
  body: string | null,
  headers: Record<string, string> = { 'content-type': 'application/json' },
  query = '',
): Promise<Response> => fetch(`${url}/api/echo${query}`, { method: 'POST', headers, body });
