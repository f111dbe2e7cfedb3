/** Writes while etcd is killed and restarted. */

import { expect } from 'chai';
import { z } from 'zod';
import { type Reply, userInfoOf } from '../../service/login/provider/browser.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { expectFault, expectFollows, nativeUsers, whenReady } from './asking.ts';
import { type FaultProxy, loseAnswer, refuse } from './fault-proxy.ts';
import { Issuer } from './issuer.ts';
import { theRealCluster } from './real-cluster.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const users = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ email: z.string(), connector_type: z.string() }),
      status: z.record(z.string(), z.unknown()).default({}),
    }),
  ),
});
const sessions = z.object({ items: z.array(z.object({ spec: z.object({ subjectName: z.string() }) })) });

describe('FLT-09 the service on an etcd that is killed and restarted', () => {
  const cluster = theRealCluster();
  const issuer = forSuite(() => Issuer.start(cluster));
  const proxy = forSuite(() => cluster.proxy());
  const service = forSuite(() => cluster.service({ connection: proxy.url, config: issuer.config }));

  before(() => whenReady(service));
  afterEach(() => proxy.mend());

  const list = async (path: string) => (await cluster.admin.call('GET', path)).body;
  const recordsOf = async (email: string) => users.parse(await list(nativeUsers)).items.filter(({ spec }) => spec.email === email);
  const sessionsOf = async (email: string) =>
    sessions.parse(await list('/apis/auth.platform.io/v1/sessions')).items.filter(({ spec }) => spec.subjectName === email);

  async function begin(email: string) {
    issuer.provider.person = { sub: email, email, email_verified: true, name: email, groups: ['dev'] };
    return issuer.begin(service);
  }

  const expectRefused = (reply: Reply, code: 503 | 504 = 503) =>
    expectFault({ ...reply, header: (name) => reply.headers.get(name) ?? undefined, took: 0 }, code);

  /** Logs in again, and retries until the API server has recovered from the restart of etcd. */
  async function logInAgain(email: string): Promise<void> {
    const { status } = await eventually(
      async () => (await begin(email)).finish(),
      (reply) => ![503, 504].includes(reply.status),
    );
    expect(status, email).to.equal(200);
  }

  /** Requires exactly one record, with all fields that a first login writes. */
  async function expectOneRecord(email: string): Promise<void> {
    const [record, ...more] = await recordsOf(email);
    expect(more, email).to.deep.equal([]);
    expect(record?.metadata.name).to.equal(nameOf(email));
    expect(record?.status, email).to.include({ phase: 'Normal', subjectName: email });
    expect(record?.status, email).to.include.all.keys('activatedTime', 'lastLoginTime');
    expect(record?.status.groups, email).to.deep.equal(['dev']);
  }

  it('FLT-09 answers 503 to each of 200 first logins, or completes it once', async () => {
    const people = Array.from({ length: 200 }, (_, index) => `etcd-${index}@example.com`);
    const begun = [];
    for (const email of people) begun.push(await begin(email));
    const finished = begun.map(async ({ finish }, index) => {
      await pause(25 * index);
      return finish();
    });
    await pause(1_500);
    await cluster.control.etcd.kill();
    await pause(1_500);
    await cluster.startEtcd();
    const replies = await Promise.all(finished);
    await expectFollows(cluster, service);

    for (const [index, reply] of replies.entries()) {
      const email = people[index] ?? '';
      const { browser } = begun[index] ?? (await begin(email));
      if (reply.status === 200) {
        expect(userInfoOf(reply).email).to.equal(email);
        expect((await browser.info('v2')).status, email).to.equal(200);
      } else {
        expectRefused(reply, reply.status === 504 ? 504 : 503);
        expect((await browser.info('v2')).status, email).to.equal(401);
        await logInAgain(email);
      }
    }
    const all = users.parse(await list(nativeUsers)).items;
    const each = sessions.parse(await list('/apis/auth.platform.io/v1/sessions')).items;
    for (const [index, email] of people.entries()) {
      const [record, ...more] = all.filter(({ spec }) => spec.email === email);
      expect(more, email).to.deep.equal([]);
      expect(record?.status, email).to.include({ phase: 'Normal', subjectName: email });
      expect(record?.status, email).to.include.all.keys('activatedTime', 'lastLoginTime', 'groups');
      const made = each.filter(({ spec }) => spec.subjectName === email);
      if (replies[index]?.status === 200) expect(made, email).to.have.length(1);
      // Sessions whose write was not confirmed may exist too. No browser has their cookies.
      else expect(made.length, email).to.be.at.least(1);
    }
  });

  const writes = [
    ['the record', ({ method, path }) => method === 'POST' && path === nativeUsers],
    ['its status', ({ method, path }) => method === 'PATCH' && path.endsWith('/status')],
    ['the session', ({ method, path }) => method === 'POST' && path.endsWith('/sessions')],
    ['that the state is used', ({ method, path }) => method === 'POST' && path.endsWith('/revokedtokens')],
  ] satisfies [string, Parameters<FaultProxy['inject']>[1]][];
  const faults = [
    ['refused with what etcd said', refuse(500, 'rpc error: code = Unavailable desc = error reading from server: EOF')],
    ['done, and the answer lost', loseAnswer],
  ] satisfies [string, Parameters<FaultProxy['inject']>[0]][];

  for (const [index, [what, isWrite]] of writes.entries()) {
    for (const [turn, [how, fault]] of faults.entries()) {
      it(`FLT-09 answers 503 without the text of etcd, and repairs it at the next login, if the write of ${what} is ${how}`, async () => {
        const email = `half-${index}-${turn}@example.com`;
        const first = await begin(email);
        proxy.inject(fault, isWrite);
        expectRefused(await first.finish());
        expect((await first.browser.info('v2')).status).to.equal(401);
        proxy.mend();
        expect((await (await begin(email)).finish()).status).to.equal(200);
        await expectOneRecord(email);
      });
    }
  }

  it('FLT-09 uses the created session if the answer to its write is lost', async () => {
    const email = 'lost@example.com';
    const { browser, finish } = await begin(email);
    proxy.inject(loseAnswer, ({ method, path }) => method === 'POST' && path.endsWith('/sessions'), 1);
    expect((await finish()).status).to.equal(200);
    expect((await browser.info('v2')).status).to.equal(200);
    expect(await sessionsOf(email)).to.have.length(1);
  });
});
