import { z } from 'zod';

/** Value of a field before and after a write. */
const change = z.object({
  field: z.string().describe('Path of the field, such as `spec.replicas`.'),
  from: z.number().optional().describe('Value before the write, where the answer of the API server tells it.'),
  to: z.number(),
});

/**
 * A request that changed something, or was refused. Members are named as in `audit.k8s.io/v1` Event where it has them.
 *
 * @see https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
 */
export const auditEvent = z
  .object({
    auditID: z.string().describe('Unique id of the event.'),
    cluster: z.string().describe('Cluster of the object; `local` is the one of the service.'),
    source: z.enum(['door']).describe('`door`: recorded by the service, when it passed the request on.'),
    verb: z.string().describe('Verb of RBAC, such as `patch`.'),
    user: z.object({ username: z.string(), uid: z.string().optional() }).describe('User who did it.'),
    impersonatedUser: z.object({ username: z.string() }).optional().describe('User as whom it was done.'),
    sourceIPs: z.array(z.string()),
    userAgent: z.string(),
    objectRef: z
      .object({
        apiGroup: z.string().describe('Empty for the core group.'),
        resource: z.string(),
        subresource: z.string().optional(),
        namespace: z.string().optional(),
        name: z.string().optional(),
      })
      .describe('Object of the request.'),
    requestReceivedTimestamp: z.iso.datetime().describe('Time of the request, RFC 3339.'),
    milliseconds: z.int().describe('Time until the end of the answer.'),
    responseStatus: z.object({ code: z.int() }).describe('HTTP status of the answer; 499: the caller left before its end.'),
    dryRun: z.literal(true).optional(),
    requestID: z.string().describe('`X-Request-Id` of the request.'),
    traceID: z.string().optional(),
    session: z.string().optional().describe('Session of the user.'),
    accessToken: z.string().optional().describe('Id of the access token.'),
    changes: z.array(change).optional(),
  })
  .meta({ id: 'AuditEvent' });

export type AuditEvent = z.output<typeof auditEvent>;
