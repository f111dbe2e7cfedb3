import { z } from 'zod';
import { listQuery, listSchema } from '../collection/schema.ts';
import { namespaceProperties } from './namespace-row.ts';

/** Word of an RBAC rule; `*` asks for the right to all. */
const word = (what: string, example: string) =>
  z
    .string()
    .max(253)
    .regex(/^[^\s/]+$/, `must be ${what}, such as ${example}`);

const list = listQuery(namespaceProperties);

export const namespacesQuery = list.extend({
  verb: word('a verb', 'list').describe('What the caller wants to do: `get`, `list`, `create`, …'),
  resource: word('the plural of a resource, without its group', 'pods').describe('Of what: `pods`, `deployments`, …'),
  group: z
    .string()
    .max(253)
    .regex(/^[^\s/]*$/, 'must be an API group without a version, such as apps')
    .default('')
    .describe('API group of the resource; empty: the core group.'),
  subresource: z
    .string()
    .max(253)
    .regex(/^\S*$/, 'must be a subresource, such as log')
    .default('')
    .describe('Of the resource: `log`, `scale`, …'),
});

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
