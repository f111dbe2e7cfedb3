import { argon2Sync, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { PasswordVerdict } from '../../../src/users/passwords/check.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aUser, nameOf } from './a-user.ts';
import { CountingPasswords, never, type Replica, Replicas } from './replicas.ts';

const right = 'correct horse battery';
const reasonOf = (verdict: PasswordVerdict) => (verdict.outcome === 'ok' ? 'ok' : verdict.reason);
const minutes = (count: number) => count * 60_000;

describe('the password check', () => {
  const replicas = forSuite(() => Replicas.start());
  let first: Replica;
  let second: Replica;
  let hash: string;

  /** From an address of its own, so that only the account counts. */
  const check = async (replica: Replica, email: string, password: string, source: string = randomUUID()) =>
    reasonOf(await replica.passwordCheck.check({ email, password, source, requestId: 'request-1', userAgent: 'test' }, never));
  const person = async (email: string, parts: Parameters<typeof aUser>[1] = {}) => {
    await replicas.kubernetes.apply(aUser(email, parts));
    const { name = nameOf(email) } = parts;
    await replicas.setPassword(name, hash);
    return name;
  };

  before(async () => {
    [first, second] = await Promise.all([replicas.replica(), replicas.replica()]);
    hash = await cheapPasswords().hash(right);
  });
  beforeEach(() => {
    replicas.time = undefined;
  });

  it('accepts the right password in any case of the email, and returns its user', async () => {
    const name = await person('jane@example.com');

    const verdict = await first.passwordCheck.check({ email: 'Jane@Example.com', password: right, source: '10.0.0.1' }, never);

    expect(verdict).to.have.nested.property('account.name', name);
    expect(verdict).to.have.nested.property('account.subjectName', 'jane@example.com');
    expect(await replicas.userStatus(name))
      .to.include({ phase: 'Normal' })
      .and.not.have.any.keys('failedLogins', 'lockedUntil');
  });

  it('counts a wrong one on the record and in the audit trail, without the typed password', async () => {
    const name = await person('amy@example.com');

    expect(await check(first, 'amy@example.com', 'wrong-canary')).to.equal('WrongPassword');

    expect(await replicas.userStatus(name)).to.include({ failedLogins: 1, phase: 'Normal' });
    expect(first.auditLines.at(-1)).to.include({
      audit: 'LoginFailed',
      target: name,
      outcome: 'failure',
      reason: 'WrongPassword',
      requestId: 'request-1',
      userAgent: 'test',
    });
    expect(await replicas.events(name, 1)).to.have.nested.property('[0].reason', 'LoginFailed');
    expect(JSON.stringify([first.auditLines, first.logLines])).not.to.contain('wrong-canary');
  });

  it('logs nothing of the text in place of an email', async () => {
    for (const typed of ['my-canary-password', 'with spaces canary', 'канарейка']) await check(first, typed, 'x');

    expect(JSON.stringify([first.auditLines, first.logLines])).not.to.match(/canary|канарейка/);
  });

  it('judges no more than five of 200 guesses that come at once on two replicas', async () => {
    const name = await person('target@example.com');
    first.passwords.skipsDummies = true;
    second.passwords.skipsDummies = true;
    const judgedBefore = first.passwords.judged + second.passwords.judged;

    const guesses = Array.from({ length: 200 }, (_, index) => check(index % 2 ? first : second, 'target@example.com', `guess ${index}`));
    const reasons = await Promise.all(guesses);
    first.passwords.skipsDummies = false;
    second.passwords.skipsDummies = false;

    expect(first.passwords.judged + second.passwords.judged - judgedBefore).to.equal(5);
    expect(reasons.filter((reason) => reason === 'WrongPassword')).to.have.length(5);
    expect(reasons.filter((reason) => reason === 'Locked' || reason === 'Contested')).to.have.length(195);
    expect(await replicas.userStatus(name)).to.include({ failedLogins: 5, phase: 'Locked', reason: 'TooManyFailedLogins' });
    const locks = [...first.auditLines, ...second.auditLines].filter(({ audit, target }) => audit === 'UserLocked' && target === name);
    expect(locks).to.have.length(1);
  });

  it('USR-11 keeps the lock for every client, also for the right password, until its time is over', async () => {
    const name = await person('locked@example.com');
    const start = new Date('2026-11-21T12:00:00Z');
    replicas.time = start;
    for (const replica of [first, second, first, second, first])
      expect(await check(replica, 'locked@example.com', 'no')).to.equal('WrongPassword');
    const restarted = await replicas.replica();

    for (const replica of [first, second, restarted]) expect(await check(replica, 'locked@example.com', right)).to.equal('Locked');
    expect(await replicas.userStatus(name)).to.include({ lockedUntil: '2026-11-21T12:20:00Z' });
    replicas.time = new Date(start.getTime() + minutes(20) - 1000);
    expect(await check(second, 'locked@example.com', right)).to.equal('Locked');
    replicas.time = new Date(start.getTime() + minutes(20));
    expect(await check(second, 'locked@example.com', right)).to.equal('ok');
    expect(await replicas.userStatus(name))
      .to.include({ phase: 'Normal' })
      .and.not.have.any.keys('failedLogins', 'lockedUntil', 'reason');
  });

  it('restarts the count after a right password, after a lock, and at the end of the window', async () => {
    const name = await person('again@example.com');
    const start = new Date('2026-11-21T12:00:00Z');
    const failed = async () => (await replicas.userStatus(name)).failedLogins;
    replicas.time = start;
    for (let count = 0; count < 4; count += 1) await check(first, 'again@example.com', 'no');
    expect(await failed()).to.equal(4);

    expect(await check(second, 'again@example.com', right)).to.equal('ok');
    await check(first, 'again@example.com', 'no');
    expect(await failed()).to.equal(1);

    replicas.time = new Date(start.getTime() + minutes(24 * 60));
    await check(first, 'again@example.com', 'no');
    expect(await failed()).to.equal(1);

    for (let count = 0; count < 4; count += 1) await check(first, 'again@example.com', 'no');
    replicas.time = new Date(start.getTime() + minutes(25 * 60));
    expect(await check(first, 'again@example.com', 'no')).to.equal('WrongPassword');
    expect(await failed()).to.equal(1);
  });

  it('accepts all of several right ones that come at once', async () => {
    await person('busy@example.com');

    const verdicts = await Promise.all(
      Array.from({ length: 4 }, (_, index) => check(index % 2 ? first : second, 'busy@example.com', right)),
    );

    expect(verdicts).to.deep.equal(['ok', 'ok', 'ok', 'ok']);
  });

  it('LIM-07 keeps no client waiting for a user who repeatedly sends the right password', async () => {
    await person('greedy@example.com');
    await person('patient@example.com');
    const leaving = new AbortController();
    const ends = { ok: 0, refused: 0, left: 0 };
    // Each from an address of its own: no limit of a network holds them back.
    const greedy = Array.from({ length: 200 }, () =>
      first.passwordCheck.check({ email: 'greedy@example.com', password: right, source: randomUUID() }, leaving.signal).then(
        ({ outcome }) => (ends[outcome] += 1),
        () => (ends.left += 1),
      ),
    );

    expect(await check(first, 'patient@example.com', right)).to.equal('ok');

    const servedBefore = ends.ok;
    leaving.abort(new Error('hung up'));
    await Promise.all(greedy);
    expect(servedBefore).to.be.lessThan(64);
    expect(ends).to.include({ refused: 0 });
    expect(ends.left).to.be.greaterThan(100);
  });

  it('LIM-07 leaves the turns of a user to others when the sender hangs up', async () => {
    await person('gone@example.com');
    const leaving = new AbortController();
    const attempt = { email: 'gone@example.com', password: right, source: 'x' };
    const left = Array.from({ length: 120 }, () =>
      first.passwordCheck.check({ ...attempt, source: randomUUID() }, leaving.signal).then(
        () => 'judged',
        () => 'left',
      ),
    );
    leaving.abort(new Error('hung up'));

    expect(await check(first, 'gone@example.com', right)).to.equal('ok');
    expect((await Promise.all(left)).filter((end) => end === 'judged')).to.have.length.lessThan(20);
  });

  it('refuses users who may not log in, without counting the attempt', async () => {
    const off = await person('off@example.com', { is_disabled: true });
    const gone = aUser('gone@example.com');
    await replicas.kubernetes.apply({ ...gone, spec: { ...(gone.spec as object), valid: false } });
    const remote = aUser('remote@example.com');
    await replicas.kubernetes.apply({ ...remote, spec: { ...(remote.spec as object), connector_type: 'ldap', connector_id: 'corp' } });
    for (const email of ['gone@example.com', 'remote@example.com']) await replicas.setPassword(nameOf(email), hash);
    const judged = first.passwords.judged;

    const reasons = [];
    for (const who of ['off', 'gone', 'remote', 'unknown', '']) reasons.push(await check(first, who && `${who}@example.com`, right));

    expect(reasons).to.deep.equal(['Disabled', 'Invalid', 'NotLocal', 'UnknownUser', 'UnknownUser']);
    expect(first.passwords.judged).to.equal(judged);
    expect(await replicas.userStatus(off)).not.to.have.property('failedLogins');
  });

  it('refuses the right password of a user who is disabled, gets another password or goes while it is compared', async () => {
    const path = (email: string) => `/apis/auth.platform.io/v1/users/${nameOf(email)}`;
    const patch = (target: string, body: unknown) =>
      replicas.kubernetes.call('PATCH', target, body, { 'content-type': 'application/merge-patch+json' });
    const happenings: [string, string, (email: string) => Promise<unknown>][] = [
      ['disabled', 'Disabled', (email) => patch(path(email), { spec: { is_disabled: true } })],
      ['changed', 'WrongPassword', (email) => patch(`${path(email)}/status`, { status: { sessionsNotBefore: '2026-11-21T12:00:00Z' } })],
      ['deleted', 'UnknownUser', (email) => replicas.kubernetes.remove(path(email))],
      ['touched', 'ok', (email) => patch(path(email), { metadata: { labels: { touched: 'true' } } })],
    ];

    for (const [who, wanted, happen] of happenings) {
      const email = `${who}@example.com`;
      await person(email);
      first.passwords.meanwhile = () => happen(email);
      const reason = await check(first, email, right);
      first.passwords.meanwhile = undefined;
      expect(reason, who).to.equal(wanted);
    }
  });

  it('counts and tells of an attempt whose sender hangs up', async () => {
    const name = await person('hasty@example.com');
    const controller = new AbortController();

    const verdict = first.passwordCheck.check({ email: 'hasty@example.com', password: 'no', source: '10.0.0.9' }, controller.signal);
    controller.abort();

    expect(await verdict.catch((error: unknown) => error)).to.have.property('name', 'AbortError');
    expect(await replicas.userStatus(name)).to.include({ failedLogins: 1 });
    expect(first.auditLines.at(-1)).to.include({ audit: 'LoginFailed', target: name, reason: 'WrongPassword' });
  });

  it('takes no password that no user can have, and counts it all the same', async () => {
    const name = await person('long@example.com');

    expect(await check(first, 'long@example.com', '')).to.equal('WrongPassword');
    expect(await check(first, 'long@example.com', right + 'x'.repeat(128))).to.equal('WrongPassword');
    expect(await replicas.userStatus(name)).to.include({ failedLogins: 2 });
  });

  it('USR-16 does not know a password that belongs to a record with another uid', async () => {
    await person('elder@example.com');
    await replicas.kubernetes.apply(aUser('reborn@example.com'));
    await replicas.setPassword(nameOf('reborn@example.com'), hash, nameOf('elder@example.com'));

    expect(await check(first, 'reborn@example.com', right)).to.equal('WrongPassword');

    await replicas.kubernetes.remove(`/api/v1/namespaces/atrium-system/secrets/user-password-${nameOf('reborn@example.com')}`);
    await replicas.setPassword(nameOf('reborn@example.com'), hash);
    expect(await check(first, 'reborn@example.com', right)).to.equal('ok');
  });

  it('REC-03 refuses a record under another name, and one with another email', async () => {
    await person('stray@example.com', { name: 'stray' });
    await person('other@example.com', { name: nameOf('mine@example.com') });
    await first.accounts.watch.waitForWrite((await replicas.user('stray'))?.metadata.resourceVersion ?? '', never);

    expect(await check(first, 'stray@example.com', right)).to.equal('UnknownUser');
    expect(await check(first, 'mine@example.com', right)).to.equal('UnknownUser');
  });

  it('makes a weak hash again once it knows the password', async () => {
    const replica = await replicas.replica({}, new CountingPasswords());
    await person('weak@example.com');
    const weak = '$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$';
    const tag = argon2Sync('argon2id', {
      message: right,
      nonce: Buffer.from('saltsaltsaltsalt'),
      memory: 64,
      passes: 1,
      parallelism: 1,
      tagLength: 32,
    });
    await replicas.setPassword(nameOf('weak@example.com'), weak + tag.toString('base64').replace(/=+$/, ''));

    expect(await check(replica, 'weak@example.com', right)).to.equal('ok');

    const { body } = await replicas.kubernetes.call(
      'GET',
      `/api/v1/namespaces/atrium-system/secrets/user-password-${nameOf('weak@example.com')}`,
    );
    const stored = Buffer.from((body as { data: { hash: string } }).data.hash, 'base64').toString();
    expect(stored).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await check(replica, 'weak@example.com', right)).to.equal('ok');
  });

  it('tells an address that failed too often to wait, whomever it asks for, and no other address', async () => {
    const replica = await replicas.replica({ lockout: { failures: 1 } });
    await person('calm@example.com');
    const reasons = [];
    for (let count = 0; count < 11; count += 1) reasons.push(await check(replica, `nobody${count}@example.com`, 'x', '2001:db8::1'));

    expect(reasons.slice(0, 10)).to.deep.equal(Array.from({ length: 10 }, () => 'UnknownUser'));
    expect(reasons.at(-1)).to.equal('TooManyFromSource');
    const verdict = await replica.passwordCheck.check({ email: 'calm@example.com', password: right, source: '2001:db8::ffff' }, never);
    expect(verdict).to.have.property('retryAfterSeconds').that.is.within(1, 1200);
    expect(await check(replica, 'calm@example.com', right, '2001:db8:0:1::1')).to.equal('ok');
  });
});
