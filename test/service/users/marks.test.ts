/** Fields that managers of users may write decide nothing. */

import { expect } from 'chai';
import { describe, it } from 'mocha';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { asService, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { Clock } from '../login/support.ts';
import { aUser, nameOf } from './a-user.ts';

const users = '/apis/auth.platform.io/v1/users';

interface User {
  metadata: { uid: string; name: string; generation: number; resourceVersion: string; labels?: Record<string, string> };
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}

/** Fields of the status that the service must keep. */
const kept = [
  'subjectName',
  'groups',
  'failedLogins',
  'lockedUntil',
  'passwordChangedTime',
  'activatedTime',
  'sessionsNotBefore',
  'mustChangePassword',
];

const label = (name: string, value: string | null) => ({ metadata: { labels: { [`auth.platform.io/${name}`]: value } } });
const annotation = (name: string, value: string | null) => ({ metadata: { annotations: { [`auth.platform.io/${name}`]: value } } });

const labels = ['user.email', 'user.username', 'user.connector_id', 'user.connector_type', 'user.state', 'user.valid'];
const annotations = ['unfinished', 'created-by', 'userbinding', 'group', 'user'];

/** Changes that are each written, changed and removed. */
const changes: [string, unknown][] = [
  ...labels.flatMap((name): [string, unknown][] => [
    [`label ${name}`, label(name, 'other')],
    [`no label ${name}`, label(name, null)],
  ]),
  ...annotations.flatMap((name): [string, unknown][] => [
    [`annotation ${name}`, annotation(name, '')],
    [`annotation ${name} of the login`, annotation(name, 'login')],
    [`no annotation ${name}`, annotation(name, null)],
  ]),
  ['a finalizer', { metadata: { finalizers: ['auth.platform.io/user', 'example.com/other'] } }],
  ['no finalizer', { metadata: { finalizers: null } }],
  ['an owner', { metadata: { ownerReferences: null } }],
  ['another name for people', { spec: { username: 'root' } }],
  ['an account', { spec: { account: 'root' } }],
  ['a mail', { spec: { mail: 'root@example.com' } }],
  ['a mobile', { spec: { mobile: '123' } }],
  ['linked identities', { spec: { ids: [{ type: 'corp-ldap', id: 'root' }] } }],
  ['no linked identities', { spec: { ids: null } }],
  ['extra', { spec: { extra: { subjectName: 'root', groups: ['admins'] } } }],
  ['another source', { spec: { connector_type: 'ldap', connector_id: 'corp-ldap', connector_name: 'Corporate' } }],
  ['the source as before', { spec: { connector_type: 'local', connector_id: 'local', connector_name: 'Local' } }],
  ['gone from its source', { spec: { valid: false } }],
  ['not gone', { spec: { valid: true } }],
  ['disabled', { spec: { is_disabled: true } }],
  ['enabled', { spec: { is_disabled: false } }],
  ['inactive', { spec: { state: 'inactive' } }],
  ['active', { spec: { state: 'active' } }],
  ['expired', { spec: { expired: { end: '2020-01-01T00:00:00Z' } } }],
  ['valid for ever', { spec: { expired: null } }],
];

describe('REC-02 any mark on a record of a user', () => {
  const clock = new Clock();
  const server = forSuite(() => startServer({ now: clock.now }));

  const read = async (email: string) => (await server.kubernetes.call('GET', `${users}/${nameOf(email)}`)).body as User;
  const patch = async (email: string, body: unknown, part = '') => {
    // The patch is sent as the service, because the admission policy would refuse it: not every cluster has the policy.
    const type = { 'content-type': 'application/merge-patch+json', ...asService };
    const { status, body: answer } = await server.kubernetes.call('PATCH', `${users}/${nameOf(email)}${part}`, body, type);
    expect(status, JSON.stringify(answer)).to.equal(200);
  };
  /** Waits until the controller of states has seen the current version. */
  const settled = (email: string) =>
    eventually(
      () => read(email),
      ({ metadata, status }) =>
        status?.observedGeneration === metadata.generation && metadata.labels?.['auth.platform.io/user.email'] === metadata.name,
    );

  const expectKept = (what: string, now: User, then: User) => {
    expect(now.metadata.uid, what).to.equal(then.metadata.uid);
    for (const key of kept) expect(now.status[key], `${what}: ${key}`).to.deep.equal(then.status[key]);
  };
  /** Marks all users at once, for as long as an unfinished operation may take. */
  const leaveMarks = async (emails: readonly string[]) => {
    for (const email of emails) for (const name of annotations) await patch(email, annotation(name, ''));
  };

  it('deletes, unlocks and hands over nothing', async () => {
    const locked = 'locked@example.com';
    const whole = 'whole@example.com';
    const ahead = 'registered-ahead@example.com';
    const hash = await cheapPasswords().hash('a long enough password');
    for (const email of [locked, whole, ahead]) {
      const { status: _status, ...user } = aUser(email);
      await server.kubernetes.apply(user);
    }
    const { metadata } = await read(whole);
    await server.kubernetes.apply(passwordSecret({ user: metadata, namespace: serviceNamespace, hash, changedAt: new Date() }));
    const time = '2026-11-01T00:00:00Z';
    await patch(whole, { status: { activatedTime: time, passwordChangedTime: time, groups: ['dev'], sessionsNotBefore: time } }, '/status');
    await patch(locked, { status: { activatedTime: time, failedLogins: 5, lockedUntil: '2099-01-01T00:00:00Z' } }, '/status');
    // A status has no generation, so the phase shows that the controller has seen it.
    await eventually(
      () => read(locked),
      ({ status }) => status?.phase === 'Locked',
    );
    const before = new Map<string, User>();
    for (const email of [locked, whole, ahead]) before.set(email, await settled(email));

    for (const [what, change] of changes) {
      for (const email of before.keys()) await patch(email, change);
      for (const [email, then] of before) expectKept(what, await settled(email), then);
    }
    await leaveMarks([...before.keys()]);
    clock.advance(300);
    for (const [email, then] of before) {
      await patch(email, { spec: { username: 'again' } });
      const now = await settled(email);
      expectKept('after a while', now, then);
      expect(now.status.phase).to.equal(then.status.phase);
    }
  });
});
