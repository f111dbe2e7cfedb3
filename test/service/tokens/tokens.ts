import { expect } from 'chai';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { isAllowed } from '../../support/grants.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';
import { aUser, nameOf, type UserParts } from '../users/a-user.ts';

const made = z.object({
  id: z.string(),
  token: z.string(),
  timestamp: z.int(),
  expiration: z.int(),
  description: z.string(),
});

const stored = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
  status: z.looseObject({ lastUsedTime: z.string().optional() }).optional(),
});

const refusal = z.object({
  kind: z.literal('Status'),
  code: z.int(),
  reason: z.string(),
  message: z.string(),
  details: z.object({ causes: z.array(z.object({ reason: z.string(), field: z.string().optional() })).default([]) }).optional(),
});

export const usersPath = '/auth/v2/users';
export const tokensPath = '/auth/v1/accesstokens';
export const makePath = '/auth/v1/accesstoken';
const objects = '/apis/auth.platform.io/v1/accesstokens';

/** User name of the service account at the API server. */
export const serviceAccount = `system:serviceaccount:${serviceNamespace}:atrium`;

/** Returns the name of the User record of a person. */
export const recordOf = (person: Person) => nameOf(`${person}@example.com`);

/** Returns a User for a person of the cluster. */
export const aPerson = (person: Person, parts: UserParts = {}) => aUser(`${person}@example.com`, { subjectName: person, ...parts });

/** Starts a server whose account may impersonate users. */
export async function startTokenServer(options: ServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  await server.kubernetes.applyFile('impersonation.yaml');
  const mayActAs = { verb: 'impersonate', group: '', resource: 'users' };
  await eventually(() => isAllowed(server.kubernetes, serviceAccount, mayActAs), Boolean);
  return server;
}

export async function makeToken(server: TestServer, as: Person, body: object = { description: 'ci' }, at?: string) {
  const response = await server.request(makePath, { method: 'POST', as, body, ...(at !== undefined && { at }) });
  const text = await response.text();
  expect(response.status, text).to.equal(201);
  return made.parse(JSON.parse(text));
}

/** Returns the identity that the service reports for a token, or the status of the refusal. */
export async function whoIs(server: TestServer, token: string, at?: string): Promise<{ name: string; groups: string[] } | number> {
  const response = await server.request('/api/v1/token/info', { token, ...(at !== undefined && { at }) });
  const body: unknown = await response.json();
  return response.status === 200 ? z.object({ name: z.string(), groups: z.array(z.string()) }).parse(body) : response.status;
}

export async function refusalOf(response: Response) {
  return refusal.parse(await response.json());
}

/** Returns the status of a user list with that token. */
export async function listStatus(server: TestServer, token: string): Promise<number> {
  const response = await server.request(usersPath, { token });
  await response.body?.cancel();
  return response.status;
}

/** Returns the status of a user list with that token, with the causes of a refusal. */
export async function causesOf(server: TestServer, token: string): Promise<unknown[]> {
  const response = await server.request(usersPath, { token });
  if (response.status !== 401) return [response.status];
  const { message, details } = await refusalOf(response);
  expect(message).not.to.include(token);
  return [401, ...(details?.causes.map(({ reason }) => reason) ?? [])];
}

export const untilCauses = (server: TestServer, token: string, ...wanted: unknown[]) =>
  eventually(
    () => causesOf(server, token),
    (found) => found.join() === wanted.join(),
  );

/** Reads the AccessToken from the cluster. */
export async function storedToken(server: TestServer, id: string) {
  const { status, body } = await server.kubernetes.call('GET', `${objects}/${id}`);
  return status === 200 ? stored.parse(body) : undefined;
}

export const deleteStored = (server: TestServer, id: string) => server.kubernetes.remove(`${objects}/${id}`);

export const mergePatch = (server: TestServer, path: string, patch: unknown) =>
  server.kubernetes.call('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });

export const patchUser = (server: TestServer, person: Person, patch: { spec?: object; status?: object }) =>
  mergePatch(server, `/apis/auth.platform.io/v1/users/${recordOf(person)}${patch.status ? '/status' : ''}`, patch);
