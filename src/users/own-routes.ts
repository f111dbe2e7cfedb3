/** Operations for the caller's own record, and the public key for passwords. */
import type { Caller } from '@atrium/http/caller.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import { notFound, passwordDue } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { UsersContext } from './context.ts';
import type { PasswordEnvelopes } from './passwords/secret.ts';
import { userResource, userSchema } from './record/schema.ts';
import { isSelf } from './record/subject-name.ts';
import type { UserRow } from './row.ts';

/**
 * Returns the caller's own record, or one that the caller may get.
 *
 * @throws StatusError 403 whether or not the user exists, 404, 503
 */
export async function getUser({ services, users }: UsersContext, name: string, caller: Caller, signal: AbortSignal): Promise<UserRow> {
  await users.lister.whenReady(signal);
  if (!isSelf(users.cache.get(name)?.account, caller)) {
    if (caller.mustChangePassword) throw passwordDue();
    await services.access.require(caller, { ...userResource, verb: 'get', name }, signal);
  }
  return users.get(name, signal);
}

/** Returns the caller's record. @throws StatusError 404 if it does not exist, 503 */
async function getOwnUser({ users, accounts }: UsersContext, caller: Caller, signal: AbortSignal): Promise<UserRow> {
  await users.lister.whenReady(signal);
  const name = caller.user ?? accounts.ofSubject(caller.identity.name)?.name ?? '';
  const row = users.cache.get(name);
  if (row === undefined || !isSelf(row.account, caller)) throw notFound(userResource, name);
  return row;
}

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
    summary: 'Returns the public key for the encryption of passwords',
    description:
      'Operations accept base64 of RSA-OAEP (SHA-256) of `{"ts":"…","password":"…"}` in place of a plain password, with the `ts` of this answer.',
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
    summary: 'Shows the user record of the caller',
    credential: 'required',
    openToPasswordDue: true,
    answers: {
      200: { description: 'The user.', content: { 'application/json': userSchema }, headers: { ETag: 'The resource version.' } },
      404: { description: 'The caller has no user record.' },
    },
    async handle({ ctx, caller, signal }) {
      const { text, resourceVersion } = await getOwnUser(context, caller, signal);
      ctx.set({ ETag: `"${resourceVersion}"`, 'Cache-Control': 'private, no-cache' });
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = text;
    },
  });
