/** Operations for the caller's own record, and the public key for passwords. */
import { z } from 'zod';
import { type Operation, operation } from '../http/operation.ts';
import type { UsersContext } from './context.ts';
import type { PasswordEnvelopes } from './passwords/envelope.ts';
import { getOwnUser } from './read.ts';
import { userSchema } from './record/schema.ts';

const publicKeySchema = z
  .object({
    ts: z.string().regex(/^\d+$/).describe('Unix seconds: until when an envelope that repeats it counts.'),
    pubkey: z.string().describe('PEM, SubjectPublicKeyInfo.'),
    pubkey_encode: z.string().describe('The same in base64.'),
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

export function ownOperations(context: UsersContext, envelopes: PasswordEnvelopes): Operation[] {
  const { features } = context.services.config;
  return [...(features.pubkey ? [pubkeyOperation(envelopes)] : []), ...(features.me ? [meOperation(context)] : [])];
}

const pubkeyOperation = (envelopes: PasswordEnvelopes) =>
  operation({
    id: 'GetPasswordKey',
    method: 'GET',
    paths: ['/auth/v1/pubkey'],
    tag: 'users',
    summary: 'Gives the key that passwords may be encrypted with',
    description:
      'Where a password is asked for, base64 of RSA-OAEP (SHA-256) of `{"ts":"…","password":"…"}` may be sent instead, with the `ts` of this answer.',
    credential: 'none',
    answers: { 200: { description: 'The key.', content: { 'application/json': publicKeySchema } } },
    async handle({ ctx }) {
      ctx.body = await envelopes.publicKey();
    },
  });

const meOperation = (context: UsersContext) =>
  operation({
    id: 'GetMe',
    method: 'GET',
    paths: ['/auth/v1/me'],
    tag: 'users',
    summary: 'Shows the record of the caller',
    credential: 'required',
    openToPasswordDue: true,
    answers: {
      200: { description: 'The user.', content: { 'application/json': userSchema }, headers: { ETag: 'The resource version.' } },
      404: { description: 'The caller has no record.' },
    },
    async handle({ ctx, caller, signal }) {
      const { text, resourceVersion } = await getOwnUser(context, caller, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = text;
    },
  });
