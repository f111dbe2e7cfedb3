import { z } from 'zod';
import type { Manifest } from '../../support/cluster-admin.ts';
import type { ServerOptions, TestServer } from '../../support/server.ts';
import type { TestProvider } from '../login/provider/provider.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import { startTokenServer } from '../tokens/tokens.ts';
import { nameOf } from '../users/a-user.ts';

export const audience = 'https://console.example.com';
export const branch = 'repo:acme/shop:ref:refs/heads/main';
const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
export const idToken = tokenType('id_token');
export const accessToken = tokenType('access_token');

/** Returns a machine user that trusts tokens of an issuer. */
export function aMachine(email: string, federation: readonly object[], spec: object = {}): Manifest {
  const source = { connector_type: 'machine', connector_id: 'machine', connector_name: 'Machine' };
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'User',
    metadata: { name: nameOf(email) },
    spec: { email, username: email, ...source, is_admin: false, federation, ...spec },
  };
}

/** Starts a service that exchanges tokens of a provider. */
export const startExchange = (provider: TestProvider, objects: readonly Manifest[], { config = {}, ...options }: ServerOptions = {}) =>
  startTokenServer({
    objects,
    config: {
      server: { publicURL: audience },
      features: { tokenExchange: true },
      tokenExchange: { issuers: [{ id: 'ci', issuer: provider.issuer, audience }] },
      ...config,
    },
    ...options,
  });

/** Returns a token of a workload. */
export const workloadToken = (provider: TestProvider, ...changes: TokenChange[]): string =>
  provider.idToken(
    { claims: { sub: branch, email: undefined, email_verified: undefined, name: undefined, groups: undefined } },
    ...changes,
  );

export type Fields = Record<string, string | undefined>;

const answer = z.looseObject({
  access_token: z.string().optional(),
  error: z.string().optional(),
  error_description: z.string().optional(),
  code: z.int().optional(),
});

/** Returns a form, with the usual fields where it does not say otherwise. */
export function exchangeForm(subjectToken: string | undefined, fields: Fields = {}): string {
  const all = { grant_type: grantType, subject_token: subjectToken, subject_token_type: idToken, ...fields };
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(all)) if (value !== undefined) given.set(name, value);
  return given.toString();
}

/** Sends such a form. */
export const exchange = (server: TestServer, subjectToken: string | undefined, fields: Fields = {}) =>
  send(server, exchangeForm(subjectToken, fields));

export async function send(server: TestServer, body: string, query = '') {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await server.request(`/oauth2/token${query}`, { method: 'POST', headers, body });
  return { status: response.status, headers: response.headers, body: answer.parse(await response.json()) };
}

/** Returns the names of all objects that an exchange may write. */
export async function written(server: TestServer): Promise<string[]> {
  const list = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });
  const lists = await Promise.all(
    ['accesstokens', 'revokedtokens'].map((plural) => server.kubernetes.call('GET', `/apis/auth.platform.io/v1/${plural}`)),
  );
  return lists.flatMap(({ body }) => list.parse(body).items.map(({ metadata }) => metadata.name));
}
