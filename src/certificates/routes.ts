/** The operation that issues a certificate. Certificates have no standard operations, because the service does not store them. */
import { type Operation, operation } from '@atrium/http/operation.ts';
import { issueCertificate } from './issue.ts';
import { certificateBody, userCertificate } from './schema.ts';
import type { CertificatesContext } from './strategy.ts';

export const authorizeOperation = (context: CertificatesContext): Operation =>
  operation({
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
      context.services.audit.recordWrite(ctx, caller, { audit: 'CertificateIssued', ...(account && { target: account }), code: 201 });
      ctx.status = 201;
      ctx.body = certificate;
    },
  });
