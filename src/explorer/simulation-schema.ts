import { z } from 'zod';
import { explainedParts } from '../access/schema.ts';
import { newBindingBody } from '../bindings/schema.ts';

const maxChanges = 20;
export const maxSubjects = 500;
export const maxTuples = 10_000;

const name = z.string().min(1, 'must not be empty').max(512, 'may not be longer than 512 characters');
const namespace = z.string().min(1, 'must not be empty').max(63, 'may not be longer than 63 characters');
const texts = z.array(z.string());

const policyRule = z.strictObject({
  verbs: texts,
  apiGroups: texts.optional(),
  resources: texts.optional(),
  resourceNames: texts.optional(),
  nonResourceURLs: texts.optional(),
});

const newUserBinding = z.strictObject({ type: z.literal('userBinding'), userBinding: newBindingBody }).describe('Creates a UserBinding.');

const member = z
  .strictObject({
    type: z.literal('member'),
    group: name.describe('Name of a local Group.'),
    user: name.describe('Name of the User record.'),
    action: z.enum(['add', 'remove']).default('add'),
  })
  .describe('Adds a user to a group, or removes the user.');

const role = z
  .strictObject({
    type: z.literal('role'),
    role: z
      .strictObject({
        kind: z.enum(['Role', 'ClusterRole']),
        metadata: z.strictObject({ name, namespace: namespace.optional(), labels: z.record(z.string(), z.string()).optional() }),
        rules: z.array(policyRule),
      })
      .refine(({ kind, metadata }) => kind === 'ClusterRole' || metadata.namespace !== undefined, 'a Role needs metadata.namespace'),
  })
  .describe('Creates a role, or replaces its rules. Given labels are added to those of the role.');

const deletion = z
  .strictObject({
    type: z.literal('delete'),
    kind: z.enum(['UserBinding', 'RoleBinding', 'ClusterRoleBinding', 'Role', 'ClusterRole']),
    name,
    namespace: namespace.optional().describe('Namespace of a RoleBinding or Role.'),
  })
  .describe('Deletes an object.');

const change = z.discriminatedUnion('type', [newUserBinding, member, role, deletion], {
  error: 'must be userBinding, member, role or delete',
});

export type SimulatedChange = z.output<typeof change>;
export type MemberChange = Extract<SimulatedChange, { type: 'member' }>;
export type RoleChange = Extract<SimulatedChange, { type: 'role' }>;
export type Deletion = Extract<SimulatedChange, { type: 'delete' }>;

const subject = z.strictObject({
  kind: z.enum(['User', 'Group', 'ServiceAccount']),
  name,
  namespace: namespace.optional().describe('Namespace of a ServiceAccount.'),
});

const exampleChange = {
  type: 'userBinding',
  userBinding: {
    spec: {
      subjects: [{ kind: 'User', name: 'jane@example.com' }],
      roleRef: 'edit',
      scope: 'namespace',
      constraint: [{ namespace: 'shop' }],
    },
  },
};

export const simulationBody = z
  .strictObject({
    changes: z.array(change).min(1, 'must hold at least one change').max(maxChanges, `may not hold more than ${maxChanges} changes`),
    subjects: z
      .array(subject)
      .optional()
      .describe(`Subjects to compare, as Kubernetes sees them, at most ${maxSubjects}. Default: the subjects of the changes.`),
  })
  .meta({ id: 'SimulationRequest', examples: [{ changes: [exampleChange] }] });

export type SimulationRequest = z.output<typeof simulationBody>;

const tuple = z
  .object({
    verbs: texts,
    namespace: z.string().describe('Namespace of the rights. Empty: the whole cluster.'),
    group: z.string().exactOptional(),
    resource: z.string().exactOptional().describe('Resource, such as `pods`, `pods/log` or `*`.'),
    name: z.string().exactOptional().describe('Name of the object. Missing: all names.'),
    path: z.string().exactOptional(),
  })
  .meta({ id: 'AccessTuple' });

export type AccessTuple = z.output<typeof tuple>;

const item = z.object({
  subject: explainedParts.subject,
  gained: z.array(tuple),
  lost: z.array(tuple),
  warnings: z
    .array(z.enum(['SystemMasters', 'GroupsUnknown', 'Escalation', 'Secrets']))
    .describe('`Escalation`: gains a right that leads to more rights. `Secrets`: gains the right to read Secrets.'),
});

export type SimulatedItem = z.output<typeof item>;

const refusal = z.object({
  change: z.int().describe('Index of the change.'),
  code: z.int(),
  reason: z.string(),
  message: z.string(),
});

export type Refusal = z.output<typeof refusal>;

export const simulationAnswer = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('Simulation'),
    resourceVersion: z.string().describe('Version of the compared roles and bindings.'),
    complete: z.boolean().describe('`false` if the groups of a subject are unknown, and with `namespace`.'),
    namespace: z
      .string()
      .exactOptional()
      .describe(
        'Namespace whose RoleBindings alone were compared: the caller may simulate there. A ClusterRoleBinding may still give what is `lost`.',
      ),
    rolesHidden: z
      .boolean()
      .exactOptional()
      .describe('With `namespace`: `true` if the caller may not get a role of its RoleBindings. Rights of such roles are left out.'),
    items: z.array(item),
    refusals: z.array(refusal).describe('Changes that the caller may not make, with the messages of a dry run.'),
  })
  .meta({
    id: 'Simulation',
    examples: [
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'Simulation',
        resourceVersion: '4711',
        complete: true,
        items: [
          {
            subject: { kind: 'User', name: 'jane@example.com' },
            gained: [{ verbs: ['create', 'delete'], namespace: 'shop', group: 'apps', resource: 'deployments' }],
            lost: [],
            warnings: [],
          },
        ],
        refusals: [],
      },
    ],
  });

export type Simulation = z.output<typeof simulationAnswer>;
