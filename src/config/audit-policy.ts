/** The audit policy, in the form of Kubernetes. */
import { z } from 'zod';
import { objectName } from './formats.ts';
import { dnsLabel } from './units.ts';

const several = <T extends z.ZodType>(value: T, what: string) => z.array(value).max(1_000).prefault([]).describe(what);

const name = () =>
  z
    .string()
    .max(1_000)
    .regex(/^\S+(?: \S+)*$/, 'must be a name without blanks at its ends');
const stages = () =>
  several(
    z.enum(['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic']),
    'Accepted as in Kubernetes, and ignored: a request has one event.',
  );

const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;

const rule = z.strictObject({
  level: z
    .enum(levels)
    .describe(
      '`None`: no event. `Metadata`: who did what. `Request`: with the body of a write that succeeded. `RequestResponse` is `Request`, because answers are never kept.',
    ),
  users: several(name(), 'Users by their names in Kubernetes. Empty: all.'),
  userGroups: several(name(), 'Groups of which the user has one. Empty: all users.'),
  verbs: several(z.string().regex(/^[a-z]{1,63}$/, 'must be a verb of RBAC such as patch'), 'Verbs of RBAC, such as `patch`. Empty: all.'),
  resources: z
    .array(
      z.strictObject({
        group: z
          .union([z.literal(''), objectName()])
          .default('')
          .describe('API group; empty for the core group.'),
        resources: several(
          z.string().regex(/^[a-z0-9.*-]{1,253}(?:\/[a-z0-9.*-]{1,253})?$/, 'must be a resource such as pods, pods/exec or *'),
          'Resources: `pods`, `pods/exec`, `pods/*`, `*/scale`, `*`. Empty: all of the group.',
        ),
        resourceNames: several(name(), 'Names of objects. Empty: all.'),
      }),
    )
    .max(1_000)
    .default([])
    .describe('Resources. Empty: all.'),
  namespaces: several(z.union([z.literal(''), dnsLabel()]), 'Namespaces; an empty text for objects without a namespace. Empty: all.'),
  nonResourceURLs: several(
    z
      .string()
      .max(1_000)
      .regex(/^(?:\*|\/\S*)$/, 'must be a path such as /healthz*'),
    'Accepted as in Kubernetes, and ignored: requests for resources alone have events.',
  ),
  omitStages: stages(),
  omitManagedFields: z.boolean().optional().describe('Ignored: managed fields are no part of requests.'),
  delivery: z
    .enum(['besteffort', 'required'])
    .optional()
    .describe('`audit.delivery` of the requests of this rule. Default: that of the installation.'),
});

/** @see https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Policy */
export const auditPolicy = z.strictObject({
  apiVersion: z.literal('audit.k8s.io/v1').default('audit.k8s.io/v1').describe('Version of the form.'),
  kind: z.literal('Policy').default('Policy').describe('Kind of the form.'),
  metadata: z
    .strictObject({ name: objectName().optional().describe('Name of the policy.') })
    .optional()
    .describe('Ignored.'),
  omitStages: stages(),
  omitManagedFields: z.boolean().optional().describe('Ignored: managed fields are no part of requests.'),
  rules: z.array(rule).min(1).max(1_000).describe('The first rule that matches decides. A request without a rule has no event.'),
});

export type AuditPolicy = z.output<typeof auditPolicy>;

/** Returns the parts of a policy that change nothing here. */
export function ignoredParts({ omitStages, rules }: AuditPolicy): string[] {
  const some = (isIgnored: (rule: AuditPolicy['rules'][number]) => boolean) => rules.some(isIgnored);
  return [
    ...(omitStages.length > 0 || some((rule) => rule.omitStages.length > 0) ? ['omitStages'] : []),
    ...(some(({ nonResourceURLs }) => nonResourceURLs.length > 0) ? ['nonResourceURLs'] : []),
    ...(some(({ level }) => level === 'RequestResponse') ? ['RequestResponse'] : []),
  ];
}
