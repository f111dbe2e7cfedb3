/** Counters of wrong passwords, which are writes too, while etcd is killed and restarted. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { whenReady } from './asking.ts';
import { addLocalUser, embeddedService, logInPage, statusOf } from './embedded.ts';
import { type Service, theRealCluster } from './real-cluster.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const password = 'right horse battery staple';

describe('FLT-09 guesses while etcd is killed and restarted', () => {
  const cluster = theRealCluster();

  /**
   * Sends wrong passwords of a user: a third each before, during and after an outage of etcd.
   *
   * @returns the statuses of the answers
   */
  async function guess(service: Service, email: string, times: number): Promise<number[]> {
    const pages: Awaited<ReturnType<typeof logInPage>>[] = [];
    for (let turn = 0; turn < times; turn += 1) pages.push(await logInPage(service));
    const answered: Promise<number>[] = [];
    const guessThird = async () => {
      for (const submit of pages.splice(0, times / 3)) {
        answered.push(submit(email, `wrong ${answered.length}`).then(({ status }) => status));
        await pause(60);
      }
    };
    await guessThird();
    expect(await answered[0]).to.equal(403);
    await cluster.control.etcd.kill();
    await guessThird();
    await cluster.startEtcd();
    await guessThird();
    return Promise.all(answered);
  }

  /** Logs in, and retries until the API server has recovered from the restart of etcd. */
  const attempt = (service: Service, email: string) =>
    eventually(
      async () => (await logInPage(service))(email, password),
      ({ status }) => ![503, 504].includes(status),
    );

  it('FLT-09 are each answered 503 or counted once', async () => {
    const email = 'counted@example.com';
    await addLocalUser(cluster, email, password);
    const service = await embeddedService(cluster, { connection: cluster.control.url, config: { users: { lockout: { failures: 1000 } } } });
    try {
      await whenReady(service);
      const statuses = await guess(service, email, 60);
      expect(new Set(statuses)).to.satisfy((seen: Set<number>) => [...seen].every((status) => [403, 503, 504].includes(status)));
      // Other attempts were refused before the password was verified.
      const judged = service.logLines.map((line) => JSON.parse(line)).filter(({ reason }) => reason === 'WrongPassword').length;
      expect(judged).to.be.greaterThan(0);
      // Attempts that were counted and not answered are on the safe side.
      expect((await statusOf(cluster, email)).failedLogins).to.be.within(judged, statuses.length);
      expect(await attempt(service, email)).to.deep.equal({ status: 200, isLoggedIn: true });
      expect(await statusOf(cluster, email)).to.not.have.any.keys('failedLogins', 'lockedUntil');
    } finally {
      await service.stop();
    }
  });

  it('FLT-09 lock the user out, for as long as configured', async () => {
    const email = 'locked@example.com';
    await addLocalUser(cluster, email, password);
    const service = await embeddedService(cluster, { connection: cluster.control.url });
    try {
      await whenReady(service);
      await guess(service, email, 30);
      expect(await statusOf(cluster, email)).to.include({ failedLogins: 5, phase: 'Locked' });
      expect(await attempt(service, email)).to.deep.equal({ status: 403, isLoggedIn: false });
    } finally {
      await service.stop();
    }
  });
});
