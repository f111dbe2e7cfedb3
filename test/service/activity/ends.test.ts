/** Reasons of the ends of connections to containers. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { closeOpened, cookieOf, echo, logIn, openUpgrade, startProxy } from '../proxy/support.ts';
import { people, shellIn } from '../recordings/support.ts';

describe('the event of the end of a connection', () => {
  const between = new ApiServerBetween();
  const stores = forSuite(
    async () => ({ store: await SqliteStore.open(':memory:') }),
    ({ store }) => store.stop(),
  );

  beforeEach(() => echo(between));
  afterEach(closeOpened);

  /** Waits for the end of the connection to a pod. */
  async function endOf(pod: string): Promise<Pick<AuditEvent, 'outcome' | 'reason'>> {
    const { events } = await eventually(
      () => stores.store.list({ name: pod }, { limit: 1 }),
      (page) => page.events[0]?.stage === 'ResponseComplete',
    );
    const [{ outcome, reason } = expect.fail('no event')] = events;
    return { outcome, ...(reason !== undefined && { reason }) };
  }

  async function start(proxy = {}) {
    const server = await startServer({
      ...{ between: between.start, auditStore: stores.store, objects: people },
      config: { kubernetes: { proxy } },
    });
    const headers = { Authorization: `Bearer ${await server.token('alice')}` };
    const open = async (pod: string) => {
      const { status, socket } = await openUpgrade(server, headers, { path: shellIn(pod) });
      expect(status).to.equal(101);
      socket?.resume();
      return socket;
    };
    return { server, open };
  }

  it('has no reason if the user leaves', async () => {
    const { server, open } = await start();
    (await open('left'))?.destroy();
    expect(await endOf('left')).to.deep.equal({ outcome: 'success' });
    await server.stop();
  });

  it('tells that the right was lost', async () => {
    const { server, open } = await start();
    await open('unbound');
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/alice-shells';
    expect((await server.kubernetes.call('DELETE', path)).status).to.equal(200);
    expect(await endOf('unbound')).to.deep.equal({ outcome: 'success', reason: 'AccessLost' });
    await server.stop();
  });

  it('tells that the connection was silent', async () => {
    const { server, open } = await start({ idleTimeout: '300ms' });
    await open('silent');
    expect(await endOf('silent')).to.deep.equal({ outcome: 'success', reason: 'IdleTimeout' });
    await server.stop();
  });

  it('tells that the service has stopped', async () => {
    const { server, open } = await start();
    await open('stopped');
    await server.stopFirst();
    expect(await endOf('stopped')).to.deep.equal({ outcome: 'success', reason: 'Shutdown' });
    await server.stop();
  });

  it('tells that the session has ended', async () => {
    const server = await startProxy(between, { auditStore: stores.store });
    const headers = { ...cookieOf(await logIn(server)), Origin: server.url };
    const { socket } = await openUpgrade(server, headers, { path: shellIn('logged-out') });
    socket?.resume();
    expect((await server.request('/auth/v1/sessions', { method: 'DELETE', headers })).status).to.be.oneOf([200, 204]);
    expect(await endOf('logged-out')).to.deep.equal({ outcome: 'success', reason: 'CredentialEnded' });
    await server.stop();
  });
});
