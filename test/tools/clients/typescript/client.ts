/** Code of a front-end with the types of openapi-typescript. tsc checks all members below. */
import createClient from 'openapi-fetch';
import type { components, paths } from './atrium.ts';

const { ATRIUM_URL: baseUrl = '', ATRIUM_TOKEN: token = '', ATRIUM_USER: name = '' } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

/** Returns the answer. @throws Error with the message of a Status */
function expectData<Data>({ data, error }: { data?: Data; error?: components['schemas']['Status'] }): NonNullable<Data> {
  if (data === undefined || data === null) throw new Error(error?.message ?? 'no answer');
  return data;
}

const login = expectData(await client.GET('/api/v2/token/login'));
const modules = expectData(await client.GET('/api/v1/modules'));
const list = expectData(await client.GET('/auth/v2/users', { params: { query: { limit: 10, order: 'asc' } } }));
const emails: string[] = list.items.map(({ spec }) => spec.email);
const administrators: boolean[] = list.items.map(({ spec }) => spec.is_admin);
const user = expectData(await client.GET('/auth/v1/users/{name}', { params: { path: { name } } }));
const phase: 'Normal' | 'Locked' | 'Disabled' | 'Invalid' | undefined = user.status?.phase;
const review = expectData(
  await client.POST('/auth/v1/selfsubjectaccessreviews', {
    body: { kind: 'SelfSubjectAccessReview', spec: { resourceAttributes: { verb: 'list', group: 'auth.platform.io', resource: 'users' } } },
  }),
);
const allowed: boolean = review.kind === 'SelfSubjectAccessReview' && review.status.allowed;

// @ts-expect-error a limit is a number
export const refused = () => client.GET('/auth/v2/users', { params: { query: { limit: 'ten' } } });

console.log(
  JSON.stringify({
    authURL: new URL(login.auth_url).pathname,
    revision: modules._,
    emails,
    administrators,
    total: list.total,
    created: user.metadata.creationTimestamp,
    phase,
    allowed,
  }),
);
