/** Operation that returns the public key for the encryption of passwords. */

import { operation } from '@atrium/http/operation.ts';
import { z } from 'zod';
import type { PasswordEnvelopes } from './secret.ts';

const publicKeySchema = z
  .object({
    ts: z.string().regex(/^\d+$/).describe('Expiry in Unix seconds of an encrypted password that contains it.'),
    pubkey: z.string().describe('PEM, SubjectPublicKeyInfo.'),
    pubkey_encode: z.string().describe('`pubkey` in base64.'),
    algorithms: z.array(z.literal('RSA-OAEP-256')),
  })
  .meta({
    id: 'PasswordKey',
    examples: [
      {
        ts: '1779940350',
        pubkey: '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq…\n-----END PUBLIC KEY-----\n',
        pubkey_encode: 'LS0tLS1CRUdJTiBQVUJMSUMgS0VZ…',
        algorithms: ['RSA-OAEP-256'],
      },
    ],
  });

export const publicKeyOperation = (envelopes: PasswordEnvelopes) =>
  operation({
    id: 'GetPasswordKey',
    method: 'GET',
    paths: ['/auth/v1/pubkey'],
    tag: 'users',
    summary: 'Returns the public key for the encryption of passwords',
    description:
      'Operations accept base64 of RSA-OAEP (SHA-256) of `{"ts":"…","password":"…"}` in place of a plain password, with the `ts` of this answer.',
    credential: 'none',
    answers: { 200: { description: 'The key.', content: { 'application/json': publicKeySchema } } },
    async handle({ ctx }) {
      ctx.body = await envelopes.publicKey();
    },
  });
