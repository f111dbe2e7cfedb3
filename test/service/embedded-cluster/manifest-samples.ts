/**
 * Objects of our custom resources, each with what an API server answers: `causes` are its own words (1.36), but for the names of formats in
 * errors about a type; none where it accepts.
 * With `old`, the object is an update of that one.
 */
export interface Sample {
  it: string;
  kind: string;
  object: SampleObject;
  old?: SampleObject;
  causes: string[];
}

interface SampleObject {
  metadata: { name: string };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const BLOCKED =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

const DIGITS = '0123456789abcdef'.repeat(4);
const MORNING = '2026-01-01T08:00:00Z';
const NOON = '2026-01-01T12:00:00Z';

const user = (spec: Record<string, unknown> = {}, name = 'ada'): SampleObject => ({
  metadata: { name },
  spec: {
    email: 'ada@example.com',
    username: 'Ada',
    connector_type: 'local',
    connector_id: 'local',
    connector_name: 'Local',
    is_admin: false,
    ...spec,
  },
});
const binding = (spec: Record<string, unknown> = {}): SampleObject => ({
  metadata: { name: 'viewers' },
  spec: { subjects: [{ kind: 'User', name: 'ada' }], roleRef: 'view', scope: 'platform', ...spec },
});
const group = (spec: Record<string, unknown> = {}): SampleObject => ({ metadata: { name: 'staff' }, spec });
const accessToken = (spec: Record<string, unknown> = {}): SampleObject => ({
  metadata: { name: 'token' },
  spec: { owner: 'ada', description: 'ci', tokenHash: DIGITS, issuedAt: MORNING, ...spec },
});
const session = (spec: Record<string, unknown> = {}, name = `s-${DIGITS}`): SampleObject => ({
  metadata: { name },
  spec: { user: 'ada', createdAt: MORNING, expiration: NOON, sealed: 'x', ...spec },
});
const revoked = (spec: Record<string, unknown> = {}, name = `rt-${DIGITS.slice(0, 40)}`): SampleObject => ({
  metadata: { name },
  spec: { kind: 'Bearer', expiration: NOON, ...spec },
});
const record = (spec: Record<string, unknown> = {}): SampleObject => ({
  metadata: { name: 'grant-1' },
  spec: { model: 'Grant', expiration: NOON, sealed: 'x', ...spec },
});
const plugin = (spec: Record<string, unknown> = {}, name = 'metrics'): SampleObject => ({
  metadata: { name },
  spec: { displayName: 'Metrics', ...spec },
});
const service = (overrides: Record<string, unknown> = {}) => ({ name: 'metrics', namespace: 'monitoring', port: 443, ...overrides });

const LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';

export const samples: Sample[] = [
  // User
  { it: 'accepts a user', kind: 'User', object: user(), causes: [] },
  { it: 'accepts a plain login name', kind: 'User', object: user({ email: 'ada' }), causes: [] },
  {
    it: 'refuses a look-alike login identity',
    kind: 'User',
    object: user({ email: 'аda@example.com' }),
    causes: [
      `spec.email: Invalid value: "аda@example.com": spec.email in body should match '^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$'`,
    ],
  },
  {
    it: 'refuses a path as login identity',
    kind: 'User',
    object: user({ email: '../ada' }),
    causes: [`spec.email: Invalid value: "../ada": spec.email in body should match '^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$'`],
  },
  {
    it: 'refuses an empty login identity',
    kind: 'User',
    object: user({ email: '' }),
    causes: ['spec.email: Invalid value: "": spec.email in body should be at least 1 chars long'],
  },
  {
    it: 'refuses a login identity that is too long',
    kind: 'User',
    object: user({ email: 'a'.repeat(254) }),
    causes: ['spec.email: Too long: may not be more than 253 bytes', BLOCKED],
  },
  {
    it: 'refuses to change the login identity',
    kind: 'User',
    object: user({ email: 'eve@example.com' }),
    old: user(),
    causes: ['spec.email: Invalid value: "eve@example.com": the login identity of a user never changes'],
  },
  { it: 'lets the display name change', kind: 'User', object: user({ username: 'Ada L.' }), old: user(), causes: [] },
  {
    it: 'refuses to make an administrator of a user',
    kind: 'User',
    object: user({ is_admin: true }),
    old: user(),
    causes: ['spec.is_admin: Invalid value: true: whether a user is an administrator of the installation never changes'],
  },
  {
    it: 'names all that is missing',
    kind: 'User',
    object: { metadata: { name: 'ada' }, spec: {} },
    causes: ['spec.email: Required value', 'spec.username: Required value', BLOCKED],
  },
  { it: 'wants a spec', kind: 'User', object: { metadata: { name: 'ada' } }, causes: ['spec: Required value', BLOCKED] },
  {
    it: 'refuses the name sync',
    kind: 'User',
    object: user({}, 'sync'),
    causes: ['<nil>: Invalid value: a user cannot be called sync, which is a path of the API'],
  },
  { it: 'accepts a local administrator', kind: 'User', object: user({ is_admin: true }), causes: [] },
  { it: 'accepts an administrator without a source', kind: 'User', object: user({ is_admin: true, connector_id: '' }), causes: [] },
  {
    it: 'refuses an administrator from elsewhere',
    kind: 'User',
    object: user({ is_admin: true, connector_id: 'corp' }),
    causes: ['spec: Invalid value: an administrator made at installation is a local user'],
  },
  {
    it: 'refuses a connector type in capitals',
    kind: 'User',
    object: user({ connector_type: 'LDAP' }),
    causes: [`spec.connector_type: Invalid value: "LDAP": spec.connector_type in body should match '^[a-z0-9-]*$'`],
  },
  {
    it: 'refuses a connector id that is no label value',
    kind: 'User',
    object: user({ connector_id: '-x' }),
    causes: [
      `spec.connector_id: Invalid value: "-x": spec.connector_id in body should match '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'`,
    ],
  },
  { it: 'accepts an empty mail', kind: 'User', object: user({ mail: '' }), causes: [] },
  {
    it: 'refuses a mail without @',
    kind: 'User',
    object: user({ mail: 'ada' }),
    causes: ['spec.mail: Invalid value: "ada": must be empty or an e-mail address'],
  },
  { it: 'accepts a telephone number', kind: 'User', object: user({ mobile: '+41 (44) 1-2' }), causes: [] },
  {
    it: 'refuses letters in a telephone number',
    kind: 'User',
    object: user({ mobile: 'x' }),
    causes: [`spec.mobile: Invalid value: "x": spec.mobile in body should match '^[0-9+() -]*$'`],
  },
  { it: 'accepts a time of validity', kind: 'User', object: user({ expired: { begin: MORNING, end: NOON } }), causes: [] },
  { it: 'accepts a validity with an end only', kind: 'User', object: user({ expired: { end: NOON } }), causes: [] },
  {
    it: 'refuses a validity that ends before it begins',
    kind: 'User',
    object: user({ expired: { begin: NOON, end: '2026-01-01T12:30:00+01:00' } }),
    causes: ['spec.expired: Invalid value: begin must lie before end'],
  },
  {
    it: 'refuses a day that does not exist',
    kind: 'User',
    object: user({ expired: { end: '2026-02-30T00:00:00Z' } }),
    causes: [
      'spec.expired.end: Invalid value: "2026-02-30T00:00:00Z": spec.expired.end in body must be of type date-time: "2026-02-30T00:00:00Z"',
      BLOCKED,
    ],
  },
  {
    it: 'refuses a time without a zone',
    kind: 'User',
    object: user({ expired: { end: '2026-02-01T00:00:00' } }),
    causes: [
      'spec.expired.end: Invalid value: "2026-02-01T00:00:00": spec.expired.end in body must be of type date-time: "2026-02-01T00:00:00"',
      BLOCKED,
    ],
  },
  {
    it: 'refuses an unknown state',
    kind: 'User',
    object: user({ state: 'asleep' }),
    causes: ['spec.state: Unsupported value: "asleep": supported values: "active", "inactive"', BLOCKED],
  },
  {
    it: 'refuses text where a boolean belongs',
    kind: 'User',
    object: user({ is_disabled: 'yes' }),
    causes: ['spec.is_disabled: Invalid value: "string": spec.is_disabled in body must be of type boolean: "string"', BLOCKED],
  },
  {
    it: 'refuses a number where text belongs',
    kind: 'User',
    object: user({ username: 7 }),
    causes: ['spec.username: Invalid value: "integer": spec.username in body must be of type string: "integer"', BLOCKED],
  },
  {
    it: 'refuses a list where an object belongs',
    kind: 'User',
    object: user({ expired: [] }),
    causes: ['spec.expired: Invalid value: "array": spec.expired in body must be of type object: "array"', BLOCKED],
  },
  { it: 'takes null for absent', kind: 'User', object: user({ mail: null, state: null }), causes: [] },
  { it: 'keeps fields of third parties', kind: 'User', object: user({ extra: { team: { size: 3 } } }), causes: [] },
  {
    it: 'accepts linked identities',
    kind: 'User',
    object: user({
      ids: [
        { type: 'ldap', id: '1' },
        { type: 'ldap', id: '2' },
      ],
    }),
    causes: [],
  },
  {
    it: 'refuses the same linked identity twice',
    kind: 'User',
    object: user({
      ids: [
        { type: 'ldap', id: '1' },
        { type: 'ldap', id: '1' },
      ],
    }),
    causes: ['spec.ids[1]: Duplicate value: {"id":"1","type":"ldap"}'],
  },
  {
    it: 'refuses half a linked identity',
    kind: 'User',
    object: user({ ids: [{ type: 'ldap' }] }),
    causes: ['spec.ids[0].id: Required value', BLOCKED],
  },
  {
    it: 'refuses too many linked identities',
    kind: 'User',
    object: user({ ids: Array.from({ length: 17 }, (_, at) => ({ type: 'ldap', id: `${at}` })) }),
    causes: ['spec.ids: Too many: 17: must have at most 16 items', BLOCKED],
  },

  {
    it: 'refuses a number where a time belongs',
    kind: 'User',
    object: user({ expired: { end: 7 } }),
    causes: ['spec.expired.end: Invalid value: "integer": spec.expired.end in body must be of type string: "integer"', BLOCKED],
  },

  // UserBinding
  { it: 'accepts a binding for the platform', kind: 'UserBinding', object: binding(), causes: [] },
  { it: 'accepts one with an empty constraint', kind: 'UserBinding', object: binding({ constraint: [] }), causes: [] },
  {
    it: 'refuses a constraint for the platform',
    kind: 'UserBinding',
    object: binding({ constraint: [{ namespace: 'shop' }] }),
    causes: ['spec: Invalid value: a binding for the platform has no constraint'],
  },
  {
    it: 'accepts a binding for namespaces',
    kind: 'UserBinding',
    object: binding({ scope: 'namespace', constraint: [{ namespace: 'shop' }, { cluster: 'here', namespace: 'till' }] }),
    causes: [],
  },
  {
    it: 'refuses a binding for no namespaces',
    kind: 'UserBinding',
    object: binding({ scope: 'namespace' }),
    causes: ['spec: Invalid value: a binding for namespaces names a namespace in each constraint'],
  },
  {
    it: 'refuses a binding for namespaces with one unnamed',
    kind: 'UserBinding',
    object: binding({ scope: 'namespace', constraint: [{ namespace: 'shop' }, { project: 'shop' }] }),
    causes: ['spec: Invalid value: a binding for namespaces names a namespace in each constraint'],
  },
  {
    it: 'refuses a binding for namespaces with an empty name',
    kind: 'UserBinding',
    object: binding({ scope: 'namespace', constraint: [{ namespace: '' }] }),
    causes: ['spec: Invalid value: a binding for namespaces names a namespace in each constraint'],
  },
  {
    it: 'accepts a binding for projects',
    kind: 'UserBinding',
    object: binding({ scope: 'project', constraint: [{ project: 'shop' }] }),
    causes: [],
  },
  {
    it: 'refuses a binding for projects with an empty name',
    kind: 'UserBinding',
    object: binding({ scope: 'project', constraint: [{ project: '' }] }),
    causes: ['spec: Invalid value: a binding for projects names a project in each constraint'],
  },
  {
    it: 'refuses a subject of Kubernetes itself',
    kind: 'UserBinding',
    object: binding({
      subjects: [
        { kind: 'User', name: 'ada' },
        { kind: 'Group', name: 'system:masters' },
      ],
    }),
    causes: ['spec.subjects[1].name: Invalid value: names that begin with system belong to Kubernetes'],
  },
  {
    it: 'refuses a binding for nobody',
    kind: 'UserBinding',
    object: binding({ subjects: [] }),
    causes: ['spec.subjects: Invalid value: 0: spec.subjects in body should have at least 1 items'],
  },
  {
    it: 'refuses another kind of subject',
    kind: 'UserBinding',
    object: binding({ subjects: [{ kind: 'ServiceAccount', name: 'a' }] }),
    causes: ['spec.subjects[0].kind: Unsupported value: "ServiceAccount": supported values: "User", "Group"', BLOCKED],
  },
  {
    it: 'refuses the same subject twice',
    kind: 'UserBinding',
    object: binding({
      subjects: [
        { kind: 'User', name: 'ada' },
        { kind: 'User', name: 'ada' },
        { kind: 'Group', name: 'ada' },
      ],
    }),
    causes: ['spec.subjects[1]: Duplicate value: {"kind":"User","name":"ada"}'],
  },
  {
    it: 'refuses another role',
    kind: 'UserBinding',
    object: binding({ roleRef: 'cluster-admin' }),
    old: binding(),
    causes: ['spec.roleRef: Invalid value: "cluster-admin": the role of a binding never changes'],
  },
  {
    it: 'refuses another scope',
    kind: 'UserBinding',
    object: binding({ scope: 'project', constraint: [{ project: 'shop' }] }),
    old: binding(),
    causes: ['spec.scope: Invalid value: "project": the scope of a binding never changes'],
  },
  {
    it: 'lets the subjects change',
    kind: 'UserBinding',
    object: binding({ subjects: [{ kind: 'Group', name: 'staff' }] }),
    old: binding(),
    causes: [],
  },

  // Group
  { it: 'accepts a local group', kind: 'Group', object: group({ displayName: 'Staff', users: [{ name: 'ada' }] }), causes: [] },
  { it: 'accepts a group of the issuer', kind: 'Group', object: group({ refConnector: { id: 'corp', type: 'oidc' } }), causes: [] },
  {
    it: 'refuses to make a local group one of the issuer',
    kind: 'Group',
    object: group({ refConnector: { id: 'corp', type: 'oidc' } }),
    old: group({}),
    causes: ['spec: Invalid value: a group stays local, or of its issuer'],
  },
  {
    it: 'lets the members change',
    kind: 'Group',
    object: group({ users: [{ name: 'ada', importTime: NOON }] }),
    old: group({}),
    causes: [],
  },
  {
    it: 'refuses the same member twice',
    kind: 'Group',
    object: group({ users: [{ name: 'ada' }, { name: 'ada', importTime: NOON }] }),
    causes: ['spec.users[1]: Duplicate value: {"name":"ada"}'],
  },

  // AccessToken
  { it: 'accepts a token for ever', kind: 'AccessToken', object: accessToken(), causes: [] },
  { it: 'accepts a token with an end', kind: 'AccessToken', object: accessToken({ expiration: NOON }), causes: [] },
  {
    it: 'refuses a token that ends when it begins',
    kind: 'AccessToken',
    object: accessToken({ expiration: MORNING }),
    causes: ['spec: Invalid value: the expiration must lie after issuedAt'],
  },
  {
    it: 'refuses to change a token',
    kind: 'AccessToken',
    object: accessToken({ description: 'cd' }),
    old: accessToken(),
    causes: ['spec: Invalid value: an access token never changes; delete it and make another'],
  },
  { it: 'lets the same token be written again', kind: 'AccessToken', object: accessToken(), old: accessToken(), causes: [] },
  {
    it: 'refuses a secret where its hash belongs',
    kind: 'AccessToken',
    object: accessToken({ tokenHash: 'secret' }),
    causes: [`spec.tokenHash: Invalid value: "secret": spec.tokenHash in body should match '^[0-9a-f]{64}$'`],
  },

  // Session
  { it: 'accepts a session', kind: 'Session', object: session(), causes: [] },
  {
    it: 'refuses a session of another name',
    kind: 'Session',
    object: session({}, 'mine'),
    causes: ["<nil>: Invalid value: the name must be s- and the SHA-256 of the cookie's secret"],
  },
  {
    it: 'refuses a session that ends before it begins',
    kind: 'Session',
    object: session({ expiration: '2026-01-01T07:59:59.999Z' }),
    causes: ['spec: Invalid value: the expiration must lie after createdAt'],
  },
  {
    it: 'lets the sealed tokens be replaced',
    kind: 'Session',
    object: session({ sealed: 'y', idleExpiration: NOON }),
    old: session(),
    causes: [],
  },
  ...[{ user: 'eve' }, { createdAt: '2026-01-01T08:00:01Z' }, { expiration: '2027-01-01T12:00:00Z' }].map((change) => ({
    it: `refuses to change ${Object.keys(change)} of a session`,
    kind: 'Session',
    object: session(change),
    old: session(),
    causes: ['spec: Invalid value: user, createdAt and expiration of a session never change'],
  })),

  // RevokedToken
  { it: 'accepts a revoked bearer token', kind: 'RevokedToken', object: revoked(), causes: [] },
  { it: 'accepts a revoked subject', kind: 'RevokedToken', object: revoked({ kind: 'Subject', notBefore: MORNING }), causes: [] },
  {
    it: 'refuses a revocation of another name',
    kind: 'RevokedToken',
    object: revoked({}, `rt-${DIGITS}`),
    causes: ['<nil>: Invalid value: the name must be rt- and the first 40 digits of a SHA-256'],
  },
  {
    it: 'refuses a subject without notBefore',
    kind: 'RevokedToken',
    object: revoked({ kind: 'Subject' }),
    causes: ['spec: Invalid value: notBefore belongs to a subject or a logout, and to nothing else'],
  },
  {
    it: 'refuses notBefore on a bearer token',
    kind: 'RevokedToken',
    object: revoked({ notBefore: MORNING }),
    causes: ['spec: Invalid value: notBefore belongs to a subject or a logout, and to nothing else'],
  },
  {
    it: 'lets a subject be revoked again, up to a later time',
    kind: 'RevokedToken',
    object: revoked({ kind: 'Subject', notBefore: NOON }),
    old: revoked({ kind: 'Subject', notBefore: MORNING }),
    causes: [],
  },
  {
    it: 'refuses an earlier time',
    kind: 'RevokedToken',
    object: revoked({ kind: 'Subject', notBefore: MORNING }),
    old: revoked({ kind: 'Subject', notBefore: NOON }),
    causes: ['spec: Invalid value: a revocation never changes, but for a later notBefore of a subject'],
  },
  {
    it: 'refuses to change a revoked bearer token',
    kind: 'RevokedToken',
    object: revoked({ user: 'eve' }),
    old: revoked(),
    causes: ['spec: Invalid value: a revocation never changes, but for a later notBefore of a subject'],
  },

  // IdentityRecord
  { it: 'accepts a record of the issuer', kind: 'IdentityRecord', object: record({ uid: 'x', consumedAt: NOON }), causes: [] },
  {
    it: 'refuses a record of no model',
    kind: 'IdentityRecord',
    object: record({ model: '' }),
    causes: ['spec.model: Invalid value: "": spec.model in body should be at least 1 chars long'],
  },

  // ConsolePlugin
  { it: 'accepts a plugin of ConfigMaps', kind: 'ConsolePlugin', object: plugin(), causes: [] },
  { it: 'accepts a plugin of a Service', kind: 'ConsolePlugin', object: plugin({ backend: { service: service() } }), causes: [] },
  {
    it: 'refuses a plugin whose name is no DNS label',
    kind: 'ConsolePlugin',
    object: plugin({}, 'my.metrics'),
    causes: ['<nil>: Invalid value: the name must be a DNS label of at most 63 characters'],
  },
  {
    it: 'refuses a plugin whose name is too long',
    kind: 'ConsolePlugin',
    object: plugin({}, 'm'.repeat(64)),
    causes: ['<nil>: Invalid value: the name must be a DNS label of at most 63 characters'],
  },
  {
    it: 'refuses an address as Service',
    kind: 'ConsolePlugin',
    object: plugin({ backend: { service: service({ name: '169.254.169.254' }) } }),
    causes: [`spec.backend.service.name: Invalid value: "169.254.169.254": spec.backend.service.name in body should match '${LABEL}'`],
  },
  {
    it: 'refuses the API server as Service',
    kind: 'ConsolePlugin',
    object: plugin({ backend: { service: service({ name: 'kubernetes', namespace: 'default' }) } }),
    causes: ['spec.backend.service: Invalid value: the API server cannot be the service of a plugin'],
  },
  {
    it: 'accepts a Service called kubernetes elsewhere',
    kind: 'ConsolePlugin',
    object: plugin({ backend: { service: service({ name: 'kubernetes' }) } }),
    causes: [],
  },
  {
    it: 'refuses a base path that leads upwards',
    kind: 'ConsolePlugin',
    object: plugin({ backend: { service: service({ basePath: '/a/../b' }) } }),
    causes: ['spec.backend.service.basePath: Invalid value: "/a/../b": the path must not lead upwards'],
  },
  {
    it: 'refuses ports that do not exist',
    kind: 'ConsolePlugin',
    object: plugin({ backend: { service: service({ port: 65536 }) } }),
    causes: ['spec.backend.service.port: Invalid value: 65536: spec.backend.service.port in body should be less than or equal to 65535'],
  },
  {
    it: 'refuses half a port',
    kind: 'ConsolePlugin',
    object: plugin({ backend: { service: service({ port: 1.5 }) } }),
    causes: [
      'spec.backend.service.port: Invalid value: "number": spec.backend.service.port in body must be of type integer: "number"',
      BLOCKED,
    ],
  },
  {
    it: 'refuses an order below zero',
    kind: 'ConsolePlugin',
    object: plugin({ order: -1 }),
    causes: ['spec.order: Invalid value: -1: spec.order in body should be greater than or equal to 0'],
  },
  {
    it: 'accepts proxies',
    kind: 'ConsolePlugin',
    object: plugin({ proxy: [{ alias: 'api', service: service(), authorization: 'UserToken' }] }),
    causes: [],
  },
  {
    it: 'refuses the API server behind a proxy',
    kind: 'ConsolePlugin',
    object: plugin({ proxy: [{ alias: 'api', service: service({ name: 'kubernetes', namespace: 'default' }) }] }),
    causes: ['spec.proxy[0].service: Invalid value: the API server cannot be the service of a plugin'],
  },
  {
    it: 'refuses a base path that leads upwards behind a proxy',
    kind: 'ConsolePlugin',
    object: plugin({ proxy: [{ alias: 'api', service: service({ basePath: '..' }) }] }),
    causes: ['spec.proxy[0].service.basePath: Invalid value: "..": the path must not lead upwards'],
  },
  {
    it: 'refuses an alias that is a path',
    kind: 'ConsolePlugin',
    object: plugin({ proxy: [{ alias: 'a/b', service: service() }] }),
    causes: [`spec.proxy[0].alias: Invalid value: "a/b": spec.proxy[0].alias in body should match '^[A-Za-z0-9_-]+$'`],
  },
  {
    it: 'accepts sources for the content security policy',
    kind: 'ConsolePlugin',
    object: plugin({ contentSecurityPolicy: [{ directive: 'ImgSrc', values: ['https://images.example.com', 'data:'] }] }),
    causes: [],
  },
  ...['*', "'unsafe-inline'", 'a b', 'a;b', 'a,b', 'a"b', 'a\tb'].map((value) => ({
    it: `refuses ${value} as a source for it`,
    kind: 'ConsolePlugin',
    object: plugin({ contentSecurityPolicy: [{ directive: 'ImgSrc', values: ['data:', value] }] }),
    causes: [
      `spec.contentSecurityPolicy[0].values[1]: Invalid value: ${JSON.stringify(value)}: must be one source without quotes, and not everything`,
    ],
  })),
  {
    it: 'refuses the same directive twice',
    kind: 'ConsolePlugin',
    object: plugin({
      contentSecurityPolicy: [
        { directive: 'ImgSrc', values: ['a'] },
        { directive: 'ImgSrc', values: ['b'] },
      ],
    }),
    causes: ['spec.contentSecurityPolicy[1]: Duplicate value: {"directive":"ImgSrc"}'],
  },
];
