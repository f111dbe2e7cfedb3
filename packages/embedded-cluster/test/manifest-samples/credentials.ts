import { DIGITS, MORNING, NOON, type SampleObject, sample } from './sample.ts';

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

export const accessTokens = [
  sample('accepts a token for ever', accessToken()),
  sample('accepts a token with an end', accessToken({ expiration: NOON })),
  sample('refuses a token that ends when it begins', accessToken({ expiration: MORNING }), [
    'spec: Invalid value: the expiration must lie after issuedAt',
  ]),
  sample(
    'refuses to change a token',
    accessToken({ description: 'cd' }),
    ['spec: Invalid value: an access token never changes; delete it and make another'],
    accessToken(),
  ),
  sample('lets the same token be written again', accessToken(), [], accessToken()),
  sample('refuses a secret where its hash belongs', accessToken({ tokenHash: 'secret' }), [
    `spec.tokenHash: Invalid value: "secret": spec.tokenHash in body should match '^[0-9a-f]{64}$'`,
  ]),
];

export const sessions = [
  sample('accepts a session', session()),
  sample('refuses a session of another name', session({}, 'mine'), [
    "<nil>: Invalid value: the name must be s- and the SHA-256 of the cookie's secret",
  ]),
  sample('refuses a session that ends before it begins', session({ expiration: '2026-01-01T07:59:59.999Z' }), [
    'spec: Invalid value: the expiration must lie after createdAt',
  ]),
  sample('lets the sealed tokens be replaced', session({ sealed: 'y', idleExpiration: NOON }), [], session()),
  ...[{ user: 'eve' }, { createdAt: '2026-01-01T08:00:01Z' }, { expiration: '2027-01-01T12:00:00Z' }].map((change) =>
    sample(
      `refuses to change ${Object.keys(change)} of a session`,
      session(change),
      ['spec: Invalid value: user, createdAt and expiration of a session never change'],
      session(),
    ),
  ),
];

export const revokedTokens = [
  sample('accepts a revoked bearer token', revoked()),
  sample('accepts a revoked subject', revoked({ kind: 'Subject', notBefore: MORNING })),
  sample('refuses a revocation of another name', revoked({}, `rt-${DIGITS}`), [
    '<nil>: Invalid value: the name must be rt- and the first 40 digits of a SHA-256',
  ]),
  sample('refuses a subject without notBefore', revoked({ kind: 'Subject' }), [
    'spec: Invalid value: notBefore belongs to a subject or a logout, and to nothing else',
  ]),
  sample('refuses notBefore on a bearer token', revoked({ notBefore: MORNING }), [
    'spec: Invalid value: notBefore belongs to a subject or a logout, and to nothing else',
  ]),
  sample(
    'lets a subject be revoked again, up to a later time',
    revoked({ kind: 'Subject', notBefore: NOON }),
    [],
    revoked({ kind: 'Subject', notBefore: MORNING }),
  ),
  sample(
    'refuses an earlier time',
    revoked({ kind: 'Subject', notBefore: MORNING }),
    ['spec: Invalid value: a revocation never changes, but for a later notBefore of a subject'],
    revoked({ kind: 'Subject', notBefore: NOON }),
  ),
  sample(
    'refuses to change a revoked bearer token',
    revoked({ user: 'eve' }),
    ['spec: Invalid value: a revocation never changes, but for a later notBefore of a subject'],
    revoked(),
  ),
];

export const records = [
  sample('accepts a record of the issuer', record({ uid: 'x', consumedAt: NOON })),
  sample('refuses a record of no model', record({ model: '' }), [
    'spec.model: Invalid value: "": spec.model in body should be at least 1 chars long',
  ]),
];
