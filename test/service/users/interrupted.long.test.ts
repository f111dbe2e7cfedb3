/** State after a loss of the API server between two writes of one request. */

import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import { loseAnswer, type ProxiedRequest, reset } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { Clock } from '../login/support.ts';
import { aUser, nameOf, type UserParts } from './a-user.ts';

const group = '/apis/auth.platform.io/v1';
const old = 'an old but long password';
const fresh = 'a fresh and long password';

const record = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  spec: z.looseObject({ username: z.string(), is_disabled: z.boolean().optional() }),
  status: z
    .looseObject({
      sessionsNotBefore: z.string().optional(),
      passwordChangedTime: z.string().optional(),
      mustChangePassword: z.boolean().optional(),
      unfinishedSince: z.string().optional(),
      conditions: z.array(z.unknown()).optional(),
    })
    .default({}),
});
const secret = z.object({
  data: z.object({ hash: z.base64() }),
  metadata: z.object({ ownerReferences: z.array(z.object({ uid: z.string() })) }),
});

const written = /^\/(api\/v1\/namespaces\/[^/]+\/secrets|apis\/auth\.platform\.io\/v1\/(users|revokedtokens|groups|userbindings))(\/|$)/;
/** Trace of the requests of the test. The service continues it in its writes for them, and its controllers do not. */
const traceID = 'a'.repeat(32);
const traceparent = `00-${traceID}-${'b'.repeat(16)}-01`;
/** Selects the writes of the request, and not those of the controllers, which may write the same record at that moment. */
const isWriteFor =
  (email: string) =>
  ({ method, path, headers }: ProxiedRequest) =>
    ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) &&
    written.test(path) &&
    (!path.includes('/users/') || path.includes(nameOf(email))) &&
    String(headers.traceparent).includes(traceID);

/** End of the connection: before the next write arrives, or with the answer to the last one. */
const ways = ['refused', 'lost'] as const;
type Way = (typeof ways)[number];

describe('a request whose API server goes away', () => {
  const clock = new Clock();
  const server = forSuite(() => startFaultyServer({ now: clock.now }));
  let hash: string;

  before(async () => {
    hash = await cheapPasswords().hash(old);
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  interface Asked {
    /** Email of the user that the request is about. */
    about: string;
    method: string;
    path: string;
    body?: unknown;
    as?: Person;
  }
  const send = async ({ about: _about, path, ...rest }: Asked) => {
    const response = await server.request(`/auth/v1/users${path}`, { as: 'manager', headers: { traceparent }, ...rest });
    return { status: response.status, text: await response.text() };
  };
  const read = async (email: string) => {
    const { status, body } = await server.kubernetes.call('GET', `${group}/users/${nameOf(email)}`);
    return status === 404 ? undefined : record.parse(body);
  };
  const existing = async (email: string) => record.parse(await read(email));
  const passwordOf = async (email: string) => {
    const { body } = await server.kubernetes.call('GET', `/api/v1/namespaces/${serviceNamespace}/secrets/user-password-${nameOf(email)}`);
    const { data, metadata } = secret.parse(body);
    const stored = Buffer.from(data.hash, 'base64').toString();
    const passwords = cheapPasswords();
    const [isOld, isFresh] = await Promise.all([old, fresh].map((password) => passwords.verify(password, stored)));
    return { is: isOld === 'match' ? 'old' : isFresh === 'match' ? 'fresh' : 'neither', owner: metadata.ownerReferences[0]?.uid };
  };
  /** Creates a user with a password, and waits until the controller has written the status. */
  const aPerson = async (email: string, parts: UserParts = {}) => {
    await server.kubernetes.apply(aUser(email, parts));
    const { metadata } = await existing(email);
    await server.kubernetes.apply(passwordSecret({ user: metadata, namespace: serviceNamespace, hash, changedAt: new Date() }));
    await eventually(
      () => existing(email),
      ({ status }) => status.conditions !== undefined,
    );
  };
  const writesOf = async (asked: Asked, status: number) => {
    server.faults.forgetRequests();
    expect(await send(asked)).to.include({ status });
    return server.faults.requests.filter(isWriteFor(asked.about)).length;
  };
  /** Sends the request to a cluster that is lost after a number of writes, and returns after the answer. */
  const interrupted = async (asked: Asked, writes: number, way: Way) => {
    const isWrite = isWriteFor(asked.about);
    let left = writes;
    let isCut = false;
    server.faults.inject(reset, () => isCut);
    const isLast = (request: ProxiedRequest) => {
      if (isCut || !isWrite(request)) return false;
      left -= 1;
      isCut = way === 'refused' ? left < 0 : left === 0;
      return isCut;
    };
    server.faults.inject(way === 'refused' ? reset : loseAnswer, isLast);
    const answer = await send(asked);
    server.faults.mend();
    expect(isCut, `${writes} writes, ${way}: ${answer.text}`).to.equal(true);
    expect(answer.status, answer.text).to.equal(503);
  };
  /** Interrupts a request of its own after each number of writes. */
  const afterEachWrite = async (count: number, what: (email: string, writes: number, way: Way) => Promise<void>) => {
    for (const way of ways)
      for (let writes = 1; writes <= (way === 'lost' ? count : count - 1); writes += 1)
        await what(`${way}-${writes}@${count}.example.com`, writes, way);
  };

  it('leaves no half-created user: the user is complete, or deleted when the time of the creation is over', async () => {
    const asked = (email: string) => ({ about: email, method: 'POST', path: '', body: { spec: { email, password: fresh } } });
    const count = 4;
    expect(await writesOf(asked('whole@make.example.com'), 201)).to.be.at.least(count);
    const emails: string[] = [];
    // Records without further writes equal those that are created with kubectl.
    const registered: string[] = [];
    await afterEachWrite(count, async (email, writes, way) => {
      emails.push(email);
      if (writes === 1) registered.push(email);
      await interrupted(asked(email), writes, way);
      const { status } = await existing(email);
      expect(status.unfinishedSince !== undefined, email).to.equal(writes > 1 && writes < count);
      if (writes < count) expect((await send(asked(email))).status, email).to.equal(409);
    });

    clock.advance(130);

    const removed: string[] = [];
    for (const email of emails) {
      const user = await eventually(
        () => read(email),
        (found) => found?.status.unfinishedSince === undefined,
      );
      if (user === undefined) removed.push(email);
    }
    clock.advance(-130);
    expect(removed).to.have.length(2 * (count - 2));
    for (const email of removed) {
      const again = await eventually(
        () => send(asked(email)),
        ({ status }) => status !== 409,
      );
      expect(again).to.include({ status: 201 });
    }
    for (const email of registered) {
      const { status } = await existing(email);
      expect(status).not.to.have.property('passwordChangedTime');
      expect(await send({ ...asked(email), method: 'PATCH', path: `/${nameOf(email)}`, body: { spec: { password: fresh } } })).to.include({
        status: 200,
      });
    }
    for (const email of emails) {
      const { metadata, status } = await existing(email);
      expect(status).to.include({ phase: 'Normal', subjectName: email }).and.to.have.property('passwordChangedTime');
      expect(await passwordOf(email), email).to.deep.equal({ is: 'fresh', owner: metadata.uid });
    }
  });

  it('reverts its writes at once where only one answer was lost', async () => {
    const steps = ['POST users', 'PATCH users', 'POST secrets', 'PATCH users'];
    for (const writes of [2, 3, 4]) {
      const email = `back-${writes}@make.example.com`;
      // The writes are matched in order: the service repeats one after a conflict with a controller.
      let done = 0;
      const isWrite = isWriteFor(email);
      const isStep = (request: ProxiedRequest) =>
        isWrite(request) && `${request.method} ${/\/(users|secrets)\b/.exec(request.path)?.[1]}` === steps[done];
      server.faults.inject(loseAnswer, (request) => {
        if (!isStep(request)) return false;
        done += 1;
        return done === writes;
      });
      const answer = await send({ about: email, method: 'POST', path: '', body: { spec: { email, password: fresh } } });
      server.faults.mend();
      expect(answer.status, answer.text).to.equal(503);
      expect(await read(email)).to.equal(undefined);
    }
  });

  it('reverts its writes also where the record is written at that moment', async () => {
    const email = 'back-written@make.example.com';
    const path = `${group}/users/${nameOf(email)}`;
    const type = { 'content-type': 'application/merge-patch+json' };
    let deletions = 0;
    server.faults.inject(loseAnswer, ({ method, path: asked }) => method === 'POST' && asked.includes('/secrets'));
    server.faults.inject(
      ({ pass }) => void server.kubernetes.call('PATCH', path, { metadata: { labels: { written: 'meanwhile' } } }, type).then(() => pass()),
      (request) => {
        if (request.method !== 'DELETE' || request.path !== path) return false;
        deletions += 1;
        return deletions === 1;
      },
    );
    const answer = await send({ about: email, method: 'POST', path: '', body: { spec: { email, password: fresh } } });
    server.faults.mend();
    expect(answer.status, answer.text).to.equal(503);
    expect(await read(email)).to.equal(undefined);
    expect(deletions).to.be.at.least(2);
  });

  it('USR-07 never accepts a new password while sessions of the old one are valid', async () => {
    const asked = (email: string, as: Person) => ({
      about: email,
      method: 'PATCH',
      path: `/${nameOf(email)}`,
      as,
      body: { spec: { username: 'Changed', password: fresh, old_password: old } },
    });
    await aPerson('whole@change.example.com', { subjectName: 'bob' });
    const count = 6;
    expect(await writesOf(asked('whole@change.example.com', 'bob'), 200)).to.be.at.least(count);
    await server.kubernetes.remove(`${group}/users/${nameOf('whole@change.example.com')}`);
    await afterEachWrite(count, async (email, writes, way) => {
      await aPerson(email, { subjectName: 'bob' });
      const begun = clock.now().getTime();
      await interrupted(asked(email, 'bob'), writes, way);
      const { is } = await passwordOf(email);
      if (is === 'fresh') expect(Date.parse((await existing(email)).status.sessionsNotBefore ?? ''), email).to.be.greaterThan(begun);

      const again = await send(asked(email, 'bob'));

      expect(again.status, again.text).to.equal(is === 'fresh' ? 422 : 200);
      if (is === 'fresh') expect(again.text).to.contain('spec.old_password');
      expect((await passwordOf(email)).is, email).to.equal('fresh');
      expect((await existing(email)).spec).to.include({ username: 'Changed' });
      await server.kubernetes.remove(`${group}/users/${nameOf(email)}`);
    });
  });

  it('never has a password set by another user count without the duty to change it', async () => {
    const asked = (email: string) => ({ about: email, method: 'PATCH', path: `/${nameOf(email)}`, body: { spec: { password: fresh } } });
    await aPerson('whole@reset.example.com');
    const count = 4;
    expect(await writesOf(asked('whole@reset.example.com'), 200)).to.be.at.least(count);
    await afterEachWrite(count, async (email, writes, way) => {
      await aPerson(`reset-${email}`);
      const begun = clock.now().getTime();
      await interrupted(asked(`reset-${email}`), writes, way);
      const { is } = await passwordOf(`reset-${email}`);
      if (is === 'old') expect((await send(asked(`reset-${email}`))).status).to.equal(200);

      const { status } = await existing(`reset-${email}`);

      expect((await passwordOf(`reset-${email}`)).is).to.equal('fresh');
      expect(status.mustChangePassword, email).to.equal(true);
      expect(Date.parse(status.sessionsNotBefore ?? ''), email).to.be.greaterThan(begun);
    });
  });

  it('ends the sessions of a disabled user when it is asked again', async () => {
    const asked = (email: string) => ({ about: email, method: 'PATCH', path: `/${nameOf(email)}`, body: { spec: { is_disabled: true } } });
    await aPerson('whole@disable.example.com');
    const count = 2;
    expect(await writesOf(asked('whole@disable.example.com'), 200)).to.be.at.least(count);
    await afterEachWrite(count, async (email, writes, way) => {
      await aPerson(`off-${email}`);
      const begun = clock.now().getTime();
      await interrupted(asked(`off-${email}`), writes, way);

      expect((await send(asked(`off-${email}`))).status).to.equal(200);

      const { spec, status } = await existing(`off-${email}`);
      expect(spec).to.include({ is_disabled: true });
      expect(Date.parse(status.sessionsNotBefore ?? ''), email).to.be.greaterThan(begun);
    });
  });

  it('deletes a user as a whole, or is completed when it is asked again', async () => {
    const asked = (email: string) => ({ about: email, method: 'DELETE', path: `/${nameOf(email)}` });
    const named = (email: string) => nameOf(email).slice(0, 12);
    const member = async (email: string) => {
      await aPerson(email);
      const name = nameOf(email);
      const binding = { scope: 'platform', roleRef: 'view', subjects: [{ kind: 'User', name }] };
      await server.kubernetes.apply(
        {
          apiVersion: 'auth.platform.io/v1',
          kind: 'Group',
          metadata: { name: named(email) },
          spec: { displayName: 'Crew', users: [{ name }] },
        },
        { apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', metadata: { name: named(email) }, spec: binding },
      );
    };
    await member('whole@delete.example.com');
    // The first deletion is a dry run that checks permissions. Controllers may write at the same time.
    const count = 5;
    expect(await writesOf(asked('whole@delete.example.com'), 204)).to.be.at.least(count);
    await afterEachWrite(count, async (given, writes, way) => {
      const email = `gone-${given}`;
      await member(email);
      await interrupted(asked(email), writes, way);
      const isThere = (await read(email)) !== undefined;

      expect((await send(asked(email))).status, email).to.equal(isThere ? 204 : 404);

      expect(await read(email)).to.equal(undefined);
      const { body } = await server.kubernetes.call('GET', `${group}/groups/${named(email)}`);
      expect(body).to.have.nested.property('spec.users').that.deep.equals([]);
      // The controller removes its finalizer when the RBAC objects of the binding are deleted.
      await eventually(
        () => server.kubernetes.call('GET', `${group}/userbindings/${named(email)}`),
        ({ status }) => status === 404,
      );
      const { body: revoked } = await server.kubernetes.call('GET', `${group}/revokedtokens`);
      expect(JSON.stringify(revoked)).to.contain(nameOf(email));
    });
  });
});
