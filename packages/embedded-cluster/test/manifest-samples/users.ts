import { BLOCKED, MORNING, NOON, type SampleObject, sample } from './sample.ts';

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

export const users = [
  sample('accepts a user', user()),
  sample('accepts a plain login name', user({ email: 'ada' })),
  sample('refuses a look-alike login identity', user({ email: 'аda@example.com' }), [
    `spec.email: Invalid value: "аda@example.com": spec.email in body should match '^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$'`,
  ]),
  sample('refuses a path as login identity', user({ email: '../ada' }), [
    `spec.email: Invalid value: "../ada": spec.email in body should match '^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$'`,
  ]),
  sample('refuses an empty login identity', user({ email: '' }), [
    'spec.email: Invalid value: "": spec.email in body should be at least 1 chars long',
  ]),
  sample('refuses a login identity that is too long', user({ email: 'a'.repeat(254) }), [
    'spec.email: Too long: may not be more than 253 bytes',
    BLOCKED,
  ]),
  sample(
    'refuses to change the login identity',
    user({ email: 'eve@example.com' }),
    ['spec.email: Invalid value: "eve@example.com": the login identity of a user never changes'],
    user(),
  ),
  sample('lets the display name change', user({ username: 'Ada L.' }), [], user()),
  sample(
    'refuses to make an administrator of a user',
    user({ is_admin: true }),
    ['spec.is_admin: Invalid value: true: whether a user is an administrator of the installation never changes'],
    user(),
  ),
  sample('names all that is missing', { metadata: { name: 'ada' }, spec: {} }, [
    'spec.email: Required value',
    'spec.username: Required value',
    BLOCKED,
  ]),
  sample('wants a spec', { metadata: { name: 'ada' } }, ['spec: Required value', BLOCKED]),
  sample('refuses the name sync', user({}, 'sync'), ['<nil>: Invalid value: a user cannot be called sync, which is a path of the API']),
  sample('accepts a local administrator', user({ is_admin: true })),
  sample('accepts an administrator without a source', user({ is_admin: true, connector_id: '' })),
  sample('refuses an administrator from elsewhere', user({ is_admin: true, connector_id: 'corp' }), [
    'spec: Invalid value: an administrator made at installation is a local user',
  ]),
  sample('refuses a connector type in capitals', user({ connector_type: 'LDAP' }), [
    `spec.connector_type: Invalid value: "LDAP": spec.connector_type in body should match '^[a-z0-9-]*$'`,
  ]),
  sample('refuses a connector id that is no label value', user({ connector_id: '-x' }), [
    `spec.connector_id: Invalid value: "-x": spec.connector_id in body should match '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'`,
  ]),
  sample('accepts an empty mail', user({ mail: '' })),
  sample('refuses a mail without @', user({ mail: 'ada' }), ['spec.mail: Invalid value: "ada": must be empty or an e-mail address']),
  sample('accepts a telephone number', user({ mobile: '+41 (44) 1-2' })),
  sample('refuses letters in a telephone number', user({ mobile: 'x' }), [
    `spec.mobile: Invalid value: "x": spec.mobile in body should match '^[0-9+() -]*$'`,
  ]),
  sample('accepts a time of validity', user({ expired: { begin: MORNING, end: NOON } })),
  sample('accepts a validity with an end only', user({ expired: { end: NOON } })),
  sample('refuses a validity that ends before it begins', user({ expired: { begin: NOON, end: '2026-01-01T12:30:00+01:00' } }), [
    'spec.expired: Invalid value: begin must lie before end',
  ]),
  sample('refuses a day that does not exist', user({ expired: { end: '2026-02-30T00:00:00Z' } }), [
    'spec.expired.end: Invalid value: "2026-02-30T00:00:00Z": spec.expired.end in body must be of type date-time: "2026-02-30T00:00:00Z"',
    BLOCKED,
  ]),
  sample('refuses a time without a zone', user({ expired: { end: '2026-02-01T00:00:00' } }), [
    'spec.expired.end: Invalid value: "2026-02-01T00:00:00": spec.expired.end in body must be of type date-time: "2026-02-01T00:00:00"',
    BLOCKED,
  ]),
  sample('refuses an unknown state', user({ state: 'asleep' }), [
    'spec.state: Unsupported value: "asleep": supported values: "active", "inactive"',
    BLOCKED,
  ]),
  sample('refuses text where a boolean belongs', user({ is_disabled: 'yes' }), [
    'spec.is_disabled: Invalid value: "string": spec.is_disabled in body must be of type boolean: "string"',
    BLOCKED,
  ]),
  sample('refuses a number where text belongs', user({ username: 7 }), [
    'spec.username: Invalid value: "integer": spec.username in body must be of type string: "integer"',
    BLOCKED,
  ]),
  sample('refuses a list where an object belongs', user({ expired: [] }), [
    'spec.expired: Invalid value: "array": spec.expired in body must be of type object: "array"',
    BLOCKED,
  ]),
  sample('takes null for absent', user({ mail: null, state: null })),
  sample('keeps fields of third parties', user({ extra: { team: { size: 3 } } })),
  sample(
    'accepts linked identities',
    user({
      ids: [
        { type: 'ldap', id: '1' },
        { type: 'ldap', id: '2' },
      ],
    }),
  ),
  sample(
    'refuses the same linked identity twice',
    user({
      ids: [
        { type: 'ldap', id: '1' },
        { type: 'ldap', id: '1' },
      ],
    }),
    ['spec.ids[1]: Duplicate value: {"id":"1","type":"ldap"}'],
  ),
  sample('refuses half a linked identity', user({ ids: [{ type: 'ldap' }] }), ['spec.ids[0].id: Required value', BLOCKED]),
  sample('refuses too many linked identities', user({ ids: Array.from({ length: 17 }, (_, at) => ({ type: 'ldap', id: `${at}` })) }), [
    'spec.ids: Too many: 17: must have at most 16 items',
    BLOCKED,
  ]),

  sample('refuses a number where a time belongs', user({ expired: { end: 7 } }), [
    'spec.expired.end: Invalid value: "integer": spec.expired.end in body must be of type string: "integer"',
    BLOCKED,
  ]),
];
