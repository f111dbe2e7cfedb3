/** An object that a definition refuses (`field` of the first cause, perhaps a text in it) or, without a field, accepts. */
export interface Verdict {
  what: string;
  name?: string;
  /** Merged into the valid spec; null removes a field. */
  spec?: Record<string, unknown>;
  /** Merge patch of the spec of the object that `spec` has created, instead of a creation. */
  update?: Record<string, unknown>;
  field?: string;
  text?: string;
}

export interface Verdicts {
  plural: string;
  name: (serial: string) => string;
  valid: Record<string, unknown>;
  verdicts: Verdict[];
}

const hex = (text: string, length: number) => Buffer.from(text).toString('hex').padEnd(length, '0').slice(-length);
const early = '2026-01-01T00:00:00Z';
const late = '2026-06-01T00:00:00Z';

const service = { name: 'web', namespace: 'shop', port: 443 };
const policy = (...values: string[]) => ({ contentSecurityPolicy: [{ directive: 'ScriptSrc', values }] });
const subject = (name: string, kind = 'User') => ({ kind, name });
const condition = { type: 'Ready', status: 'True', lastTransitionTime: early, reason: 'Fine', message: '' };

/** Every rule of docs/contract/resources.md, with accepted and refused objects. */
const machine = { connector_type: 'machine', connector_id: 'machine', connector_name: 'Machine' };
const trusted = { issuer: 'https://ci.example.com', audience: 'atrium', claims: { sub: 'repo:acme/*:ref:refs/heads/main' } };

export const shippedVerdicts: Verdicts[] = [
  {
    plural: 'bindingreviews.auth.platform.io',
    name: (serial) => `review-${serial}`,
    valid: { namespace: 'shop' },
    verdicts: [
      { what: 'a review of a namespace' },
      { what: 'a review of the cluster', spec: { namespace: null, clusterWide: true } },
      { what: 'a review of both', spec: { clusterWide: true }, field: 'spec', text: 'about one namespace' },
      { what: 'a review of nothing', spec: { namespace: null }, field: 'spec', text: 'about one namespace' },
      { what: 'a review that is not of the cluster', spec: { namespace: null, clusterWide: false }, field: 'spec.clusterWide' },
      { what: 'a namespace that is no DNS label', spec: { namespace: 'Shop' }, field: 'spec.namespace' },
      { what: 'no time for answers', spec: { answerSeconds: 0 }, field: 'spec.answerSeconds' },
      { what: 'a period', spec: { answerSeconds: 10, everySeconds: 11 } },
      { what: 'a round before the end of the last one', spec: { everySeconds: 1209600 }, field: 'spec', text: 'after the one before' },
      { what: 'an end of unanswered bindings', spec: { unanswered: 'End' } },
      { what: 'another fate of unanswered bindings', spec: { unanswered: 'Ask' }, field: 'spec.unanswered' },
      { what: 'another namespace later', update: { namespace: 'vault' }, field: 'spec.namespace', text: 'never changes' },
      { what: 'the cluster later', update: { namespace: null, clusterWide: true }, field: 'spec', text: 'never changes' },
      { what: 'another time for answers later', update: { answerSeconds: 10 } },
    ],
  },
  {
    plural: 'users.auth.platform.io',
    name: (serial) => `user-${serial}`,
    valid: {
      email: 'ann@example.com',
      username: 'Ann',
      connector_type: 'local',
      connector_id: 'local',
      connector_name: 'Local',
      is_admin: false,
    },
    verdicts: [
      { what: 'a user' },
      { what: 'a plain login name', spec: { email: "o'neil+x" } },
      { what: 'an e-mail address with two @', spec: { email: 'a@b@c' }, field: 'spec.email' },
      { what: 'an e-mail address with a letter that is not ASCII', spec: { email: 'аnn@example.com' }, field: 'spec.email' },
      { what: 'an e-mail address with a slash', spec: { email: 'a/b' }, field: 'spec.email' },
      { what: 'an empty e-mail address', spec: { email: '' }, field: 'spec.email' },
      { what: 'an e-mail address of 254 characters', spec: { email: 'a'.repeat(254) }, field: 'spec.email' },
      { what: 'no e-mail address', spec: { email: null }, field: 'spec.email' },
      { what: 'an empty display name', spec: { username: '' } },
      { what: 'another e-mail address later', update: { email: 'bea@example.com' }, field: 'spec.email', text: 'never changes' },
      { what: 'the same e-mail address later', update: { email: 'ann@example.com', username: 'Ann B.' } },
      { what: 'becoming an administrator', update: { is_admin: true }, field: 'spec.is_admin', text: 'never changes' },
      { what: 'an administrator who is local', spec: { is_admin: true } },
      { what: 'an administrator who was registered ahead', spec: { is_admin: true, connector_id: '' } },
      { what: 'an administrator from elsewhere', spec: { is_admin: true, connector_id: 'ldap-1' }, field: 'spec', text: 'local user' },
      { what: 'a record called sync', name: 'sync', field: '<nil>', text: 'cannot be called sync' },
      { what: 'an upper-case connector type', spec: { connector_type: 'LDAP' }, field: 'spec.connector_type' },
      { what: 'a connector id that is no label value', spec: { connector_id: '-x' }, field: 'spec.connector_id' },
      { what: 'a notification address', spec: { mail: 'ann@example.com' } },
      { what: 'an empty notification address', spec: { mail: '' } },
      { what: 'a notification address without @', spec: { mail: 'ann' }, field: 'spec.mail' },
      { what: 'a telephone number', spec: { mobile: '+43 (1) 555-0100' } },
      { what: 'a telephone number with letters', spec: { mobile: 'call me' }, field: 'spec.mobile' },
      { what: 'a validity that begins before it ends', spec: { expired: { begin: early, end: late } } },
      { what: 'a validity without an end', spec: { expired: { begin: late } } },
      { what: 'a validity that ends before it begins', spec: { expired: { begin: late, end: early } }, field: 'spec.expired' },
      {
        what: 'a validity compared as instants, not as text',
        spec: { expired: { begin: '2026-01-01T01:00:00+02:00', end: '2026-01-01T00:30:00Z' } },
      },
      { what: 'a date that is none', spec: { expired: { begin: 'soon' } }, field: 'spec.expired.begin' },
      { what: 'another state', spec: { state: 'asleep' }, field: 'spec.state' },
      {
        what: 'an identity twice',
        spec: {
          ids: [
            { type: 'a', id: 'b' },
            { type: 'a', id: 'b' },
          ],
        },
        field: 'spec.ids[1]',
      },
      { what: 'anything in extra', spec: { extra: { any: { thing: [1] } } } },
      { what: 'a machine user', spec: { ...machine, federation: [trusted] } },
      { what: 'a machine user who trusts no token', spec: machine, field: 'spec', text: 'a user with federation' },
      { what: 'trusted tokens of a person', spec: { federation: [trusted] }, field: 'spec', text: 'a user with federation' },
      { what: 'an empty list of trusted tokens', spec: { ...machine, federation: [] }, field: 'spec.federation' },
      {
        what: 'a wildcard in a segment',
        spec: { ...machine, federation: [{ ...trusted, claims: { sub: 'repo:acme/*-x' } }] },
        field: 'spec.federation[0].claims.sub',
      },
      {
        what: 'a token without claims',
        spec: { ...machine, federation: [{ ...trusted, claims: {} }] },
        field: 'spec.federation[0].claims',
      },
      { what: 'extra that is no object', spec: { extra: 'text' }, field: 'spec.extra' },
      { what: 'text for a boolean', spec: { is_disabled: 'yes' }, field: 'spec.is_disabled' },
    ],
  },
  {
    plural: 'userbindings.auth.platform.io',
    name: (serial) => `binding-${serial}`,
    valid: { subjects: [subject('ann')], roleRef: 'view', scope: 'platform' },
    verdicts: [
      { what: 'a binding for the platform' },
      { what: 'a binding for the platform with an empty constraint', spec: { constraint: [] } },
      { what: 'a binding for the platform with a constraint', spec: { constraint: [{ namespace: 'a' }] }, field: 'spec' },
      {
        what: 'a binding for a namespace',
        spec: { scope: 'namespace', constraint: [{ namespace: 'a' }, { cluster: 'c', namespace: 'b' }] },
      },
      { what: 'a binding for no namespace', spec: { scope: 'namespace' }, field: 'spec' },
      { what: 'a binding for an empty list of namespaces', spec: { scope: 'namespace', constraint: [] }, field: 'spec' },
      {
        what: 'a constraint without its namespace',
        spec: { scope: 'namespace', constraint: [{ namespace: 'a' }, { project: 'p' }] },
        field: 'spec',
      },
      { what: 'a constraint with an empty namespace', spec: { scope: 'namespace', constraint: [{ namespace: '' }] }, field: 'spec' },
      { what: 'a binding for a project', spec: { scope: 'project', constraint: [{ project: 'p' }] } },
      { what: 'a constraint without its project', spec: { scope: 'project', constraint: [{ namespace: 'a' }] }, field: 'spec' },
      {
        what: 'a subject that begins with system:',
        spec: { subjects: [subject('ann'), subject('system:masters', 'Group')] },
        field: 'spec.subjects[1].name',
      },
      { what: 'a subject of another kind', spec: { subjects: [subject('ann', 'Robot')] }, field: 'spec.subjects[0].kind' },
      { what: 'a subject twice', spec: { subjects: [subject('ann'), subject('ann')] }, field: 'spec.subjects[1]' },
      { what: 'a user and a group of one name', spec: { subjects: [subject('ann'), subject('ann', 'Group')] } },
      { what: 'no subject', spec: { subjects: [] }, field: 'spec.subjects' },
      { what: 'another role later', update: { roleRef: 'edit' }, field: 'spec.roleRef' },
      { what: 'another scope later', update: { scope: 'namespace', constraint: [{ namespace: 'a' }] }, field: 'spec.scope' },
      { what: 'other subjects later', update: { subjects: [subject('bea')] } },
    ],
  },
  {
    plural: 'groups.auth.platform.io',
    name: (serial) => `group-${serial}`,
    valid: { displayName: 'Crew' },
    verdicts: [
      { what: 'a local group with members', spec: { users: [{ name: 'ann', importTime: early }, { name: 'bea' }] } },
      { what: 'a member twice', spec: { users: [{ name: 'ann' }, { name: 'ann' }] }, field: 'spec.users[1]' },
      { what: 'a local group that becomes one of an issuer', update: { refConnector: { id: 'corp', type: 'ldap' } }, field: 'spec' },
      {
        what: 'a group of an issuer that becomes local',
        spec: { refConnector: { id: 'corp', type: 'ldap' } },
        update: { refConnector: null },
        field: 'spec',
      },
      { what: 'another name later', update: { displayName: 'Staff' } },
    ],
  },
  {
    plural: 'accesspolicies.auth.platform.io',
    name: (serial) => `policy-${serial}`,
    valid: {
      subjects: [subject('ann')],
      roleRefs: ['view'],
      scope: { namespaces: { names: ['shop'] } },
      maxSeconds: 3600,
      approvals: 1,
      approvers: [subject('bea')],
    },
    verdicts: [
      { what: 'a policy' },
      { what: 'a name with a dot', name: 'a.b', field: 'metadata.name' },
      { what: 'everybody with an approval', spec: { subjects: [subject('system:authenticated', 'Group')] } },
      { what: 'ACP-04 no approvals without a recent login', spec: { approvals: 0 }, field: 'spec', text: 'requireStepUp' },
      { what: 'no approvals with a recent login', spec: { approvals: 0, requireStepUp: true, approvers: null } },
      {
        what: 'ACP-04 everybody without an approval',
        spec: { approvals: 0, requireStepUp: true, subjects: [subject('system:authenticated', 'Group')] },
        field: 'spec',
        text: 'needs an approval',
      },
      { what: 'ACP-04 approvals without approvers', spec: { approvers: [] }, field: 'spec', text: 'need approvers' },
      { what: 'ACP-04 approvers that are missing', spec: { approvers: null }, field: 'spec', text: 'need approvers' },
      {
        what: 'ACP-04 system:masters as subject',
        spec: { subjects: [subject('system:masters', 'Group')] },
        field: 'spec.subjects[0].name',
      },
      {
        what: 'ACP-04 system:masters as approver',
        spec: { approvers: [subject('system:masters', 'Group')] },
        field: 'spec.approvers[0].name',
      },
      {
        what: 'ACP-04 an empty selector',
        spec: { scope: { namespaces: { selector: {} } } },
        field: 'spec.scope.namespaces.selector',
        text: 'every namespace',
      },
      {
        what: 'ACP-04 a selector without labels',
        spec: { scope: { namespaces: { selector: { matchLabels: {}, matchExpressions: [] } } } },
        field: 'spec.scope.namespaces.selector',
      },
      { what: 'a selector', spec: { scope: { namespaces: { selector: { matchLabels: { team: 'shop' } } } } } },
      {
        what: 'In without values',
        spec: { scope: { namespaces: { selector: { matchExpressions: [{ key: 'team', operator: 'In' }] } } } },
        field: 'spec.scope.namespaces.selector.matchExpressions[0]',
      },
      { what: 'names and a selector', spec: { scope: { cluster: true, namespaces: { names: ['shop'] } } }, field: 'spec.scope' },
      { what: 'no place', spec: { scope: {} }, field: 'spec.scope' },
      { what: 'the platform', spec: { scope: { cluster: true } } },
      { what: 'ACP-04 a broken RE2 pattern', spec: { ticketPattern: '(' }, field: 'spec.ticketPattern' },
      { what: 'a ticket pattern', spec: { ticketPattern: 'OPS-[0-9]{1,6}' } },
      { what: 'ACP-02 21 roles', spec: { roleRefs: Array.from({ length: 21 }, (_, index) => `role-${index}`) }, field: 'spec.roleRefs' },
      { what: 'no role', spec: { roleRefs: [] }, field: 'spec.roleRefs' },
      { what: 'five minutes and two weeks', spec: { maxSeconds: 1_209_600 } },
      { what: 'more than two weeks', spec: { maxSeconds: 1_209_601 }, field: 'spec.maxSeconds' },
      { what: 'four approvals', spec: { approvals: 4 }, field: 'spec.approvals' },
      { what: 'break-glass beside approvals', spec: { breakGlass: true, requireStepUp: true } },
      { what: 'break-glass without approvals', spec: { breakGlass: true, requireStepUp: true, approvals: 0 } },
      { what: 'ACP-04 break-glass without a recent login', spec: { breakGlass: true }, field: 'spec', text: 'break-glass requires' },
      {
        what: 'ACP-04 break-glass without reviewers',
        spec: { breakGlass: true, requireStepUp: true, approvals: 0, approvers: null },
        field: 'spec',
        text: 'need approvers',
      },
      {
        what: 'ACP-04 break-glass for everybody',
        spec: { breakGlass: true, requireStepUp: true, subjects: [subject('system:authenticated', 'Group')] },
        field: 'spec',
        text: 'has no break-glass',
      },
    ],
  },
  {
    plural: 'accessrequests.auth.platform.io',
    name: (serial) => `areq-${hex(serial, 16)}`,
    valid: {
      requester: 'ann@example.com',
      record: hex('ann', 32),
      recordUID: 'u-1',
      policy: { name: 'shop', uid: 'p-1', generation: 1 },
      subject: subject('ann@example.com'),
      roleRef: 'view',
      roleUID: 'r-1',
      scope: 'namespace',
      namespaces: ['shop'],
      reason: 'the shop is down',
      durationSeconds: 600,
      approvals: 1,
    },
    verdicts: [
      { what: 'a request' },
      { what: 'any change', update: { durationSeconds: 900 }, field: 'spec', text: 'never changes' },
      { what: 'a service account', spec: { requester: 'system:serviceaccount:a:b' }, field: 'spec.requester' },
      { what: 'break-glass of an hour', spec: { breakGlass: true, durationSeconds: 3600 } },
      {
        what: 'JIT-09 break-glass of two hours',
        spec: { breakGlass: true, durationSeconds: 7200 },
        field: 'spec',
        text: 'lasts an hour at most',
      },
      {
        what: 'JIT-09 break-glass that begins later',
        spec: { breakGlass: true, notBefore: late },
        field: 'spec',
        text: 'begins at once',
      },
      { what: 'namespaces for the platform', spec: { scope: 'platform' }, field: 'spec' },
      { what: 'the platform', spec: { scope: 'platform', namespaces: null } },
      { what: 'no namespaces', spec: { namespaces: null }, field: 'spec' },
      { what: 'a ticket that fits', spec: { ticket: 'OPS-7', ticketPattern: 'OPS-[0-9]+' } },
      { what: 'a ticket with a part that fits', spec: { ticket: 'OPS-7 or so', ticketPattern: 'OPS-[0-9]+' }, field: 'spec' },
      { what: 'no ticket where the policy has a pattern', spec: { ticketPattern: 'OPS-[0-9]+' }, field: 'spec' },
      { what: 'a short reason', spec: { reason: 'please' }, field: 'spec.reason' },
      { what: 'a begin', spec: { notBefore: early } },
      { what: 'a begin with an offset', spec: { notBefore: '2026-01-01T00:00:00+01:00' }, field: 'spec.notBefore' },
      { what: 'four minutes', spec: { durationSeconds: 240 }, field: 'spec.durationSeconds' },
    ],
  },
  {
    plural: 'accesstokens.auth.platform.io',
    name: (serial) => `token-${serial}`,
    valid: { owner: 'ann', description: 'backup', tokenHash: hex('secret', 64), issuedAt: early, expiration: late },
    verdicts: [
      { what: 'an access token' },
      { what: 'one that never expires', spec: { expiration: null } },
      { what: 'one that expires before it was issued', spec: { issuedAt: late, expiration: early }, field: 'spec' },
      { what: 'one that expires when it was issued', spec: { expiration: early }, field: 'spec' },
      { what: 'a hash of another length', spec: { tokenHash: 'abc' }, field: 'spec.tokenHash' },
      { what: 'an empty description', spec: { description: '' }, field: 'spec.description' },
      { what: 'any change', update: { description: 'restore' }, field: 'spec', text: 'never changes' },
    ],
  },
  {
    plural: 'sessions.auth.platform.io',
    name: (serial) => `s-${hex(serial, 64)}`,
    valid: { user: 'ann', createdAt: early, expiration: late, sealed: 'e30' },
    verdicts: [
      { what: 'a session' },
      { what: 'another name', name: 's-123', field: '<nil>' },
      { what: 'an expiration before the creation', spec: { createdAt: late, expiration: early }, field: 'spec' },
      { what: 'another user later', update: { user: 'bea' }, field: 'spec', text: 'never change' },
      { what: 'a longer life later', update: { expiration: '2027-01-01T00:00:00Z' }, field: 'spec', text: 'never change' },
      { what: 'another sealed content and idle end later', update: { sealed: 'e31', idleExpiration: late } },
    ],
  },
  {
    plural: 'revokedtokens.auth.platform.io',
    name: (serial) => `rt-${hex(serial, 40)}`,
    valid: { kind: 'Bearer', expiration: late },
    verdicts: [
      { what: 'a revoked bearer token' },
      { what: 'another name', name: 'rt-xyz', field: '<nil>' },
      { what: 'another kind', spec: { kind: 'Cookie' }, field: 'spec.kind' },
      { what: 'a subject with its time', spec: { kind: 'Subject', notBefore: early, user: 'ann' } },
      { what: 'a subject without its time', spec: { kind: 'Subject' }, field: 'spec' },
      { what: 'a bearer token with a time', spec: { notBefore: early }, field: 'spec' },
      { what: 'a change of a bearer token', update: { expiration: early }, field: 'spec', text: 'never changes' },
      {
        what: 'a later time of a subject',
        spec: { kind: 'Subject', notBefore: early },
        update: { notBefore: late, expiration: '2027-01-01T00:00:00Z' },
      },
      { what: 'an earlier time of a subject', spec: { kind: 'Subject', notBefore: late }, update: { notBefore: early }, field: 'spec' },
    ],
  },
  {
    plural: 'identityrecords.auth.platform.io',
    name: (serial) => `grant-${hex(serial, 64)}`,
    valid: { model: 'Grant', expiration: late, sealed: 'e30' },
    verdicts: [
      { what: 'a record' },
      { what: 'a record that is consumed later', update: { consumedAt: early } },
      { what: 'a record without its model', spec: { model: null }, field: 'spec.model' },
      { what: 'an expiration that is no date', spec: { expiration: '12345' }, field: 'spec.expiration' },
    ],
  },
  {
    plural: 'changeproposals.auth.platform.io',
    name: (serial) => `cp-${hex(serial, 32)}`,
    valid: {
      ...{ user: 'jane', cluster: 'local', verb: 'patch', reason: 'It is slow.', expiration: late, sealed: 'e30' },
      agent: { client: 'https://agent.example.com/client.json', name: 'Helper', host: 'agent.example.com' },
      object: { apiGroup: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment', namespace: 'shop', name: 'cart' },
    },
    verdicts: [
      { what: 'a proposal' },
      { what: 'a name of another form', name: 'cp-1', field: '<nil>', text: '32 hexadecimal digits' },
      { what: 'a verb that cannot be proposed', spec: { verb: 'deletecollection' }, field: 'spec.verb' },
      { what: 'a long reason', spec: { reason: 'a'.repeat(301) }, field: 'spec.reason' },
      { what: 'no sealed form', spec: { sealed: null }, field: 'spec.sealed' },
      { what: 'another reason later', update: { reason: 'It is fine.' }, field: 'spec', text: 'never changes' },
    ],
  },
  {
    plural: 'factors.auth.platform.io',
    name: (serial) => `t-${hex(serial, 64)}`,
    valid: { user: 'jane', userUID: 'a-uid', type: 'TOTP', sealed: 'e30' },
    verdicts: [
      { what: 'a code of an app' },
      { what: 'a passkey', spec: { type: 'Passkey', passkey: { rpID: 'console.example.com' } } },
      { what: 'another name', update: { name: 'phone' } },
      { what: 'a passkey without what is known of it', spec: { type: 'Passkey' }, field: 'spec' },
      { what: 'a type that there is not', spec: { type: 'SMS' }, field: 'spec.type' },
      { what: 'another owner', update: { user: 'joe' }, field: 'spec', text: 'the name alone may change' },
    ],
  },
  {
    plural: 'consoleplugins.console.platform.io',
    name: (serial) => `plugin-${serial}`,
    valid: { displayName: 'Shop' },
    verdicts: [
      { what: 'a plugin of ConfigMaps' },
      { what: 'a plugin of a Service', spec: { backend: { service } } },
      { what: 'a name that is not a DNS label', name: 'a.b', field: '<nil>' },
      { what: 'a name of 64 characters', name: 'a'.repeat(64), field: '<nil>' },
      { what: 'an order above 10000', spec: { order: 10_001 }, field: 'spec.order' },
      {
        what: 'a path that leads upwards',
        spec: { backend: { service: { ...service, basePath: '/a/../b' } } },
        field: 'spec.backend.service.basePath',
      },
      {
        what: 'an address for a Service',
        spec: { backend: { service: { ...service, name: '10.0.0.1' } } },
        field: 'spec.backend.service.name',
      },
      {
        what: 'the API server for a Service',
        spec: { backend: { service: { ...service, name: 'kubernetes', namespace: 'default' } } },
        field: 'spec.backend.service',
      },
      { what: 'a Service called kubernetes elsewhere', spec: { backend: { service: { ...service, name: 'kubernetes' } } } },
      { what: 'a proxy', spec: { proxy: [{ alias: 'api', service, authorization: 'UserToken' }] } },
      { what: 'a proxy with a slash in its alias', spec: { proxy: [{ alias: 'a/b', service }] }, field: 'spec.proxy[0].alias' },
      {
        what: 'a proxy alias twice',
        spec: {
          proxy: [
            { alias: 'a', service },
            { alias: 'a', service },
          ],
        },
        field: 'spec.proxy[1]',
      },
      {
        what: 'a proxy to the API server',
        spec: { proxy: [{ alias: 'a', service: { name: 'kubernetes', namespace: 'default', port: 443 } }] },
        field: 'spec.proxy[0].service',
      },
      { what: 'an empty load type', spec: { i18n: { loadType: '' } } },
      { what: 'another load type', spec: { i18n: { loadType: 'Eager' } }, field: 'spec.i18n.loadType' },
      { what: 'sources of a policy', spec: policy('https://cdn.example.com', '*.example.com', 'data:') },
      { what: 'every source', spec: policy('data:', '*'), field: 'spec.contentSecurityPolicy[0].values[1]' },
      { what: 'a source with a quote', spec: policy("'unsafe-eval'"), field: 'spec.contentSecurityPolicy[0].values[0]' },
      { what: 'a source with a space', spec: policy('a b'), field: 'spec.contentSecurityPolicy[0].values[0]' },
      { what: 'a source with a semicolon', spec: policy('a;b'), field: 'spec.contentSecurityPolicy[0].values[0]' },
      { what: 'no source', spec: policy(), field: 'spec.contentSecurityPolicy[0].values' },
    ],
  },
];

/** Statuses of User: one that its schema accepts, and others that it refuses with the field of the first cause. */
export const userStatus = {
  valid: { phase: 'Normal', groups: ['a', 'b'], failedLogins: 0, lastLoginTime: early, conditions: [condition] },
  refused: [
    [{ phase: 'Asleep' }, 'status.phase'],
    [{ groups: ['a', 'a'] }, 'status.groups[1]'],
    [{ failedLogins: -1 }, 'status.failedLogins'],
    [{ lastLoginTime: 'never' }, 'status.lastLoginTime'],
    [{ conditions: [condition, condition] }, 'status.conditions[1]'],
    [{ conditions: [{ ...condition, status: 'Perhaps' }] }, 'status.conditions[0].status'],
  ] as [Record<string, unknown>, string][],
};
