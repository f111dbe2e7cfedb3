import { z } from 'zod';

/** Value of a field before and after a write. */
const change = z.object({
  field: z.string().describe('Path of the field, such as `spec.replicas`.'),
  from: z.number().optional().describe('Value before the write, where the answer of the API server tells it.'),
  to: z.number(),
});

/** Role of a new, changed or deleted binding. */
const grant = z.object({
  role: z.string().describe('Role or ClusterRole, as `Kind/name`.'),
  subjects: z
    .array(z.string())
    .describe('First 16 subjects, of a changed binding also those before, as `Kind/name` or `Kind/namespace/name`.'),
  namespaces: z.array(z.string()).optional().describe('First 16 namespaces of a UserBinding that names namespaces.'),
  until: z.string().optional().describe('End of the role, RFC 3339.'),
});

/** Digest of a recording, which the chain of events protects with the event. */
const recorded = z.object({
  sha256: z.string().describe('SHA-256 of the lines after the first one, in hexadecimal digits.'),
  bytes: z.int().describe('Bytes of these lines.'),
  lines: z.int(),
});

export type RecordedLines = z.output<typeof recorded>;

/** Connection to a container or port. */
const connection = z.object({
  container: z.string().optional(),
  image: z.string().optional().describe('Image of a debug container.'),
  command: z.array(z.string()).optional().describe('First 32 words, each of at most 256 characters.'),
  tty: z.boolean().optional(),
  ports: z.array(z.string()).optional(),
  recording: z.string().optional().describe('Id of the recording of the shell.'),
  recorded: recorded.optional().describe('Digest of the recording, at the end.'),
  bytesSent: z.int().optional().describe('Bytes of the user, at the end.'),
  bytesReceived: z.int().optional().describe('Bytes for the user, at the end.'),
});

/** Shell of a recording that was read or removed. */
const shell = z.object({
  user: z.string().describe('User of the shell, by the name in Kubernetes.'),
  pod: z.string(),
});

/** Access that an AccessRequest is about. */
const access = z.object({
  requester: z.string().describe('User who gets the role, by the name in Kubernetes.'),
  policy: z.string(),
  role: z.string().describe('Role or ClusterRole, as `Kind/name`.'),
  namespaces: z.array(z.string()).optional().describe('Missing for the whole cluster.'),
  until: z.string().optional().describe('End of the access, RFC 3339.'),
});

/** Call of a tool by a program that acts for the user. */
const agent = z.object({
  client: z.string().describe('Client id of the program.'),
  name: z.string().describe('Name that the program gives itself.'),
  host: z.string().describe('Host that the program is from.'),
  tool: z.string().optional().describe('Missing where the user allows the program.'),
  objects: z
    .array(z.object({ apiGroup: z.string(), resource: z.string(), namespace: z.string().optional(), name: z.string().optional() }))
    .describe('First 16 objects of the call.'),
});

/**
 * An action that changed something, or was refused. Members are named as in `audit.k8s.io/v1` Event where it has them.
 *
 * @see https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
 */
export const auditEvent = z
  .object({
    auditID: z.string().describe('Unique id of the event.'),
    cluster: z.string().describe('Cluster of the object; `local` is the one of the service.'),
    source: z
      .enum(['door', 'service', 'kube-apiserver'])
      .describe(
        '`door`: a request that the service passed on. `service`: an action of the service itself, which `event` names. `kube-apiserver`: a request that the API server told, and no door.',
      ),
    event: z.string().optional().describe('Name of the action of the service, such as `AccessDecided`.'),
    verb: z.string().describe('Verb of RBAC, such as `patch`.'),
    action: z
      .string()
      .optional()
      .describe(
        'Action, where the body of a write tells one and nothing else: `annotate`, `approve`, `cordon`, `deny`, `grant`, `label`, `pause`, `restart`, `resume`, `scale`, `suspend`, `uncordon`. `grant` also names the events of the service by which a user gets a role.',
      ),
    user: z
      .object({
        username: z.string().min(1),
        uid: z.string().optional(),
        groups: z.array(z.string()).optional().describe('First groups of the user, without those that all users are in.'),
      })
      .optional()
      .describe('User who did it. Missing for what the service did by itself, and for logins of unknown users.'),
    impersonatedUser: z.object({ username: z.string() }).optional().describe('User as whom it was done.'),
    sourceIPs: z.array(z.string()),
    userAgent: z.string().optional(),
    objectRef: z
      .object({
        apiGroup: z.string().describe('Empty for the core group.'),
        resource: z.string(),
        subresource: z.string().optional(),
        namespace: z.string().optional(),
        name: z.string().optional(),
      })
      .describe('Object of the request.'),
    objectUser: z
      .string()
      .optional()
      .describe('Email of the user whose record is the object, if there is one. The service adds it to its answers; no store has it.'),
    stage: z
      .enum(['ResponseStarted', 'ResponseComplete'])
      .optional()
      .describe('Begin or end of a connection to a container or port. Missing for a request with one event.'),
    connection: connection.optional(),
    requestReceivedTimestamp: z.iso.datetime().describe('Time of the request or action, RFC 3339.'),
    milliseconds: z.int().optional().describe('Time until the end of the answer.'),
    requestBytes: z
      .int()
      .optional()
      .describe(
        'Bytes of the body of the request. Missing without a body, and for an operation of the service whose body may have a credential.',
      ),
    responseBytes: z.int().optional().describe('Bytes of the body of the answer of the API server to a request at a door.'),
    outcome: z.enum(['success', 'failure', 'unknown']).describe('`unknown`: the replica saw no answer.'),
    responseStatus: z
      .object({ code: z.int() })
      .optional()
      .describe('HTTP status of the answer; 499: the caller left before its end. Missing for an action without an answer of its own.'),
    write: z
      .string()
      .optional()
      .describe(
        'Verb, resource and subresource of the write at the API server that the event tells, too, where they differ from its own: `patch accessrequests/status`.',
      ),
    reason: z
      .string()
      .optional()
      .describe(
        'Reason of an action of the service, in UpperCamelCase. Reason for which the service has ended a connection: `AccessLost`, `CredentialEnded`, `IdleTimeout`, `Shutdown`, `RecordingNotStored`, `RecordingTooLarge`. `DetailsRefused`: the audit store refused the other members of the event.',
      ),
    dryRun: z.literal(true).optional(),
    issuer: z.string().optional().describe('Id of the issuer of a login or workload.'),
    requestID: z
      .string()
      .optional()
      .describe('`X-Request-Id` of the request; with `source: kube-apiserver` the `auditID` of the API server.'),
    traceID: z.string().optional(),
    session: z.string().optional().describe('Session of the user.'),
    accessToken: z.string().optional().describe('Id of the access token.'),
    accessRequests: z
      .array(z.string())
      .optional()
      .describe(
        'First 4 AccessRequests by which the user had a role at the place of the object then. Another binding may have allowed it.',
      ),
    changes: z.array(change).optional(),
    grant: grant.optional(),
    patchType: z.string().optional().describe('Media type of a patch that is `requestObject`.'),
    requestObject: z
      .string()
      .optional()
      .describe(
        'Body of a write as JSON in a text, of at most 8 KiB, where the audit policy says `Request`. Never that of a Secret or token.',
      ),
    annotations: z
      .record(z.string(), z.string())
      .optional()
      .describe('Decision of the API server, and its reason, such as the binding that allowed the request.'),
    access: access.optional(),
    binding: z.string().optional().describe('Binding of a review, as `Kind/namespace/name`.'),
    question: z
      .string()
      .optional()
      .describe('Conditions of a question about the audit, as a query; without its period, unless it is an export.'),
    agent: agent.optional(),
    shell: shell.optional().describe('Shell of the recording that the event is about; the namespace of the pod is that of the object.'),
    workload: z.string().optional().describe('Subject of a workload at its issuer, whose token was exchanged.'),
    members: z
      .object({ added: z.int(), removed: z.int(), names: z.array(z.string()) })
      .optional()
      .describe('Members that a group got or lost: their number, and the first names.'),
  })
  .meta({
    id: 'AuditEvent',
    examples: [
      {
        ...{ auditID: '0d7a6c1e-5c5f-4a4e-9d3c-0b2f5f0f6a11', cluster: 'local', source: 'door', verb: 'delete' },
        ...{ user: { username: 'ada@example.com' }, sourceIPs: ['192.0.2.10'], userAgent: 'kubectl/v1.36.0' },
        objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'storefront-1' },
        ...{ requestReceivedTimestamp: '2026-01-12T10:00:00.000Z', outcome: 'success', responseStatus: { code: 200 } },
      },
    ],
  });

export type AuditEvent = z.output<typeof auditEvent>;
