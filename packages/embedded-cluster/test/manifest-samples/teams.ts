import { BLOCKED, NOON, type SampleObject, sample } from './sample.ts';

const binding = (spec: Record<string, unknown> = {}): SampleObject => ({
  metadata: { name: 'viewers' },
  spec: { subjects: [{ kind: 'User', name: 'ada' }], roleRef: 'view', scope: 'platform', ...spec },
});
const group = (spec: Record<string, unknown> = {}): SampleObject => ({ metadata: { name: 'staff' }, spec });

export const bindings = [
  sample('accepts a binding for the platform', binding()),
  sample('accepts one with an empty constraint', binding({ constraint: [] })),
  sample('refuses a constraint for the platform', binding({ constraint: [{ namespace: 'shop' }] }), [
    'spec: Invalid value: a binding for the platform has no constraint',
  ]),
  sample(
    'accepts a binding for namespaces',
    binding({ scope: 'namespace', constraint: [{ namespace: 'shop' }, { cluster: 'here', namespace: 'till' }] }),
  ),
  sample('refuses a binding for no namespaces', binding({ scope: 'namespace' }), [
    'spec: Invalid value: a binding for namespaces names a namespace in each constraint',
  ]),
  sample(
    'refuses a binding for namespaces with one unnamed',
    binding({ scope: 'namespace', constraint: [{ namespace: 'shop' }, { project: 'shop' }] }),
    ['spec: Invalid value: a binding for namespaces names a namespace in each constraint'],
  ),
  sample('refuses a binding for namespaces with an empty name', binding({ scope: 'namespace', constraint: [{ namespace: '' }] }), [
    'spec: Invalid value: a binding for namespaces names a namespace in each constraint',
  ]),
  sample('accepts a binding for projects', binding({ scope: 'project', constraint: [{ project: 'shop' }] })),
  sample('refuses a binding for projects with an empty name', binding({ scope: 'project', constraint: [{ project: '' }] }), [
    'spec: Invalid value: a binding for projects names a project in each constraint',
  ]),
  sample(
    'refuses a subject of Kubernetes itself',
    binding({
      subjects: [
        { kind: 'User', name: 'ada' },
        { kind: 'Group', name: 'system:masters' },
      ],
    }),
    ['spec.subjects[1].name: Invalid value: names that begin with system belong to Kubernetes'],
  ),
  sample('refuses a binding for nobody', binding({ subjects: [] }), [
    'spec.subjects: Invalid value: 0: spec.subjects in body should have at least 1 items',
  ]),
  sample('refuses another kind of subject', binding({ subjects: [{ kind: 'ServiceAccount', name: 'a' }] }), [
    'spec.subjects[0].kind: Unsupported value: "ServiceAccount": supported values: "User", "Group"',
    BLOCKED,
  ]),
  sample(
    'refuses the same subject twice',
    binding({
      subjects: [
        { kind: 'User', name: 'ada' },
        { kind: 'User', name: 'ada' },
        { kind: 'Group', name: 'ada' },
      ],
    }),
    ['spec.subjects[1]: Duplicate value: {"kind":"User","name":"ada"}'],
  ),
  sample(
    'refuses another role',
    binding({ roleRef: 'cluster-admin' }),
    ['spec.roleRef: Invalid value: "cluster-admin": the role of a binding never changes'],
    binding(),
  ),
  sample(
    'refuses another scope',
    binding({ scope: 'project', constraint: [{ project: 'shop' }] }),
    ['spec.scope: Invalid value: "project": the scope of a binding never changes'],
    binding(),
  ),
  sample('lets the subjects change', binding({ subjects: [{ kind: 'Group', name: 'staff' }] }), [], binding()),
];

export const groups = [
  sample('accepts a local group', group({ displayName: 'Staff', users: [{ name: 'ada' }] })),
  sample('accepts a group of the issuer', group({ refConnector: { id: 'corp', type: 'oidc' } })),
  sample(
    'refuses to make a local group one of the issuer',
    group({ refConnector: { id: 'corp', type: 'oidc' } }),
    ['spec: Invalid value: a group stays local, or of its issuer'],
    group({}),
  ),
  sample('lets the members change', group({ users: [{ name: 'ada', importTime: NOON }] }), [], group({})),
  sample('refuses the same member twice', group({ users: [{ name: 'ada' }, { name: 'ada', importTime: NOON }] }), [
    'spec.users[1]: Duplicate value: {"name":"ada"}',
  ]),
];
