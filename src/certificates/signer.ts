import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { badParameter, StatusError, serviceUnavailable, timedOut } from '../api/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { type ResourceType, resourcePath } from '../kubernetes/resource.ts';
import { UpstreamError } from '../kubernetes/upstream-error.ts';

const requests: ResourceType = { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' };

/** As much of a CertificateSigningRequest as is looked at; the rest is sent back as it came. */
const requestObject = z.looseObject({
  status: z
    .looseObject({ certificate: z.string().default(''), conditions: z.array(z.looseObject({ type: z.string() })).default([]) })
    .prefault({}),
});
type RequestObject = z.infer<typeof requestObject>;

/** Ten seconds, with all that goes on around it. */
const answerWithinMs = 9_500;
const firstPauseMs = 50;
const maxPauseMs = 400;
const cleanUpWithinMs = 5_000;

const approval = {
  type: 'Approved',
  status: 'True',
  reason: 'AtriumAuthorize',
  message: 'the caller may have certificates',
};

interface SigningRequest {
  /** Name of the User record; undefined for a caller without one. */
  user: string | undefined;
  /** PEM */
  request: string;
  signerName: string;
  expirationSeconds: number;
}

/**
 * Has a request signed by the cluster: makes a CertificateSigningRequest, approves it, waits for the certificate, and removes it.
 *
 * @returns the certificate, PEM, and the name that the object had
 * @throws StatusError 400 if the API server cannot read the request, 403 if the cluster denies it, 503 if the signer fails, 504 if it does
 *   not answer within ten seconds
 */
export async function sign(client: ServiceClient, { user = 'caller', ...rest }: SigningRequest, signal: AbortSignal) {
  const name = `atrium-${user.replaceAll(/[^a-z0-9]/g, '').slice(0, 8)}-${randomBytes(4).toString('hex')}`;
  const removed = () => remove(client, name);
  const created = await create(client, name, rest).catch(async (error: unknown) => {
    // Whether it is there is unknown, unless the API server itself has refused it.
    if (!(error instanceof UpstreamError)) await removed();
    throw troubleOf(error);
  });
  try {
    return { name, certificate: await certificateOf(client, name, created, signal) };
  } catch (error) {
    throw troubleOf(error);
  } finally {
    await removed();
  }
}

/** Not given up when the caller goes away: it could then not be removed. */
async function create(client: ServiceClient, name: string, { request, signerName, expirationSeconds }: Omit<SigningRequest, 'user'>) {
  const object = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name, labels: { 'app.kubernetes.io/part-of': 'atrium' } },
    spec: { request: Buffer.from(request).toString('base64'), signerName, expirationSeconds, usages: ['client auth'] },
  };
  const signal = new AbortController().signal;
  const path = resourcePath(requests);
  return requestObject.parse(
    await client.request({ method: 'POST', path, body: object, call: 'create certificatesigningrequests', signal }),
  );
}

/** Left behind is what the API server does not answer about; the cluster's own cleaner takes that. */
async function remove(client: ServiceClient, name: string): Promise<void> {
  const signal = AbortSignal.timeout(cleanUpWithinMs);
  const path = resourcePath(requests, { name });
  await client
    .request({ method: 'DELETE', path, call: 'delete certificatesigningrequests', signal, isRepeatable: true })
    .catch(() => undefined);
}

async function certificateOf(client: ServiceClient, name: string, created: RequestObject, signal: AbortSignal): Promise<string> {
  const deadline = performance.now() + answerWithinMs;
  let object = created;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)) {
    const { certificate, conditions } = object.status;
    const has = (wanted: string) => conditions.some(({ type }) => type === wanted);
    if (certificate !== '') return Buffer.from(certificate, 'base64').toString();
    if (has('Denied')) throw new StatusError(403, 'Forbidden', 'the cluster denies the certificate');
    if (has('Failed')) throw serviceUnavailable('kubernetes', { cause: new Error('the signer failed') });
    if (!has('Approved')) await approve(client, name, object, signal);
    if (performance.now() + pauseMs > deadline) throw timedOut('kubernetes', { cause: new Error('the signer does not answer') });
    await sleep(pauseMs, undefined, { signal });
    const path = resourcePath(requests, { name });
    object = requestObject.parse(await client.request({ method: 'GET', path, call: 'get certificatesigningrequests', signal }));
  }
}

/** An administrator may have been faster, and denied it: then nothing happens here. */
async function approve(client: ServiceClient, name: string, object: RequestObject, signal: AbortSignal): Promise<void> {
  const path = resourcePath(requests, { name, subresource: 'approval' });
  const conditions = [...object.status.conditions, approval];
  const body = { ...object, status: { conditions } };
  await client
    .request({ method: 'PUT', path, body, call: 'update certificatesigningrequests/approval', signal })
    .catch((error: unknown) => {
      if (!(error instanceof UpstreamError && error.status.code === 409)) throw error;
    });
}

/** What the API server refuses us is our trouble, but for a request that came from the caller. */
function troubleOf(error: unknown): unknown {
  if (error instanceof z.ZodError) return serviceUnavailable('kubernetes', { cause: error });
  if (!(error instanceof UpstreamError) || error.status.code >= 500 || error.status.code === 429) return error;
  const isAboutRequest = error.status.details?.causes?.some(({ field }) => field === 'spec.request');
  return isAboutRequest
    ? badParameter('spec.request', 'the API server cannot read it')
    : serviceUnavailable('kubernetes', { cause: error });
}
