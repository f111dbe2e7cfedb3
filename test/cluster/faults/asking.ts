import { isRecord } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import { request } from 'undici';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { Trusting } from '../../support/trusting.ts';
import type { RealCluster } from './real-cluster.ts';

export interface Reply {
  status: number;
  header(name: string): string | undefined;
  text: string;
  /** Decoded JSON, or undefined for other content. */
  body: unknown;
  /** Milliseconds until the answer was complete. */
  took: number;
}

export interface Asking {
  method?: 'GET' | 'POST';
  token?: string | undefined;
  /** Body, sent as JSON. */
  body?: unknown;
}

interface Server {
  url: string;
  certificateAuthority?: string;
}

/** @param server by its address, and the authority that verifies it if it serves https */
export async function ask(server: Server, path: string, { method = 'GET', token, body }: Asking = {}): Promise<Reply> {
  const begunAt = performance.now();
  const dispatcher = server.certificateAuthority && new Trusting(server.certificateAuthority);
  const answer = await request(`${server.url}${path}`, {
    method,
    // Each request closes its connection, so that none is open when the sockets of the service are counted.
    reset: true,
    ...(dispatcher && { dispatcher }),
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...(body !== undefined && { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (dispatcher) await dispatcher.close();
  return {
    status: answer.statusCode,
    header: (name) => [answer.headers[name]].flat()[0],
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
    took: performance.now() - begunAt,
  };
}

/** Path of the list of users, as the page of the console requests it. */
export const usersList = '/auth/v2/users?limit=1000';
/** Path of the same list as kubectl requests it, passed on to the API server unchanged. */
export const nativeUsers = '/apis/auth.platform.io/v1/users';

export const accessReview = {
  path: '/auth/v1/selfsubjectaccessreviews',
  body: {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'list', resource: 'users', group: 'auth.platform.io' } },
  },
};

/** LEAK-03: an error names only the failed role for the caller, and when to retry. */
export function expectFault(reply: Reply, code: 503 | 504, who = 'kubernetes'): void {
  expect(reply.status, reply.text).to.equal(code);
  const seconds = Number(reply.header('retry-after'));
  expect(seconds).to.be.at.least(1);
  expect(reply.body).to.deep.equal({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: code === 503 ? `${who} is not available, try again` : `${who} did not answer in time, try again`,
    reason: code === 503 ? 'ServiceUnavailable' : 'Timeout',
    details: { retryAfterSeconds: seconds },
    code,
  });
}

/** Returns the e-mail addresses of the users in the caller's list, or status and text of another answer. */
export async function listedUsers(service: Server, token: string): Promise<unknown[]> {
  const { body, text, status } = await ask(service, usersList, { token });
  if (status !== 200 || !isRecord(body) || !Array.isArray(body.items)) return [status, text];
  return body.items.map((item: unknown) => isRecord(item) && isRecord(item.spec) && item.spec.email);
}

let turns = 0;

/** Requires that the watches are alive: later additions and deletions are seen. */
export async function expectFollows(cluster: RealCluster, service: Server): Promise<void> {
  const { admin } = cluster;
  turns += 1;
  const email = `follow-${turns}@example.com`;
  const map = `follow-${turns}`;
  const envs = async () => (await ask(service, '/api/v1/console-plugins')).text;
  await admin.apply(aUser(email), plugin(map));
  await eventually(
    () => listedUsers(service, cluster.token('viewer')),
    (emails) => emails.includes(email),
  );
  await eventually(envs, (text) => text.includes(map));
  await admin.remove(`/apis/auth.platform.io/v1/users/${nameOf(email)}`);
  await admin.remove(`/api/v1/namespaces/${serviceNamespace}/configmaps/${map}`);
  await eventually(
    () => listedUsers(service, cluster.token('viewer')),
    (emails) => typeof emails[0] !== 'number' && !emails.includes(email),
  );
  await eventually(envs, (text) => !text.includes(map));
}

/** Returns a public console plugin of one file. */
export const plugin = (name: string, manifest = `{"name":"${name}"}`) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    namespace: serviceNamespace,
    labels: { 'console.platform.io/plugin': name, 'console.platform.io/public': 'true' },
  },
  data: { 'plugin-manifest.json': manifest },
});

/** Waits until the replica is ready and no check fails but the named ones. */
export const whenReady = (service: Server, ...without: string[]): Promise<string> =>
  eventually(
    async () => (await ask(service, '/readyz?verbose')).text,
    (report) =>
      report.includes('readyz check passed') &&
      report
        .split('\n')
        .filter((line) => line.startsWith('[-]'))
        .every((line) => without.some((name) => line.startsWith(`[-]${name} `))),
  );

/** Requires a 503 that names the missing definition and the folder to apply. */
export function expectDefinitionMissing(reply: Reply, kind: string): void {
  expect(reply.status, reply.text).to.equal(503);
  const message = 'the cluster does not have the definition; run kubectl apply --server-side -k deploy/manifests/crds';
  expect(reply.body).to.deep.include({
    message: `${kind}.auth.platform.io: ${message}`,
    reason: 'ServiceUnavailable',
    details: { group: 'auth.platform.io', kind, causes: [{ reason: 'DefinitionMissing', message }], retryAfterSeconds: 30 },
  });
  expect(reply.header('retry-after')).to.equal('30');
}
