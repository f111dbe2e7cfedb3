import { expect } from 'chai';
import { Agent } from 'undici';
import { z } from 'zod';
import { aBinding, Bindings } from '../../service/bindings/support.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { HonestLoad } from './honest-load.ts';
import { type Build, type Installation, localUsers } from './installation.ts';
import { buildOf, lastRelease } from './last-release.ts';
import { logInByTurns } from './log-in-by-turns.ts';
import { Person, shortIdle } from './person.ts';
import type { Replica } from './replica.ts';
import { type Restart, rollingRestart } from './rolling-restart.ts';
import { installation } from './shared.ts';

const perSecond = 20;
const release = lastRelease();
const list = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });
const created = z.object({ token: z.string().startsWith('cat_'), id: z.string() });

// The definitions and admission policies of the cluster are the present ones, as after the first step of an upgrade.
describe(`replicas of version ${release.version} beside the present build, on one cluster`, () => {
  const dispatcher = new Agent(shortIdle);
  let service: Installation;
  let older: Build;
  let old: Replica;
  let present: Replica;

  before(async () => {
    service = await installation();
    older = await buildOf(release);
    [present, old] = await twoReplicas();
  });
  after(() => dispatcher.close());

  /** Replaces one of two present replicas by one of the last release. */
  const twoReplicas = async (): Promise<[Replica, Replica]> => {
    const [kept, replaced] = service.replicas;
    if (kept === undefined || replaced === undefined) throw new Error('there are not two replicas');
    await service.stopReplica(replaced);
    return [kept, await service.startReplica(older)];
  };
  const logIn = (email: string, { url }: Replica) => Person.logIn(email, { publicURL: service.url, url, dispatcher });

  it('are of these versions', async () => {
    const versionOf = async (replica: Replica) => /"version":"([^"]+)".*"msg":"listening"/.exec(await replica.log())?.[1];

    expect(await versionOf(old)).to.equal(release.version);
    expect(await versionOf(present)).to.match(/^\d+\.\d+\.\d+$/);
  });

  it('log a user in by turns, and end the session on both, whichever is first', async () => {
    const [first = '', second = ''] = localUsers;
    await logInByTurns(service.url, [old.url, present.url], first);
    await logInByTurns(service.url, [present.url, old.url], second);
  });

  it('list the same users and sessions to a user who logged in at either', async () => {
    const people = await Promise.all([logIn(localUsers[2] ?? '', old), logIn(localUsers[3] ?? '', present)]);
    for (const person of people)
      for (const path of [
        '/auth/v2/users?limit=5&page=2&sortBy=d,email',
        '/apis/auth.platform.io/v1/users?limit=500',
        '/auth/v1/sessions',
      ]) {
        const names = async ({ url }: Replica) => {
          const { status, text } = await person.get(path, { url });
          expect(status, text).to.equal(200);
          return list.parse(JSON.parse(text)).items.map(({ metadata }) => metadata.name);
        };
        const ofOld = await names(old);
        expect(ofOld).to.not.deep.equal([]);
        // A replica learns of a new session from its watch.
        await eventually(
          () => names(present),
          (ofPresent) => `${ofPresent}` === `${ofOld}`,
        );
      }
  });

  it('accept an access token of the other, until it is deleted at either', async () => {
    for (const [one, other] of [
      [old, present],
      [present, old],
    ] as const) {
      const person = await logIn(localUsers[4] ?? '', one);
      const answer = await person.post('/auth/v1/accesstoken', { description: 'upgrade' });
      expect(answer.status, answer.text).to.equal(201);
      const { token, id } = created.parse(JSON.parse(answer.text));
      const statusAt = async ({ url }: Replica) =>
        (await fetch(`${url}/api/v2/token/info`, { headers: { authorization: `Bearer ${token}` } })).status;
      for (const replica of [one, other])
        await eventually(
          () => statusAt(replica),
          (status) => status === 200,
        );

      const deleted = await person.delete(`/auth/v1/accesstokens/${id}`, other);

      expect(deleted.status, deleted.text).to.equal(204);
      for (const replica of [one, other])
        await eventually(
          () => statusAt(replica),
          (status) => status === 401,
        );
    }
  });

  it('take the Leases over from each other, and do the work of the leader', async () => {
    const bindings = new Bindings(service.admin);
    const [email = ''] = localUsers;
    const leads = async (leader: Replica, other: Replica, name: string) => {
      await service.stopReplica(other);
      await eventually(
        () => leader.log(),
        (log) => log.includes('"msg":"elected leader"'),
      );
      await service.admin.apply(aBinding(name, { subjects: [{ kind: 'User', name: nameOf(email) }] }));
      expect(await bindings.untilBound(name, [`User ${email}`])).to.have.lengthOf(1);
    };

    await leads(old, present, 'of-the-release');
    present = await service.startReplica();
    await leads(present, old, 'of-the-present');
    await bindings.remove('of-the-release');
    await bindings.untilGone('of-the-release');
    old = await service.startReplica(older);
    await leads(old, present, 'of-the-release-again');
    for (const name of ['of-the-present', 'of-the-release-again']) {
      await bindings.remove(name);
      await bindings.untilGone(name);
    }
    await service.startReplica(older);
  });

  it(`are upgraded, rolled back and upgraded again without losing one of ${perSecond} requests a second`, async () => {
    const load = await HonestLoad.prepare(service);
    const restarts: Restart[] = [];
    const report = (restart: Restart) => restarts.push(restart);

    const { lost, kinds } = await load.during(
      async () => {
        for (const build of [undefined, older, undefined]) await rollingRestart(service, report, build);
      },
      { perSecond },
    );

    await load.close();
    expect(lost.slice(0, 5), `${lost.length} lost`).to.deep.equal([]);
    expect(restarts.map(({ code }) => code)).to.deep.equal([0, 0, 0, 0, 0, 0]);
    for (const { count } of Object.values(kinds)) expect(count).to.be.above(0);
  });
});
