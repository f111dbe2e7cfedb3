/** Queries to the service and the API server about the owners of credentials. */
import { z } from 'zod';
import type { Credential } from './hand.ts';
import { probes } from './probes.ts';
import type { World } from './world.ts';

export interface Identity {
  name: string;
  groups: string[];
}

const info = z.object({ name: z.string(), groups: z.array(z.string()) });
const record = z.object({ metadata: z.object({ uid: z.string() }) });
const madeToken = z.object({ token: z.string() });
const usersThere = z.object({
  items: z.array(z.object({ metadata: z.object({ uid: z.string(), deletionTimestamp: z.string().optional() }) })),
});
const reviews = z.object({ items: z.array(z.object({ status: z.object({ allowed: z.boolean() }) })) });
const bindings = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      roleRef: z.object({ name: z.string() }),
      subjects: z.array(z.object({ kind: z.string(), name: z.string() })).default([]),
    }),
  ),
});

/** @returns the UID of the caller's own record, as the service reports it */
export async function ownRecord(world: World, { headers }: Pick<Credential, 'headers'>): Promise<string | undefined> {
  const { status, body } = await world.call({ to: 'service', method: 'GET', path: '/auth/v1/me', headers });
  return status === 200 ? record.parse(body).metadata.uid : undefined;
}

export async function identityOf(world: World, { headers }: Pick<Credential, 'headers'>): Promise<Identity | undefined> {
  const { status, body } = await world.call({ to: 'service', method: 'GET', path: '/api/v2/token/info', headers });
  return status === 200 ? info.parse(body) : undefined;
}

/** Returns the probes that the service reports as allowed for the sender of the headers. */
export async function allowedTo(world: World, headers: Record<string, string>): Promise<Set<string>> {
  const body = { kind: 'SelfSubjectAccessReviewList', items: probes.map(({ question }) => ({ spec: { resourceAttributes: question } })) };
  const answer = await world.call({ to: 'service', method: 'POST', path: '/auth/v1/selfsubjectaccessreviews', body, headers });
  if (answer.status !== 201) return new Set();
  const { items } = reviews.parse(answer.body);
  return new Set(probes.filter((_probe, index) => items[index]?.status.allowed).map(({ what }) => what));
}

/** Returns the probes that the API server allows for a user name and groups. */
export async function allowedAs({ admin }: World, { name, groups }: Identity): Promise<Set<string>> {
  const allowed = new Set<string>();
  for (const { what, question } of probes) {
    const spec = { user: name, groups: [...groups, 'system:authenticated'], resourceAttributes: question };
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
    const { body } = await admin.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    if ((body as { status: { allowed: boolean } }).status.allowed) allowed.add(what);
  }
  return allowed;
}

/** Returns each pair of a role and a subject that it is bound to. */
export async function boundNow({ admin }: World): Promise<Set<string>> {
  const pairs = new Set<string>();
  for (const resource of ['clusterrolebindings', 'rolebindings']) {
    const { body } = await admin.call('GET', `/apis/rbac.authorization.k8s.io/v1/${resource}`);
    for (const { roleRef, subjects } of bindings.parse(body).items)
      for (const { kind, name } of subjects) pairs.add(`${resource} ${roleRef.name} to ${kind} ${name}`);
  }
  return pairs;
}

/** Returns the UIDs of user records that are not being deleted. */
export async function uidsNow({ admin }: World): Promise<Set<string>> {
  const { body } = await admin.call('GET', '/apis/auth.platform.io/v1/users');
  return new Set(usersThere.parse(body).items.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [metadata.uid] : [])));
}

/** Creates an access token for the owner of a credential. */
export async function tokenOf(world: World, { headers }: Pick<Credential, 'headers'>): Promise<string> {
  const body = { description: 'x' };
  const answer = await world.call({ to: 'service', method: 'POST', path: '/auth/v1/accesstoken', headers, body });
  return madeToken.parse(answer.body).token;
}
