import { createLog } from '@atrium/http/telemetry/log.ts';
import { ServerClock } from '@atrium/kubernetes/clock.ts';
import { Sweeper } from '@atrium/kubernetes/controllers/sweeper.ts';
import { expect } from 'chai';
import { RevokedTokens } from '../../../src/revocation/revoked-tokens.ts';
import { SessionStore, sessionSweep } from '../../../src/sessions/store.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { servicesOf } from '../../support/services.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster } from '../login/support.ts';
import { bareCluster, objects, revokedName, session, sessionManifest, time, tokens } from './support.ts';

const revokedToken = (text: string, spec: { kind: string; expiration: string; notBefore?: string }) => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'RevokedToken',
  metadata: { name: revokedName(spec.kind, text) },
  spec,
});

describe('a revocation', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() => cluster.service({ provider }));
  const other = forSuite(() => cluster.service({ provider }));

  it('ends a token by its hash, on every replica', async () => {
    const { bearer } = await tokens(service);
    const { browser } = await tokens(other);
    expect((await browser.info('v2', bearer)).status).to.equal(200);
    const spec = { kind: 'Bearer', expiration: time(cluster.clock.now().getTime() + 900_000) };
    await cluster.kubernetes.apply(revokedToken(bearer, spec));

    const { body } = await eventually(
      () => browser.info('v2', bearer),
      ({ status }) => status === 401,
    );
    expect(body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
  });

  it('ends all credentials of a deleted user, and none that are issued later', async () => {
    const { browser } = await session(service);
    const { bearer } = await tokens(service);
    cluster.clock.advance(5);
    const now = cluster.clock.now().getTime();
    const spec = { kind: 'Subject', notBefore: time(now), expiration: time(now + 900_000) };
    await cluster.kubernetes.apply(revokedToken('jane@example.com', spec));

    await eventually(
      () => browser.info('v2'),
      ({ status }) => status === 401,
    );
    expect((await browser.info('v2', bearer)).status).to.equal(401);
    cluster.clock.advance(5);
    const later = await session(service);
    expect((await later.browser.info('v2')).status).to.equal(200);
  });
});

describe('an expired revocation', () => {
  const cluster = forSuite(() => bareCluster());

  it('is deleted by any replica, with no other object', async () => {
    const { kubernetes, apiServer } = cluster;
    const now = Date.now();
    await kubernetes.apply(
      sessionManifest('over', { expiration: now - 600_000 }),
      sessionManifest('idle', { expiration: now + 600_000, idleExpiration: now - 600_000 }),
      sessionManifest('alive', { expiration: now + 600_000, idleExpiration: now + 600_000 }),
      revokedToken('old', { kind: 'Flow', expiration: time(now - 600_000) }),
      revokedToken('new', { kind: 'Refresh', expiration: time(now + 600_000) }),
    );
    const log = createLog({ level: 'silent', format: 'json' });
    const services = servicesOf(apiServer, { log, namespace: serviceNamespace });
    const replicas = [0, 1].map(() => {
      const store = new SessionStore(services);
      const revokedTokens = new RevokedTokens(services);
      const sweeper = new Sweeper(services, { ...sessionSweep(store, revokedTokens, () => new Date()), everyMs: 50 });
      for (const part of [store, revokedTokens.watch, sweeper]) part.start();
      return { store, revokedTokens, sweeper };
    });
    const names = async () => [
      ...(await objects(kubernetes, 'sessions')).map(({ spec }) => String(spec.user)),
      ...(await objects(kubernetes, 'revokedtokens')).map(({ spec }) => String(spec.kind)),
    ];

    expect(await eventually(names, (left) => left.length <= 2)).to.deep.equal(['alive', 'Refresh']);
    for (const { sweeper, store, revokedTokens } of replicas) {
      await sweeper.stop();
      await store.stop();
      await revokedTokens.watch.stop();
    }
    expect(await names()).to.deep.equal(['alive', 'Refresh']);
  });

  it('FLT-12 is kept by a replica whose clock is days ahead', async () => {
    const { kubernetes, apiServer } = cluster;
    const days = 3 * 86_400_000;
    const lines: string[] = [];
    const log = createLog({ level: 'info', format: 'json' }, { write: (line) => lines.push(line) });
    const services = servicesOf(apiServer, { log, namespace: serviceNamespace });
    await kubernetes.apply(revokedToken('kept', { kind: 'Bearer', expiration: time(Date.now() + 600_000) }));
    const kinds = async () => (await objects(kubernetes, 'revokedtokens')).map(({ spec }) => String(spec.kind));
    const store = new SessionStore(services);
    const revokedTokens = new RevokedTokens(services);
    const serverClock = new ServerClock();
    serverClock.note(new Date(Date.now() - days).toUTCString(), performance.now());
    const sweep = sessionSweep(store, revokedTokens, () => new Date(Date.now() + days));
    const sweeper = new Sweeper({ client: { serverClock }, log }, { ...sweep, everyMs: 20 });
    for (const part of [store, revokedTokens.watch]) part.start();
    await eventually(
      () => [...revokedTokens.watch.values()].length,
      (count) => count > 0,
    );
    sweeper.start();

    const told = await eventually(
      () => lines.filter((line) => line.includes('clock skew: expired objects are not deleted')),
      ({ length }) => length > 2,
    );

    expect(told[0]).to.include('4320 minutes ahead of that of kubernetes');
    for (const part of [sweeper, store, revokedTokens.watch]) await part.stop();
    expect(await kinds()).to.include('Bearer');
  });
});
