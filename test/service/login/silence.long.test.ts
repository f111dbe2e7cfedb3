import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { logout, patchUser, refresh, session, tokens } from '../sessions/support.ts';
import { Browser } from './provider/browser.ts';
import { TestProvider } from './provider/provider.ts';
import { LoginCluster, type Service } from './support.ts';

describe('a replica whose watches say nothing', () => {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() => cluster.service({ provider }));
  const cutOff = forSuite(() => cluster.service({ provider }));
  const silent = forSuite(() => cluster.service({ provider }));

  it('END-04 refuses credentials within a minute after their end on another replica, never accepts them again, and recovers with the connection', async () => {
    const at = ({ url }: Service, cookies: ReadonlyMap<string, string> = new Map()) => {
      const browser = new Browser(url);
      for (const [name, value] of cookies) browser.cookies.set(name, value);
      return browser;
    };
    const out = await session(service);
    const kept = await tokens(service);
    provider.person = { ...provider.person, sub: 'disabled', email: 'disabled@example.com' };
    const disabled = await session(service);
    provider.person = { ...provider.person, sub: 'honest', email: 'honest@example.com' };
    const honest = await session(service);
    const ended: ((replica: Service) => Promise<{ status: number }>)[] = [
      (replica) => at(replica, out.browser.cookies).info('v2'),
      (replica) => at(replica).info('v2', kept.bearer),
      (replica) => refresh(at(replica), kept.refreshToken),
      (replica) => at(replica, disabled.browser.cookies).info('v2'),
    ];
    const cookies = new Map(honest.browser.cookies);
    for (const replica of [cutOff, silent]) {
      expect((await at(replica, out.browser.cookies).info('v2')).status).to.equal(200);
      expect((await at(replica, disabled.browser.cookies).info('v2')).status).to.equal(200);
      expect((await at(replica, cookies).info('v2')).status).to.equal(200);
    }

    await cutOff.relay.cut();
    silent.relay.fallSilent();
    await patchUser(cluster.kubernetes, disabled.user, { spec: { is_disabled: true } });
    expect((await logout(at(service, out.browser.cookies), out.handle)).status).to.equal(200);
    expect((await logout(at(service), kept.refreshToken)).status).to.equal(200);
    for (const replica of [cutOff, silent])
      await eventually(
        () => at(replica, cookies).info('v2'),
        ({ status, headers }) => status === 503 && headers.has('retry-after'),
      );
    for (let round = 0; round < 5; round += 1) {
      for (const replica of [cutOff, silent])
        for (const ask of ended) expect((await ask(replica)).status, `${round}`).to.be.oneOf([401, 503]);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }

    await cutOff.relay.mend();
    await eventually(
      () => at(cutOff, cookies).info('v2'),
      ({ status }) => status === 200,
    );
    for (const ask of ended) expect((await ask(cutOff)).status).to.equal(401);
  });
});
