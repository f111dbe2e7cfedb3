import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { kubeconfigText, publicCluster } from '@atrium/kubernetes/kubeconfig-text.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { Account } from '../users/record/account.ts';
import type { CertificateRequest, UserCertificate } from './schema.ts';
import { sign } from './signer.ts';
import { type CertificatesContext, type Person, personOf, refused } from './strategy.ts';

interface Issued {
  certificate: UserCertificate;
  /** Owner of the certificate; undefined for a caller without a User record. */
  account: Account | undefined;
}

/**
 * Issues a client certificate for the Kubernetes API by the signer of the cluster. Kubernetes cannot revoke certificates, so they are
 * short-lived.
 *
 * @throws StatusError 400, 403, 404, 503, 504
 */
export async function issueCertificate(
  context: CertificatesContext,
  spec: CertificateRequest,
  caller: Caller,
  signal: AbortSignal,
): Promise<Issued> {
  const { client, config, now } = context.services;
  const { enabled, signerName, maxSeconds } = config.users.certificates;
  if (!enabled) throw new StatusError(404, 'NotFound', 'client certificates are disabled (users.certificates.enabled)');
  requireNoAccessToken('certificates', caller);
  const person = await personOf(spec, caller, context, signal);
  requireRecentLogin('certificates', caller, config.login.stepUp, now());
  // The X.509 library is loaded with the first request for a certificate.
  const { readCertificate } = await import('./signing-request.ts');
  const { request, key } = await requestOf(spec, person);
  const user = person.account?.name;
  const expirationSeconds = Math.min(spec.expirationSeconds, maxSeconds);
  const { name, certificate } = await sign(client, { user, request, signerName, expirationSeconds }, signal);
  const { subject, serialNumber, notBefore, notAfter } = readCertificate(certificate);
  const cluster = publicCluster(context.connection, config.kubernetes);
  const { subjectName } = person;
  return {
    account: person.account,
    certificate: {
      apiVersion: 'auth.platform.io/v1',
      kind: 'UserCertificate',
      metadata: { name },
      spec: { expirationSeconds, ...(user !== undefined && { user }) },
      status: {
        subject: { commonName: subject.commonName, organizations: [...subject.organizations] },
        certificate,
        ...(key !== undefined && { key }),
        certificateAuthority: cluster.certificateAuthority,
        serialNumber,
        notBefore: timestamp(notBefore),
        notAfter: timestamp(notAfter),
        kubeconfig: kubeconfigText({ ...cluster, user: subjectName, credential: { certificate, key }, namespace: spec.namespace }),
      },
    },
  };
}

/** Returns the request of the caller, or a new one with its key. @throws StatusError 400, 403 */
async function requestOf({ request: text }: CertificateRequest, person: Person): Promise<{ request: string; key?: string }> {
  const { checkRequest, makeRequest } = await import('./signing-request.ts');
  const { subjectName, groups } = person;
  if (text === undefined) return makeRequest({ commonName: subjectName, organizations: groups });
  const judged = await checkRequest(text);
  if ('problem' in judged) throw badParameter('spec.request', judged.problem);
  const { request, subject } = judged;
  if (subject.commonName !== subjectName) throw refused('the request names another user');
  if (!subject.organizations.every((group) => groups.includes(group)))
    throw refused('the request names groups that are not those of the user');
  return { request };
}
