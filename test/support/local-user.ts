import { z } from 'zod';
import { passwordSecret } from '../../src/users/passwords/secret.ts';
import { type ClusterAdmin, type Manifest, serviceNamespace } from './cluster-admin.ts';

const created = z.object({ metadata: z.object({ name: z.string(), uid: z.string() }) });

/** Creates a User with a password. @param hash as `Passwords.hash` returns it */
export async function addLocalUser(admin: ClusterAdmin, user: Manifest, hash: string): Promise<void> {
  await admin.apply(user);
  const { body } = await admin.call('GET', `/apis/auth.platform.io/v1/users/${user.metadata.name}`);
  const { metadata } = created.parse(body);
  await admin.apply(passwordSecret({ user: metadata, namespace: serviceNamespace, hash, changedAt: new Date() }));
}
