import { z } from 'zod';
import { listQuery, listSchema } from '../collection/schema.ts';
import { questionQuery } from '../rbac/question-query.ts';
import { namespaceProperties } from './namespace-row.ts';

const list = listQuery(namespaceProperties);

export const namespacesQuery = list.extend(questionQuery);

export type NamespacesQuery = z.output<typeof namespacesQuery>;

const namespace = z
  .object({
    metadata: z.object({
      name: z.string(),
      labels: z.record(z.string(), z.string()),
      creationTimestamp: z.string().describe('RFC 3339.'),
      deletionTimestamp: z.string().optional().describe('Since when it is being deleted.'),
    }),
  })
  .meta({
    id: 'AllowedNamespace',
    examples: [
      { metadata: { name: 'shop', labels: { 'kubernetes.io/metadata.name': 'shop' }, creationTimestamp: '2026-01-12T08:30:00Z' } },
    ],
  });

export const namespaceList = listSchema(namespace, { apiVersion: 'v1', kind: 'NamespaceList' });
