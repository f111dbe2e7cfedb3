import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { json } from '../login/provider/answers.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, type Service } from '../login/support.ts';
import { type LoggedIn, objects, session, sessionManifest, sessionsPath } from './support.ts';

const maxPerUser = 4;

describe('LIM-11 the number of sessions of a user', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  let services: Service[];

  before(async () => {
    const config = { login: { perMinute: 100_000, session: { maxPerUser } } };
    services = [await cluster.service({ provider, config }), await cluster.service({ provider, config })];
  });

  let people = 0;
  beforeEach(() => {
    people += 1;
    provider.misbehave();
    provider.forgetRequests();
    provider.person = { ...provider.person, sub: `person-${people}`, email: `person-${people}@example.com` };
  });

  const logIn = (replica = 0) => session(services[replica] as Service);
  const isIn = async ({ browser }: LoggedIn) => (await browser.info('v2')).status === 200;
  const kept = async (user: string) =>
    (await objects(cluster.kubernetes, 'sessions')).filter(({ spec }) => spec.user === user).map(({ metadata }) => metadata.name);

  it("ends the oldest at a login beyond it, as a logout does, and no other user's", async () => {
    const another = await logIn();
    provider.person = { ...provider.person, sub: 'alone', email: 'alone@example.com' };
    const all: LoggedIn[] = [];
    for (let count = 0; count < maxPerUser; count += 1) {
      all.push(await logIn());
      cluster.clock.advance(2);
    }
    expect(await Promise.all(all.map(isIn))).to.deep.equal(all.map(() => true));
    expect(provider.hits('revocation')).to.equal(0);

    const newest = await logIn();
    expect(await Promise.all([...all, newest].map(isIn))).to.deep.equal([false, true, true, true, true]);
    expect(provider.hits('revocation')).to.equal(1);
    expect(await kept(newest.user)).to.have.lengthOf(maxPerUser);
    const events = (services[0] as Service).auditLines.map((line): Record<string, unknown> => JSON.parse(line));
    const ended = events.filter(({ audit, reason }) => audit === 'LoggedOut' && reason === 'TooManySessions');
    expect(ended).to.have.lengthOf(1);
    expect(ended[0]).to.deep.include({ target: newest.user, outcome: 'success' });
    expect(await isIn(another)).to.equal(true);
  });

  it('holds for logins on two replicas at once', async () => {
    const all = await Promise.all(Array.from({ length: 24 }, (_, index) => logIn(index % 2)));
    const { user } = all[0] as LoggedIn;
    await eventually(
      () => kept(user),
      ({ length }) => length === maxPerUser,
    );
    // The remaining sessions are valid on both replicas as soon as both have learned of the deletions.
    const left = async () => (await Promise.all(all.map(isIn))).filter(Boolean);
    await eventually(left, ({ length }) => length <= maxPerUser);
    expect(await left()).to.have.lengthOf(maxPerUser);
  });

  it('counts by the uid of the record, not by the name in a Session', async () => {
    const mine = await logIn();
    for (let count = 0; count < maxPerUser; count += 1) {
      const manifest = sessionManifest(`of-an-earlier-record-${count}`, { expiration: Date.now() + 86_400_000 });
      const spec = { ...manifest.spec, user: mine.user, userUID: 'of-an-earlier-record', subjectName: provider.person.email };
      expect((await cluster.kubernetes.call('POST', sessionsPath, { ...manifest, spec })).status).to.equal(201);
    }
    await logIn();
    expect(await isIn(mine)).to.equal(true);
    expect(await kept(mine.user)).to.have.lengthOf(maxPerUser + 2);
  });

  it('lets a user in also when the provider does not hear of the end', async () => {
    for (let count = 0; count < maxPerUser; count += 1) await logIn();
    // Sessions of the same second have no defined order.
    cluster.clock.advance(2);
    provider.misbehave({ answer: { revocation: json(500, {}) } });
    const newest = await logIn();
    expect(await isIn(newest)).to.equal(true);
    expect(await kept(newest.user)).to.have.lengthOf(maxPerUser);
  });
});
