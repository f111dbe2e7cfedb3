import { hash } from 'node:crypto';
import { expect } from 'chai';
import { Agent } from 'undici';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { type Installation, localUsers } from './installation.ts';
import { Person, shortIdle } from './person.ts';
import type { Replica } from './replica.ts';
import { installation } from './shared.ts';

const page = '/auth/v2/users?limit=1';
const token = '/identity/token';
const sessions = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/sessions`;

describe('a replica that is killed by SIGKILL', () => {
  const dispatcher = new Agent(shortIdle);
  let service: Installation;

  before(async () => {
    service = await installation();
  });
  after(() => dispatcher.close());

  const logIn = (n: number) => Person.logIn(localUsers.at(-1 - n) ?? '', { publicURL: service.url, dispatcher });
  const two = (): [Replica, Replica] => {
    const [one, other] = service.replicas;
    if (one === undefined || other === undefined) throw new Error('there are not two replicas');
    return [one, other];
  };

  describe('in the middle of two renewals', () => {
    let other: Replica;
    let asking: Person;
    let answered: Person;

    before(async () => {
      const [victim, survivor] = two();
      other = survivor;
      [asking, answered] = await Promise.all([logIn(0), logIn(1)]);
      const request = service.balancer.hold('request', token);
      const lost = [asking.refresh(victim).catch(() => 'lost')];
      await request.arrived;
      const answer = service.balancer.hold('answer', token);
      lost.push(answered.refresh(victim).catch(() => 'lost'));
      await answer.arrived;
      await service.killReplica(victim);
      await Promise.all([request.left, lost[1]]);
      request.release();
      answer.release();
      expect(await Promise.all(lost)).to.deep.equal(['lost', 'lost']);
    });
    after(() => service.startReplica());

    it('ends no session', async () => {
      for (const person of [asking, answered]) expect((await person.get(page, other)).status).to.equal(200);
    });

    // The killed replica holds the claims of both Sessions, which expire after fifteen seconds.
    it('leaves a renewal that has not reached the issuer to another replica', async () => {
      const renewed = await asking.refresh(other);

      expect(renewed.status, renewed.text).to.equal(200);
      expect((await asking.refresh(other)).status).to.equal(200);
    });

    it('ends a session whose new tokens are lost, and its user logs in again', async () => {
      // The issuer treats the old refresh token as stolen.
      expect((await answered.refresh(other)).status).to.equal(401);
      expect((await answered.get(page, other)).status).to.equal(401);
      expect((await (await logIn(1)).refresh(other)).status).to.equal(200);
    });
  });

  it('FLT-13 keeps sessions, and sessions that ended before the next start stay ended', async () => {
    const [kept, deleted, reset] = await Promise.all([logIn(2), logIn(3), logIn(4)]);
    for (const replica of two())
      for (const person of [kept, deleted, reset]) expect((await person.get(page, replica)).status).to.equal(200);
    await Promise.all(two().map((replica) => service.killReplica(replica)));
    await service.admin.remove(`${sessions}/s-${hash('sha256', deleted.secret)}`);
    const sessionsNotBefore = new Date(Date.now() + 1000).toISOString().replace(/\.\d+Z$/, 'Z');
    const patch = { 'content-type': 'application/merge-patch+json' };
    const path = `/apis/auth.platform.io/v1/users/${nameOf(reset.email)}/status`;
    expect((await service.admin.call('PATCH', path, { status: { sessionsNotBefore } }, patch)).status).to.equal(200);
    await Promise.all([service.startReplica(), service.startReplica()]);

    for (const replica of two()) {
      expect((await kept.get(page, replica)).status).to.equal(200);
      for (const person of [deleted, reset]) {
        expect((await person.get(page, replica)).status, person.email).to.equal(401);
        expect((await person.refresh(replica)).status, person.email).to.equal(401);
      }
    }
    const renewed = await eventually(
      () => kept.refresh(),
      ({ status }) => status !== 503,
    );
    expect(renewed.status, renewed.text).to.equal(200);
  });
});
