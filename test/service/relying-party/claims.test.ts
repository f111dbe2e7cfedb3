import type { StatusError } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import { expect } from 'chai';
import { claimedGroups, completed, connectorOf, identityOf, isIncomplete, loginOf, usedClaims } from '../../../src/issuer/claims.ts';

const issuer = 'https://issuer.example/tenant';
const claims = (differing: Record<string, unknown> = {}): VerifiedClaims => ({
  iss: issuer,
  sub: 'jane-1',
  exp: 2_000_000_000,
  iat: 1_900_000_000,
  email: 'jane@example.com',
  email_verified: true,
  groups: ['dev', 'oncall'],
  ...differing,
});
const rules = (differing: Record<string, string> = {}, extClaims: string[] = ['name', 'locale']) => ({
  issuer,
  claims: { username: 'email', groups: 'groups', groupsPrefix: '', ...differing },
  extClaims,
});

function refusal(attempt: () => unknown): number | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    return (error as StatusError).status.code;
  }
}

describe('the user name that claims give', () => {
  for (const [what, { given, rule, name }] of Object.entries({
    'the email, without a prefix': { given: {}, rule: {}, name: 'jane@example.com' },
    'another claim, with the issuer before it': { given: {}, rule: { username: 'sub' }, name: `${issuer}#jane-1` },
    'another claim and an empty prefix, as the API server takes it': {
      given: {},
      rule: { username: 'sub', usernamePrefix: '' },
      name: `${issuer}#jane-1`,
    },
    'another claim and the prefix "-"': { given: {}, rule: { username: 'sub', usernamePrefix: '-' }, name: 'jane-1' },
    'the email with a prefix': { given: {}, rule: { usernamePrefix: 'oidc:' }, name: 'oidc:jane@example.com' },
    'an email of which nobody says whether it is verified': { given: { email_verified: undefined }, rule: {}, name: 'jane@example.com' },
    'another claim, whatever the email is': {
      given: { email_verified: false },
      rule: { username: 'sub', usernamePrefix: '-' },
      name: 'jane-1',
    },
  })) {
    it(`is ${what}`, () => expect(identityOf(claims(given), rules(rule)).name).to.equal(name));
  }

  for (const [what, { given, rule }] of Object.entries({
    'an email that is not verified': { given: { email_verified: false }, rule: {} },
    'an email with a word for whether it is verified': { given: { email_verified: 'true' }, rule: {} },
    'no email': { given: { email: undefined }, rule: {} },
    'an empty email': { given: { email: '' }, rule: {} },
    'a list of emails': { given: { email: ['jane@example.com'] }, rule: {} },
    'a name of Kubernetes itself': { given: { user: 'system:admin' }, rule: { username: 'user', usernamePrefix: '-' } },
    'a name that the prefix makes one of Kubernetes itself': {
      given: { user: 'admin' },
      rule: { username: 'user', usernamePrefix: 'system:' },
    },
    'a name with a line break': { given: { user: 'jane\r\nImpersonate-Group: x' }, rule: { username: 'user', usernamePrefix: '-' } },
    'a name that is longer than a record keeps': { given: { user: 'x'.repeat(513) }, rule: { username: 'user', usernamePrefix: '-' } },
  })) {
    it(`is refused for ${what}`, () => expect(refusal(() => identityOf(claims(given), rules(rule)))).to.equal(401));
  }
});

describe('the groups that claims give', () => {
  const groupsOf = (groups: unknown, rule: Record<string, string> = {}) => identityOf(claims({ groups }), rules(rule)).groups;

  it('keep their order, once each, with the prefix', () => {
    expect(groupsOf(['b', 'a', 'b'], { groupsPrefix: 'oidc:' })).to.deep.equal(['oidc:b', 'oidc:a']);
  });

  it('are a list of one for a text, and an empty one for none', () => {
    expect(groupsOf('dev')).to.deep.equal(['dev']);
    expect(groupsOf(undefined)).to.deep.equal([]);
  });

  it('are never those of Kubernetes itself, whatever the prefix makes of them', () => {
    expect(groupsOf(['system:masters', 'dev'])).to.deep.equal(['dev']);
    expect(groupsOf(['masters'], { groupsPrefix: 'system:' })).to.deep.equal([]);
  });

  it('are never those that are kept here, unless the embedded issuer tells them, which have no prefix', () => {
    const given = { groups: ['local:dev', 'dev', 'local:'] };
    expect(groupsOf(given.groups)).to.deep.equal(['dev']);
    expect(groupsOf(given.groups, { groupsPrefix: 'oidc:' })).to.deep.equal(['oidc:dev']);
    expect(groupsOf(['al:dev', 'ops'], { groupsPrefix: 'loc' })).to.deep.equal(['locops']);
    expect(groupsOf('dev', { groupsPrefix: 'local:' })).to.deep.equal([]);
    const embedded = (rule = {}) => ({ ...rules(rule), isEmbedded: true });
    expect(identityOf(claims(given), embedded()).groups).to.deep.equal(['dev', 'local:dev', 'local:']);
    expect(identityOf(claims(given), embedded({ groupsPrefix: 'oidc:' })).groups).to.deep.equal(['oidc:dev', 'local:dev', 'local:']);
    expect(claimedGroups(claims(given), embedded()).plain).to.deep.equal(['dev']);
  });

  it('are left out where no header could carry them, with the prefix or without', () => {
    expect(groupsOf(['a\nb', 'x'.repeat(254), '', 'dev'])).to.deep.equal(['dev']);
    expect(groupsOf([' dev', 'dev ', 'x\u0085', 'x\ud800', 'ops'])).to.deep.equal(['ops']);
    expect(groupsOf([' ops'], { groupsPrefix: 'oidc:' })).to.deep.equal([]);
  });

  it('are all that the token tells, more than a record keeps', () => {
    expect(groupsOf(Array.from({ length: 600 }, (_, index) => `group-${index}`))).to.have.length(600);
  });

  it('are refused if they are not a list of strings', () => {
    for (const groups of [{ dev: true }, [1], 7, [['dev']]]) expect(refusal(() => groupsOf(groups))).to.equal(401);
  });

  it('stand in the record without the prefix', () => {
    expect(claimedGroups(claims(), rules({ groupsPrefix: 'oidc:' })).plain).to.deep.equal(['dev', 'oncall']);
  });
});

describe('the login string that names a record', () => {
  it('is the email, else the user name', () => {
    expect(loginOf(claims(), rules({ username: 'sub' }))).to.equal('jane@example.com');
    expect(loginOf(claims({ email: undefined }), rules({ username: 'sub' }))).to.equal('jane-1');
    // Such a token names no user (`identityOf`), and its sub is no other user's.
    expect(loginOf(claims({ email: undefined }), rules())).to.equal('jane-1');
  });

  it('is never an email that is not verified', () => {
    expect(loginOf(claims({ email_verified: false }), rules({ username: 'sub' }))).to.equal('jane-1');
    expect(refusal(() => loginOf(claims({ email_verified: false }), rules()))).to.equal(401);
  });

  it('is refused if no record can have it', () => {
    for (const email of ['a@b@c', 'jane@exämple.com', '../x', 'a b', 7]) {
      expect(
        refusal(() => loginOf(claims({ email }), rules())),
        String(email),
      ).to.equal(401);
    }
  });
});

describe('claims that are kept', () => {
  it('are those with a use, and nothing deep or large', () => {
    const given = claims({ name: 'Jane', locale: { deep: [[[]]] }, picture: 'x', address: {}, sid: 'y'.repeat(3000), nonce: 'n' });
    expect(Object.keys(usedClaims(given, rules())).sort()).to.deep.equal(
      ['email', 'email_verified', 'exp', 'groups', 'iat', 'iss', 'name', 'sub'].sort(),
    );
  });

  it('are completed from userinfo, which changes none that is there', () => {
    const { email: _email, email_verified: _isVerified, ...token } = claims();
    expect(isIncomplete(token, rules())).to.equal(true);
    const whole = completed(token, { sub: 'other', email: 'jane@example.com', groups: ['admins'], iss: 'x', exp: 9 }, rules());
    expect(whole).to.deep.include({ sub: 'jane-1', iss: issuer, exp: 2_000_000_000, email: 'jane@example.com', groups: ['dev', 'oncall'] });
    expect(isIncomplete(whole, rules())).to.equal(false);
  });
});

describe('the source of a person', () => {
  it('is the prefix of the issuer, but never the local prefix for an outside issuer', () => {
    const federated = (connector_id: string) => claims({ federated_claims: { connector_id, user_id: 'j' } });
    const outside = { isEmbedded: false, directories: [] };
    const own = { isEmbedded: true, directories: [{ id: 'corp', name: 'Corporation' }] };
    expect(connectorOf(federated('github'), outside)).to.deep.equal({
      connector: { type: 'oidc', id: 'github', name: 'github' },
      sourceID: { type: 'github', id: 'j' },
    });
    expect(connectorOf(federated('local'), outside).connector.id).to.equal('oidc');
    expect(connectorOf(claims(), outside).sourceID).to.deep.equal({ type: 'oidc', id: 'jane-1' });
    expect(connectorOf(federated('github'), own)).to.deep.equal({
      connector: { type: 'local', id: 'local', name: 'Local' },
    });
    expect(connectorOf(federated('corp'), { ...own, isEmbedded: false }).connector.type).to.equal('oidc');
    expect(connectorOf(federated('corp'), own)).to.deep.equal({ connector: { type: 'ldap', id: 'corp', name: 'Corporation' } });
  });
});
