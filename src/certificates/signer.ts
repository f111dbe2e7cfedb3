import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable, neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { UpstreamError, upstreamRefusal } from '@atrium/kubernetes/upstream-error.ts';
import { badParameter, StatusError, serviceUnavailable, timedOut } from '@atrium/objects/status.ts';
import { z } from 'zod';

const requestKind: ResourceKind = {
  type: { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' },
  kind: 'CertificateSigningRequest',
};

/** Members of a CertificateSigningRequest that are read; the other members are sent back unchanged. */
const requestObject = z.looseObject({
  status: z
    .looseObject({ certificate: z.string().default(''), conditions: z.array(z.looseObject({ type: z.string() })).default([]) })
    .prefault({}),
});

/** Leaves half a second of the caller's ten for the calls around the wait. */
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
 * Has a request signed by the cluster: creates a CertificateSigningRequest, approves it, waits for the certificate, and deletes it.
 *
 * @returns the certificate, PEM, and the name that the object had
 * @throws StatusError 400 if the API server cannot read the request, 403 if the cluster denies it, 503 if the signer fails, 504 if it does
 *   not answer within ten seconds
 */
export async function sign(client: ServiceClient, { user = 'caller', ...rest }: SigningRequest, signal: AbortSignal) {
  const name = `atrium-${user.replaceAll(/[^a-z0-9]/g, '').slice(0, 8)}-${randomBytes(4).toString('hex')}`;
  const requests = new ServiceResource(client, requestKind);
  const remove = () => requests.remove(name, { signal: neverAborts, isRepeatable: true });
  // The caller waits a bounded time for a slow API server, and the removal continues.
  const removed = () => abortable(remove().catch(remove), AbortSignal.timeout(cleanUpWithinMs)).catch(() => false);
  // The creation continues when the caller disconnects: an aborted call could leave an object behind.
  const created = await requests.create(manifestOf(name, rest), { signal: neverAborts }).catch(async (error: unknown) => {
    // Only a refusal by the API server proves that the object does not exist.
    const { code = 500 } = upstreamRefusal(error)?.status ?? {};
    if (code >= 500) await removed();
    throw troubleOf(error);
  });
  try {
    if (created === 'conflict') throw serviceUnavailable('kubernetes', { cause: new Error('there is a request of that name') });
    return { name, certificate: await certificateOf(requests, name, created, signal) };
  } catch (error) {
    throw troubleOf(error);
  } finally {
    // If the removal fails, the controller of the cluster that cleans up old requests deletes the object.
    if (created !== 'conflict') await removed();
  }
}

const manifestOf = (name: string, { request, signerName, expirationSeconds }: Omit<SigningRequest, 'user'>) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: requestKind.kind,
  metadata: { name, labels: { 'app.kubernetes.io/part-of': 'atrium' } },
  spec: { request: Buffer.from(request).toString('base64'), signerName, expirationSeconds, usages: ['client auth'] },
});

async function certificateOf(requests: ServiceResource, name: string, created: KubernetesObject, signal: AbortSignal): Promise<string> {
  const deadline = performance.now() + answerWithinMs;
  let object: KubernetesObject | undefined = created;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(maxPauseMs, pauseMs * 1.5)) {
    const request = requestObject.parse(object);
    const { certificate, conditions } = request.status;
    const has = (wanted: string) => conditions.some(({ type }) => type === wanted);
    if (certificate !== '') return Buffer.from(certificate, 'base64').toString();
    if (has('Denied')) throw new StatusError(403, 'Forbidden', 'the cluster denies the certificate');
    if (has('Failed')) throw serviceUnavailable('kubernetes', { cause: new Error('the signer failed') });
    // An administrator may decide first: a conflict is ignored, and the next read shows the decision.
    const approved = { ...request, status: { conditions: [...conditions, approval] } };
    if (!has('Approved')) await requests.replace(name, 'approval', approved, { signal });
    if (performance.now() + pauseMs > deadline) throw timedOut('kubernetes', { cause: new Error('the signer does not answer') });
    await sleep(pauseMs, undefined, { signal });
    object = await requests.get(name, signal);
  }
}

/** Maps a refusal by the API server to 503, unless it is a 429 or about the caller's `spec.request` (400). */
function troubleOf(error: unknown): unknown {
  const refusal = upstreamRefusal(error);
  if (refusal?.status.details?.causes?.some(({ field }) => field === 'spec.request'))
    return badParameter('spec.request', 'the API server cannot read it');
  if (refusal?.status.code === 429) return refusal;
  return error instanceof z.ZodError || error instanceof UpstreamError ? serviceUnavailable('kubernetes', { cause: error }) : error;
}
