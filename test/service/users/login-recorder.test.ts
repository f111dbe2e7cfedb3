import { hash } from 'node:crypto';
import { isRecord } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import type { Login, Recorded } from '../../../src/users/logins/recorder.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aUser, nameOf } from './a-user.ts';
import { never, type Replica, Replicas } from './replicas.ts';

const definition = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/users.auth.platform.io';

const aLogin = (login: string, parts: Partial<Login> = {}): Login => ({
  login,
  displayName: 'Jane Doe',
  connector: { type: 'oidc', id: 'corp', name: 'Corporate' },
  sourceID: { type: 'oidc', id: 'subject-1' },
  groups: ['dev'],
  subjectName: login,
  ...parts,
});
const reasonOf = (recorded: Recorded) => (recorded.outcome === 'refused' ? recorded.reason : recorded.outcome);

describe('the record of a login', () => {
  const replicas = forSuite(() => Replicas.start());
  let first: Replica;
  let second: Replica;

  const spec = async (name: string) => {
    const user = await replicas.user(name);
    return isRecord(user?.spec) ? user.spec : {};
  };

  before(async () => {
    [first, second] = await Promise.all([replicas.replica(), replicas.replica()]);
  });
  beforeEach(() => {
    replicas.time = undefined;
  });

  it('is made for a new user, under the name of the name rule, with labels, groups and times', async () => {
    const name = nameOf('jane@example.com');
    replicas.time = new Date('2026-11-21T12:00:00.500Z');

    const recorded = await first.recorder.record(aLogin('Jane@Example.com', { groups: ['dev', 'system:masters', 'dev', ''] }), never);

    expect(recorded).to.have.nested.property('account.name', name);
    expect(first.accounts.get(name)).to.deep.equal(recorded.outcome === 'recorded' && recorded.account);
    const user = await replicas.user(name);
    expect(user?.spec).to.deep.include({
      email: 'Jane@Example.com',
      username: 'Jane Doe',
      connector_type: 'oidc',
      connector_id: 'corp',
      connector_name: 'Corporate',
      is_admin: false,
      ids: [{ type: 'oidc', id: 'subject-1' }],
    });
    expect(user?.status).to.deep.equal({
      groups: ['dev'],
      subjectName: 'Jane@Example.com',
      lastLoginTime: '2026-11-21T12:00:00Z',
      activatedTime: '2026-11-21T12:00:00Z',
      phase: 'Normal',
      observedGeneration: 1,
    });
    expect(user?.metadata.labels).to.deep.equal({
      'auth.platform.io/user.email': name,
      'auth.platform.io/user.username': hash('sha256', 'Jane Doe').slice(0, 32),
      'auth.platform.io/user.connector_id': 'corp',
      'auth.platform.io/user.connector_type': 'oidc',
      'auth.platform.io/user.state': 'active',
      'auth.platform.io/user.valid': 'true',
    });
    expect(user?.metadata.annotations).to.include({ 'auth.platform.io/created-by': 'login' });
  });

  it('is updated by the next login, which keeps the display name and fields of other writers', async () => {
    const name = nameOf('bea@example.com');
    await replicas.kubernetes.apply(aUser('bea@example.com', { username: 'Bea', account: 'bea', labels: { team: 'a' }, groups: ['old'] }));

    const recorded = await first.recorder.record(aLogin('bea@example.com', { displayName: 'Other', groups: ['new', 'newer'] }), never);

    expect(reasonOf(recorded)).to.equal('recorded');
    expect(await spec(name)).to.deep.include({ username: 'Bea', account: 'bea', connector_type: 'oidc', connector_id: 'corp' });
    expect(await replicas.userStatus(name))
      .to.deep.include({ groups: ['new', 'newer'], phase: 'Normal' })
      .and.not.have.property('activatedTime');
    expect((await replicas.user(name))?.metadata.labels).to.include({ team: 'a', 'auth.platform.io/user.connector_id': 'corp' });
  });

  it('is one when a new user logs in many times at once on two replicas', async () => {
    const name = nameOf('many@example.com');
    const logins = Array.from({ length: 12 }, (_, index) =>
      (index % 2 ? first : second).recorder.record(
        aLogin('many@example.com', { sourceID: { type: 'oidc', id: `subject-${index}` } }),
        never,
      ),
    );

    const recorded = await Promise.all(logins);

    expect(recorded.map(reasonOf)).to.deep.equal(Array.from({ length: 12 }, () => 'recorded'));
    expect((await spec(name)).ids).to.have.length(12);
    expect(new Set(recorded.map((one) => (one.outcome === 'recorded' ? one.account.uid : '')))).to.have.property('size', 1);
  });

  it('REC-07 belongs to one of many subjects of an issuer that log in at once on two replicas', async () => {
    const subjects = Array.from({ length: 12 }, (_, index) => ({ issuer: 'https://issuer.example.com', sub: `subject-${index}` }));
    const recorded = await Promise.all(
      subjects.map((subject, index) =>
        (index % 2 ? first : second).recorder.record(aLogin('taken@example.com', { subject: { ...subject, mayAdopt: true } }), never),
      ),
    );

    const reasons = recorded.map(reasonOf);
    expect(reasons.filter((reason) => reason === 'SubjectDiffers')).to.have.length(11);
    const winner = subjects[reasons.indexOf('recorded')];
    expect(await replicas.userStatus(nameOf('taken@example.com'))).to.have.deep.property('subjects', [winner]);
  });

  it('keeps sixteen linked identities, the newest', async () => {
    for (let count = 0; count < 18; count += 1)
      await first.recorder.record(aLogin('links@example.com', { sourceID: { type: 'oidc', id: `subject-${count}` } }), never);

    const { ids } = await spec(nameOf('links@example.com'));
    expect(ids).to.have.length(16);
    expect(ids).to.deep.include({ type: 'oidc', id: 'subject-17' }).and.not.deep.include({ type: 'oidc', id: 'subject-1' });
  });

  it('keeps only as much of the claims as a record can hold', async () => {
    const recorded = await first.recorder.record(
      aLogin('huge@example.com', {
        displayName: '💡'.repeat(500),
        connector: { type: 'Odd Type', id: 'an id with spaces', name: 'n'.repeat(500) },
        sourceID: { type: 'oidc', id: 'x'.repeat(4096) },
        groups: ['g'.repeat(300), ...Array.from({ length: 10_000 }, (_, index) => `group-${index}`)],
      }),
      never,
    );

    expect(recorded).to.have.nested.property('account.groups').with.length(512);
    expect(await spec(nameOf('huge@example.com')))
      .to.include({ username: '💡'.repeat(128), connector_type: 'oidc' })
      .and.not.have.property('ids');
  });

  it('is refused for a name that is not a login string', async () => {
    for (const login of ['', 'a@x@corp', '../x', 'jаne@example.com', 'with space', 'x'.repeat(254)])
      expect(reasonOf(await first.recorder.record(aLogin(login), never)), login).to.equal('NotALogin');
  });

  it('is refused when the record of that name has another email', async () => {
    const name = nameOf('mine@example.com');
    await replicas.kubernetes.apply(aUser('other@example.com', { name }));

    expect(reasonOf(await first.recorder.record(aLogin('mine@example.com'), never))).to.equal('EmailDiffers');
    expect(await replicas.userStatus(name)).not.to.have.property('lastLoginTime');
  });

  it('is refused for a user who may not log in, and does not activate an idle user', async () => {
    await replicas.kubernetes.apply(aUser('off@example.com', { is_disabled: true }), aUser('idle@example.com'));
    replicas.time = new Date(Date.now() + 91 * 86_400_000);

    const off = await first.recorder.record(aLogin('off@example.com'), never);
    const idle = await first.recorder.record(aLogin('idle@example.com'), never);

    expect(off).to.deep.equal({ outcome: 'refused', reason: 'Phase', phase: { phase: 'Disabled', reason: 'ByHand' } });
    expect(idle).to.deep.equal({ outcome: 'refused', reason: 'Phase', phase: { phase: 'Disabled', reason: 'Idle' } });
    expect(await replicas.userStatus(nameOf('idle@example.com'))).not.to.have.property('lastLoginTime');
  });

  it('is refused for an administrator of the installation from another source', async () => {
    const admin = aUser('root@example.com');
    await replicas.kubernetes.apply({ ...admin, spec: { ...(admin.spec as object), is_admin: true } });

    expect(reasonOf(await first.recorder.record(aLogin('root@example.com'), never))).to.equal('AdministratorIsLocal');
    const local = aLogin('root@example.com', { connector: { type: 'local', id: 'local', name: 'Local' } });
    expect(reasonOf(await first.recorder.record(local, never))).to.equal('recorded');
  });

  it('is not made where users.autoProvision is off', async () => {
    const closed = await replicas.replica({ autoProvision: false });

    expect(reasonOf(await closed.recorder.record(aLogin('new@example.com'), never))).to.equal('NoRecord');
    expect(await replicas.user(nameOf('new@example.com'))).to.equal(undefined);
    expect(reasonOf(await closed.recorder.record(aLogin('bea@example.com'), never))).to.equal('recorded');
  });

  it('REC-03 goes to the record of the name rule, whatever there is under another name', async () => {
    await replicas.kubernetes.apply(aUser('stray@example.com', { name: 'stray' }));

    const recorded = await first.recorder.record(aLogin('stray@example.com'), never);

    expect(recorded).to.have.nested.property('account.name', nameOf('stray@example.com'));
    expect((await replicas.userStatus('stray')).lastLoginTime).to.equal(undefined);
  });

  it('is missing, without an error, if the resource is not installed', async () => {
    await replicas.kubernetes.remove(definition);
    await eventually(
      () => replicas.kubernetes.call('GET', '/apis/auth.platform.io/v1/users'),
      ({ status }) => status === 404,
    );

    expect(await first.recorder.record(aLogin('late@example.com'), never)).to.deep.equal({ outcome: 'no-records' });
  });
});
