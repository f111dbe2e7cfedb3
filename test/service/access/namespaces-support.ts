import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Fault, FaultProxy, ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';

export const path = '/auth/v1/namespaces';
export const listPods = `${path}?verb=list&resource=pods`;

const item = z.strictObject({
  metadata: z.strictObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    creationTimestamp: z.iso.datetime(),
    deletionTimestamp: z.iso.datetime().optional(),
  }),
});
export const list = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('NamespaceList'),
  metadata: z.strictObject({ resourceVersion: z.string(), continue: z.string(), remainingItemCount: z.int() }),
  total: z.int(),
  items: z.array(item),
});
export const failure = z.looseObject({
  kind: z.literal('Status'),
  code: z.number(),
  reason: z.string(),
  details: z.looseObject({ causes: z.array(z.looseObject({ field: z.string(), reason: z.string() })).optional() }).optional(),
});

export const isReview = ({ path: asked }: ProxiedRequest) => asked.endsWith('/selfsubjectaccessreviews');

interface Review {
  spec?: { resourceAttributes?: Record<string, string> };
  status?: { allowed: boolean; denied?: boolean };
}

/** Intercepts the API server's answers to reviews: `take` sends an answer to the caller instead. */
export const onReview =
  (take: (reviewed: { review: Review; answer: IncomingMessage; response: ServerResponse }) => void): Fault =>
  ({ pass, response }) =>
    pass((answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => take({ review: JSON.parse(Buffer.concat(chunks).toString()), answer, response }));
    });

/** Adds an authorizer whose opinion on a namespace precedes the answer of RBAC. */
export const opinion = (faults: FaultProxy, about: (attributes: Record<string, string>) => boolean | undefined) =>
  faults.inject(
    onReview(({ review, answer, response }) => {
      const allowed = about(review.spec?.resourceAttributes ?? {});
      if (allowed !== undefined) review.status = { allowed, ...(!allowed && { denied: true }) };
      response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' }).end(JSON.stringify(review));
    }),
    isReview,
  );
