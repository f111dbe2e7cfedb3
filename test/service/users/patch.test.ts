import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import type { Person } from '../../support/api-server.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf, type UserParts } from './a-user.ts';

interface User {
  metadata: { name: string; uid: string; resourceVersion: string; labels: Record<string, string> };
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}
interface Status {
  message: string;
  reason: string;
  details?: { causes?: { reason: string; field: string }[] };
}

const users = '/apis/auth.platform.io/v1/users';
const old = 'an old but long password';
const fresh = 'a fresh and long password';

describe('PATCH /auth/v1/users/{name}', () => {
  const server = forSuite(() => startServer());
  let hash: string;

  before(async () => {
    hash = await cheapPasswords().hash(old);
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  const read = async (email: string) => (await server.kubernetes.call('GET', `${users}/${nameOf(email)}`)).body as User;
  /** Creates a user with a password, and waits until the service has it. */
  const aPerson = async (email: string, parts: UserParts = {}) => {
    await server.kubernetes.apply(aUser(email, parts));
    const { metadata } = await read(email);
    await server.kubernetes.apply(passwordSecret({ user: metadata, namespace: serviceNamespace, hash, changedAt: new Date() }));
    await eventually(
      () => server.request(`/auth/v1/users/${metadata.name}`, { as: 'admin' }),
      ({ status }) => status === 200,
    );
  };
  const patch = (
    email: string,
    body: unknown,
    {
      as = 'manager',
      type = 'application/merge-patch+json',
      query = '',
      ...headers
    }: { as?: Person; type?: string; query?: string; 'If-Match'?: string } = {},
  ) =>
    server.request(`/auth/v1/users/${nameOf(email)}${query}`, { method: 'PATCH', as, body, headers: { 'Content-Type': type, ...headers } });
  const fieldsOf = async (response: Response) =>
    ((await response.json()) as Status).details?.causes?.map(({ reason, field }) => `${field} ${reason}`);

  it('S11 refuses a display name that holds another address, zero-width or direction characters', async () => {
    const email = 'shown@example.com';
    await aPerson(email, { username: 'Shown Before' });
    for (const username of ['admin@example.com', 'Jane (admin@example.com)', 'Ja\u200bne', '\u202eenaJ', 'Jane\u2060', 'Jane\u{e0041}']) {
      const refused = await patch(email, { spec: { username } });
      expect(refused.status, JSON.stringify(username)).to.equal(422);
      expect(await fieldsOf(refused)).to.deep.equal(['spec.username FieldValueInvalid']);
      const body = { spec: { email: 'new@example.com', password: fresh, username } };
      const made = await server.request('/auth/v1/users', { method: 'POST', as: 'manager', body });
      expect([made.status, await fieldsOf(made)], JSON.stringify(username)).to.deep.equal([422, ['spec.username FieldValueInvalid']]);
    }
    expect((await read(email)).spec.username).to.equal('Shown Before');
    for (const username of [email.toUpperCase(), 'Zoë Müller-Łuk', '王小明', 'O’Neil (on call)'])
      expect((await patch(email, { spec: { username } })).status, username).to.equal(200);
  });

  it('USR-05 lets people change their own display name, and nothing else', async () => {
    await aPerson('alice@example.com', { subjectName: 'alice' });
    const response = await patch('alice@example.com', { spec: { username: 'Alice A.' } }, { as: 'alice' });
    expect(response.status, await response.clone().text()).to.equal(200);
    const user = (await response.json()) as User;
    expect(user.spec.username).to.equal('Alice A.');
    expect(response.headers.get('etag')).to.equal(`"${user.metadata.resourceVersion}"`);

    const before = (await read('alice@example.com')).spec;
    for (const spec of [
      { is_admin: true },
      { state: 'inactive' },
      { valid: true },
      { connector_type: 'ldap' },
      { groups: ['x'] },
      { is_disabled: true },
      { mail: 'a@b' },
      { expired: null },
      { continuity_errors: 0 },
      { email: 'other@example.com' },
      { ids: [] },
      { extra: {} },
      { unheard_of: true },
    ]) {
      const refused = await patch('alice@example.com', { spec: { username: 'Mallory', ...spec } }, { as: 'alice' });
      expect(refused.status, JSON.stringify(spec)).to.equal(403);
    }
    const both = await patch('alice@example.com', { spec: { password: fresh, old_password: old, is_admin: true } }, { as: 'alice' });
    expect(both.status).to.equal(403);
    const { spec, status } = await read('alice@example.com');
    expect(spec).to.deep.equal(before);
    expect(status).not.to.have.any.keys('sessionsNotBefore', 'passwordChangedTime');
    const own = await patch('alice@example.com', { spec: { username: 'A.', password: fresh, old_password: old } }, { as: 'alice' });
    expect(own.status, await own.text()).to.equal(200);
  });

  it('K6 tells an administrator to have another administrator change the own account', async () => {
    await aPerson('boss@example.com', { is_admin: true, subjectName: 'admin' });
    for (const spec of [{ is_disabled: false }, { is_disabled: true }, { expired: null }]) {
      const refused = await patch('boss@example.com', { spec }, { as: 'admin' });
      const { reason, details } = (await refused.json()) as Status & { reason: string };
      expect([refused.status, reason, details?.causes]).to.deep.equal([
        403,
        'Forbidden',
        [{ reason: 'OwnRecord', message: 'your own account is disabled, enabled or unlocked by another administrator' }],
      ]);
    }
    // USR-06 needs a last administrator.
    await server.kubernetes.call('DELETE', `${users}/${nameOf('boss@example.com')}`);
  });

  it('refuses members that no caller may set here, with every violation at once', async () => {
    await aPerson('rules@example.com');
    const response = await patch('rules@example.com', {
      spec: { is_admin: true, email: 'x', username: '', mobile: 'call', password: 'x7#kQ' },
      status: {},
    });
    expect(response.status).to.equal(422);
    expect(await fieldsOf(response)).to.have.members([
      'spec.is_admin FieldValueForbidden',
      'spec.email FieldValueForbidden',
      'spec.username FieldValueInvalid',
      'spec.mobile FieldValueInvalid',
      'spec.password FieldValueInvalid',
      'status FieldValueForbidden',
    ]);
    expect((await patch('rules@example.com', { spec: { emial: 'x' } })).status).to.equal(400);
    expect((await patch('rules@example.com', { metadata: { name: 'other' } })).status).to.equal(400);
    expect((await patch('rules@example.com', '<user/>', { type: 'text/xml' })).status).to.equal(415);
    expect((await patch('rules@example.com', {})).status).to.equal(200);
  });

  it('takes every form of a patch', async () => {
    await aPerson('forms@example.com');
    for (const type of ['application/merge-patch+json', 'application/strategic-merge-patch+json', 'application/json'])
      expect((await patch('forms@example.com', { spec: { username: type } }, { type })).status, type).to.equal(200);
    const operations = [
      { op: 'test', path: '/spec/username', value: 'application/json' },
      { op: 'replace', path: '/spec/username', value: 'By JSON Patch' },
      { op: 'add', path: '/spec/expired', value: { end: '2030-01-01T00:00:00Z' } },
    ];
    const type = 'application/json-patch+json';
    expect((await patch('forms@example.com', operations, { type })).status).to.equal(200);
    expect((await read('forms@example.com')).spec).to.deep.include({ username: 'By JSON Patch', expired: { end: '2030-01-01T00:00:00Z' } });
    expect((await patch('forms@example.com', operations, { type })).status).to.equal(422);
    expect((await patch('forms@example.com', [{ op: 'remove', path: '/spec/expired' }], { type })).status).to.equal(422);
    expect((await patch('forms@example.com', { op: 'add' }, { type })).status).to.equal(400);
    expect((await patch('forms@example.com', { spec: { expired: null } })).status).to.equal(200);
    expect((await read('forms@example.com')).spec).not.to.have.property('expired');
  });

  it('USR-15 refuses a version that is not current', async () => {
    await aPerson('versions@example.com');
    // The controller writes the status of a new record.
    const { resourceVersion, status } = await eventually(
      async () => {
        const { resourceVersion } = (await read('versions@example.com')).metadata;
        const { status } = await patch('versions@example.com', { spec: { username: 'One' } }, { 'If-Match': `"${resourceVersion}"` });
        return { resourceVersion, status };
      },
      (tried) => tried.status !== 409,
    );
    expect(status).to.equal(200);
    const stale = [
      await patch('versions@example.com', { spec: { username: 'Two' } }, { 'If-Match': `"${resourceVersion}"` }),
      await patch('versions@example.com', { metadata: { resourceVersion }, spec: { username: 'Two' } }),
    ];
    for (const response of stale) expect(response.status).to.equal(409);
    expect((await read('versions@example.com')).spec.username).to.equal('One');
  });

  it('USR-15 loses no update that two replicas make at once', async () => {
    await aPerson('both@example.com');
    const replica = await server.replica();
    const change = (at: string, spec: Record<string, unknown>, version?: string) =>
      server.request(`/auth/v1/users/${nameOf('both@example.com')}`, {
        method: 'PATCH',
        as: 'manager',
        at,
        body: { ...(version && { metadata: { resourceVersion: version } }), spec },
        headers: { 'Content-Type': 'application/merge-patch+json' },
      });
    try {
      for (let round = 0; round < 5; round += 1) {
        const fields = { username: `Name ${round}`, mobile: `+49 ${round}`, mail: `${round}@example.com`, account: `account-${round}` };
        const answers = await Promise.all(
          Object.entries(fields).map(([field, value], index) => change(index % 2 ? replica.url : server.url, { [field]: value })),
        );
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
        expect((await read('both@example.com')).spec).to.include(fields);

        // The patches have the same version: one succeeds, or none if the controller has written the status meanwhile.
        const { metadata, spec } = await read('both@example.com');
        const rivals = await Promise.all(
          [server.url, replica.url].map((at, index) => change(at, { username: `Rival ${round} ${index}` }, metadata.resourceVersion)),
        );
        const winners = rivals.flatMap(({ status }, index) => (status === 200 ? [`Rival ${round} ${index}`] : []));
        expect(winners.length).to.be.lessThan(2);
        expect(rivals.filter(({ status }) => status === 409)).to.have.length(2 - winners.length);
        expect((await read('both@example.com')).spec.username).to.equal(winners[0] ?? spec.username);
      }
    } finally {
      await replica.stop();
    }
  });

  it('USR-07 changes the password of the caller with the old one, and ends tokens issued before', async () => {
    await aPerson('bob@example.com', { subjectName: 'bob' });
    const missing = await patch('bob@example.com', { spec: { password: fresh } }, { as: 'bob' });
    expect([missing.status, await fieldsOf(missing)]).to.deep.equal([422, ['spec.old_password FieldValueRequired']]);
    const wrong = await patch('bob@example.com', { spec: { password: fresh, old_password: 'wrong' } }, { as: 'bob' });
    expect([wrong.status, await fieldsOf(wrong)]).to.deep.equal([422, ['spec.old_password FieldValueInvalid']]);
    expect((await read('bob@example.com')).status.failedLogins).to.equal(1);
    const same = await patch('bob@example.com', { spec: { password: old, old_password: old } }, { as: 'bob' });
    expect([same.status, await fieldsOf(same)]).to.deep.equal([422, ['spec.password FieldValueInvalid']]);

    const before = Date.now();
    const response = await patch('bob@example.com', { spec: { password: fresh, old_password: old } }, { as: 'bob' });
    expect(response.status, await response.clone().text()).to.equal(200);
    expect(await response.text()).not.to.contain(fresh);
    const { status } = await read('bob@example.com');
    expect(Date.parse(String(status.sessionsNotBefore))).to.be.within(before, Date.now());
    expect(status).to.include({ mustChangePassword: false });
    expect(status).not.to.have.property('failedLogins');
    const again = await patch('bob@example.com', { spec: { password: `${fresh}!`, old_password: old } }, { as: 'bob' });
    expect(again.status).to.equal(422);
    expect((await patch('bob@example.com', { spec: { password: `${fresh}!`, old_password: fresh } }, { as: 'bob' })).status).to.equal(200);
  });

  it('answers a locked user’s right password like a wrong one', async () => {
    await aPerson('carol@example.com', { subjectName: 'carol' });
    const guess = (old_password: string) => patch('carol@example.com', { spec: { password: fresh, old_password } }, { as: 'carol' });
    for (let time = 0; time < 5; time += 1) expect((await guess('wrong')).status).to.equal(422);
    const wrong = await guess('wrong');
    const right = await guess(old);
    expect([right.status, await right.text()]).to.deep.equal([wrong.status, await wrong.text()]);
  });

  it('lets permitted callers reset a password, which the user must then change', async () => {
    await aPerson('reset@example.com');
    expect((await patch('reset@example.com', { spec: { password: old } })).status).to.equal(422);
    expect((await patch('reset@example.com', { spec: { password: fresh } }, { as: 'viewer' })).status).to.equal(403);
    expect((await patch('reset@example.com', { spec: { password: fresh } })).status).to.equal(200);
    expect((await read('reset@example.com')).status).to.include({ mustChangePassword: true });
  });

  it('USR-06 protects administrators and users with roles from callers who may only edit users', async () => {
    await aPerson('root@example.com', { is_admin: true });
    for (const spec of [{ password: fresh }, { is_disabled: true }, { expired: { end: '2020-01-01T00:00:00Z' } }])
      expect((await patch('root@example.com', { spec })).status, JSON.stringify(spec)).to.equal(403);
    const last = await patch('root@example.com', { spec: { is_disabled: true } }, { as: 'admin' });
    expect(last.status).to.equal(409);
    expect((await read('root@example.com')).spec.is_disabled).not.to.equal(true);

    await aPerson('bound@example.com', { groups: ['ops'] });
    await server.kubernetes.apply(clusterRoleBinding('ops-view', 'view', { kind: 'Group', name: 'ops' }));
    await eventually(
      () => patch('bound@example.com', { spec: { password: fresh } }, { query: '?dryRun=All' }),
      ({ status }) => status === 403,
    );
    expect((await patch('bound@example.com', { spec: { username: 'B' } })).status).to.equal(200);
  });

  it('switches users off and on again', async () => {
    await aPerson('off@example.com');
    expect((await patch('off@example.com', { spec: { is_disabled: true } })).status).to.equal(200);
    const off = await read('off@example.com');
    expect(off.spec).to.include({ is_disabled: true, state: 'inactive' });
    expect(off.status).to.include({ phase: 'Disabled', reason: 'ByHand' });
    expect(off.status).to.have.property('sessionsNotBefore');
    expect(off.metadata.labels).to.include({ 'auth.platform.io/user.state': 'inactive' });
    await patch('off@example.com', { spec: { expired: { end: '2020-01-01T00:00:00Z' } } });
    const response = await patch('off@example.com', { spec: { is_disabled: false } });
    expect(response.status).to.equal(200);
    const on = await read('off@example.com');
    expect(on.spec).not.to.have.property('expired');
    expect(on.status).to.include({ phase: 'Normal' }).and.to.have.property('activatedTime');
  });

  it('changes nothing on a dry run, and checks permissions first, so that existence does not leak', async () => {
    await aPerson('dry@example.com');
    const dry = await patch('dry@example.com', { spec: { username: 'Dry' } }, { query: '?dryRun=All' });
    expect([dry.status, ((await dry.json()) as User).spec.username]).to.deep.equal([200, 'Dry']);
    expect((await read('dry@example.com')).spec.username).to.equal('dry@example.com');
    for (const email of ['dry@example.com', 'missing@example.com'])
      expect((await patch(email, { spec: { username: 'X' } }, { as: 'nobody' })).status).to.equal(403);
    expect((await patch('missing@example.com', { spec: { username: 'X' } })).status).to.equal(404);
  });

  it('LIM-09 compares no password on a dry run, and counts nothing', async () => {
    await aPerson('probed@example.com', { subjectName: 'nobody' });
    const dry = (spec: object, as: Person) => patch('probed@example.com', { spec }, { as, query: '?dryRun=All' });
    const answer = async (response: Response) => [response.status, await response.text()];
    // The answers include the fields that the controller writes on a new user, so it must have written them.
    const before = await eventually(
      () => read('probed@example.com'),
      ({ metadata, status }) => metadata.labels !== undefined && status?.observedGeneration !== undefined,
    );
    const right = await answer(await dry({ password: fresh, old_password: old }, 'nobody'));
    for (let time = 0; time < 6; time += 1)
      expect(await answer(await dry({ password: fresh, old_password: `guess ${time}` }, 'nobody'))).to.deep.equal(right);
    expect(right[0]).to.equal(200);
    // Callers who may set the password learn no more: the answer does not depend on the current password.
    expect(await answer(await dry({ password: old }, 'manager'))).to.deep.equal(await answer(await dry({ password: fresh }, 'manager')));
    expect(await read('probed@example.com')).to.deep.equal(before);

    expect(await fieldsOf(await dry({ password: fresh }, 'nobody'))).to.deep.equal(['spec.old_password FieldValueRequired']);
    expect(await fieldsOf(await dry({ password: 'brief!7', old_password: old }, 'nobody'))).to.deep.equal([
      'spec.password FieldValueInvalid',
    ]);
    expect(await fieldsOf(await dry({ password: fresh, old_password: fresh }, 'nobody'))).to.deep.equal([
      'spec.password FieldValueInvalid',
    ]);
  });

  it('leaves the passwords of users of other sources alone', async () => {
    await server.kubernetes.apply({
      ...aUser('ldap@example.com'),
      spec: { ...(aUser('ldap@example.com').spec as object), connector_type: 'ldap', connector_id: 'corp' },
    });
    const response = await patch('ldap@example.com', { spec: { password: fresh } });
    expect([response.status, await fieldsOf(response)]).to.deep.equal([422, ['spec.password FieldValueForbidden']]);
  });
});
