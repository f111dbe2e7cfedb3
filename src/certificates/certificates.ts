/** Client certificates for the Kubernetes API. RBAC on `users/authorize` decides which callers get one. */
import { auditCaller } from '../http/audit.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { Account } from '../users/record/account.ts';
import type { CertificatesContext } from './person.ts';
import { certificateBody, userCertificate } from './schema.ts';
import { issueCertificate } from './service.ts';

/** Creates the operation of the feature. */
export function createCertificates(context: CertificatesContext): { operations: Operation[] } {
  const authorize = operation({
    id: 'Authorize',
    method: 'POST',
    paths: ['/auth/v1/authorize'],
    tag: 'users',
    summary: 'Issues a client certificate for the Kubernetes API to the caller, or for a user whom the caller may impersonate',
    description:
      'Kubernetes cannot revoke a certificate: it stays valid for a disabled user until it expires, and is therefore short-lived.',
    credential: 'required',
    body: certificateBody,
    answers: {
      201: {
        description: 'The certificate. A key that the service created is never returned again.',
        content: { 'application/json': userCertificate },
      },
      403: { description: 'RBAC denies it, the cluster denies the request, or the request names another user or group.' },
      404: { description: 'The user does not exist, or certificates are disabled (`users.certificates.enabled`).' },
    },
    async handle({ ctx, caller, body, signal }) {
      const { certificate, account } = await issueCertificate(context, body.spec, caller, signal);
      context.services.audit.record({
        audit: 'CertificateIssued',
        ...auditCaller(ctx, caller),
        ...targetOf(account),
        outcome: 'success',
        code: 201,
      });
      ctx.status = 201;
      ctx.body = certificate;
    },
  });
  return { operations: [authorize] };
}

const targetOf = (account: Account | undefined) => account && { target: { name: account.name, uid: account.uid } };
