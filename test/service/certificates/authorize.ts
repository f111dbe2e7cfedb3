import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';
import { type UserCertificate, userCertificate } from '../../../src/certificates/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually } from '../../support/cluster-admin.ts';
import { grant } from '../../support/grants.ts';
import type { TestServer } from '../../support/server.ts';
import { base64, type RequestParts, signingRequest } from '../../support/signing-request.ts';
import { aUser, nameOf, type UserParts } from '../users/a-user.ts';

const run = promisify(execFile);

/** Grants the rule that users need, and permission to impersonate others. */
export async function mayHaveCertificates(kubernetes: ClusterAdmin, person: Person, ...impersonate: string[][]): Promise<void> {
  await grant(kubernetes, person, 'atrium-certificates');
  if (impersonate.length === 0) return;
  const rules = impersonate.map(([resource, ...resourceNames]) => ({
    apiGroups: [''],
    resources: [resource],
    resourceNames,
    verbs: ['impersonate'],
  }));
  const name = `${person}-impersonates`;
  await kubernetes.apply({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules });
  await grant(kubernetes, person, name);
}

/** Creates the record of a person, and waits until the service has it. @returns its name */
export async function recordOf(server: TestServer, person: Person, parts: UserParts = {}): Promise<string> {
  const email = `${person}@example.com`;
  await server.kubernetes.apply(aUser(email, { subjectName: person, ...parts }));
  await eventually(
    async () => (await server.request('/auth/v1/me', { as: person })).status,
    (status) => status === 200,
  );
  return nameOf(email);
}

export const authorize = (server: TestServer, as: Person, spec: Record<string, unknown> = {}) =>
  server.request('/auth/v1/authorize', { method: 'POST', as, body: { spec } });

/** Requests a certificate that must be issued. */
export const issued = async (server: TestServer, as: Person, spec?: Record<string, unknown>): Promise<UserCertificate> =>
  issuedBy(await authorize(server, as, spec));

/** Returns the certificate of an answer. */
export async function issuedBy(response: Response): Promise<UserCertificate> {
  const text = await response.text();
  expect(response.status, text).to.equal(201);
  expect(response.headers.get('cache-control')).to.equal('no-store');
  return userCertificate.parse(JSON.parse(text));
}

/** Returns `spec.request` as a caller creates it. */
export const ownRequest = async (parts: RequestParts) => {
  const { request, key } = await signingRequest(parts);
  return { request: base64(request), key };
};

const status = z.object({
  code: z.int(),
  message: z.string(),
  details: z.object({ causes: z.array(z.object({ field: z.string().optional() })).default([]) }).prefault({}),
});

/** Returns code, message and the field of the first cause. */
export async function refusal(response: Response): Promise<{ code: number; message: string; field: string | undefined }> {
  const { code, message, details } = status.parse(await response.json());
  return { code, message, field: details.causes[0]?.field };
}

const whoami = z.object({ status: z.object({ userInfo: z.object({ username: z.string(), groups: z.array(z.string()) }) }) });

/** Returns the user that the API server sees with that kubeconfig, and its key if it is separate. */
export async function kubectlWhoami({ status: { kubeconfig } }: UserCertificate, key?: string) {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
  try {
    const path = join(directory, 'config');
    await writeFile(path, kubeconfig, { mode: 0o600 });
    if (key !== undefined) await writeFile(join(directory, 'client.key'), key, { mode: 0o600 });
    const settings = ['--kubeconfig', path, '--cache-dir', join(directory, 'cache')];
    const { stdout } = await run('kubectl', [...settings, 'auth', 'whoami', '--output', 'json'], { timeout: 120_000 });
    return whoami.parse(JSON.parse(stdout)).status.userInfo;
  } finally {
    await rm(directory, { recursive: true });
  }
}

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const requestList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({ conditions: z.array(z.looseObject({})).default([]) }).prefault({}),
    }),
  ),
});

/** Returns the service's requests that exist in the cluster. */
export async function requestsLeft({ kubernetes }: TestServer) {
  const { body } = await kubernetes.call('GET', `${requests}?labelSelector=app.kubernetes.io%2Fpart-of%3Datrium`);
  return requestList.parse(body).items;
}

/** Waits until no request is left: a slow API server deletes it after the answer. */
export const untilNoneLeft = (server: TestServer) =>
  eventually(
    () => requestsLeft(server),
    ({ length }) => length === 0,
  );

/** Decides a request, like an approver or a signer. */
export const decide = (
  kubernetes: ClusterAdmin,
  name: string,
  by: 'approval' | 'status',
  type: 'Denied' | 'Failed',
  kept: unknown[] = [],
) =>
  kubernetes.call(
    'PATCH',
    `${requests}/${name}/${by}`,
    { status: { conditions: [...kept, { type, status: 'True', reason: 'Test', message: '' }] } },
    { 'content-type': 'application/merge-patch+json' },
  );
