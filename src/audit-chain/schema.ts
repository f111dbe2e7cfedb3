import { checkpoint } from '@atrium/audit-store/store.ts';
import { z } from 'zod';

/** Public key of a signature, RFC 7517. */
const key = z.object({
  kty: z.string(),
  crv: z.string(),
  x: z.string(),
  y: z.string(),
  kid: z.string().describe('Thumbprint of the key.'),
});

export const checkpointList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('AuditCheckpointList'),
    items: z.array(checkpoint.extend({ signed: z.string().describe('JSON Web Signature of the other members.') })),
    keys: z.array(key).describe('Public keys that verify the signatures.'),
  })
  .meta({
    id: 'AuditCheckpointList',
    examples: [
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'AuditCheckpointList' },
        items: [
          {
            ...{ sequence: 1841, hash: '5f0c…', time: '2026-01-12T10:00:00.000Z', count: 1721 },
            removed: { sequence: 120, hash: 'a41d…' },
            signed: 'eyJhbGciOiJFUzI1NiJ9.eyJzZXF1ZW5jZSI6MTg0MX0.c2lnbmF0dXJl',
          },
        ],
        keys: [{ kty: 'EC', crv: 'P-256', x: 'f83OJ3D2', y: 'x_FEzRu9', kid: 'cn-I_WNM' }],
      },
    ],
  });

export type CheckpointList = z.output<typeof checkpointList>;

/** A line of the chain. */
export const chainLine = z
  .object({ sequence: z.int(), hash: z.string(), event: z.looseObject({}) })
  .meta({ id: 'AuditChainLine', examples: [{ sequence: 1, hash: '5f0c…', event: { auditID: '0d7a6c1e', verb: 'delete' } }] });
