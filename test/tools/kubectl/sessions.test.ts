import { expect } from 'chai';
import { Browser } from '../../service/login/provider/browser.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { LoginCluster, type Service } from '../../service/login/support.ts';
import { cookieName, expiresCookie, refresh, session } from '../../service/sessions/support.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { kubectl } from '../../support/kubectl.ts';

describe('kubectl delete session', () => {
  const provider = forSuite(() => TestProvider.start());
  const cluster = forSuite(() => LoginCluster.start());
  let replicas: Service[];

  before(async () => {
    replicas = [await cluster.service({ provider }), await cluster.service({ provider })];
  });

  /** Returns a browser for each replica, all with the same session. */
  const browsersWith = (secret: string) =>
    replicas.map(({ url }) => {
      const browser = new Browser(url);
      browser.cookies.set(cookieName, secret);
      return browser;
    });
  const asAdmin = async (...args: string[]) => kubectl(await cluster.adminTarget(), `--namespace=${serviceNamespace}`, ...args);

  it('ends that session on every replica, and no other', async () => {
    const [first = { url: '' }] = replicas;
    const ended = await session(first);
    const other = await session(first);
    for (const browser of [...browsersWith(ended.secret), ...browsersWith(other.secret)])
      expect((await browser.info('v2')).status).to.equal(200);
    const name = ended.path.split('/').at(-1) ?? '';
    const listed = await asAdmin('get', 'sessions', '--output=name');
    expect(listed.stdout.split('\n')).to.include(`session.auth.platform.io/${name}`);

    const deleted = await asAdmin('delete', 'session', name);

    const stdout = `session.auth.platform.io "${name}" deleted from ${serviceNamespace} namespace\n`;
    expect(deleted).to.include({ isDone: true, stdout });
    for (const browser of browsersWith(ended.secret)) {
      const refused = await eventually(
        () => browser.info('v2'),
        ({ status }) => status === 401,
      );
      expect(expiresCookie(refused)).to.equal(true);
    }
    for (const browser of browsersWith(ended.secret)) expect((await refresh(browser, ended.handle)).status).to.equal(401);
    for (const browser of browsersWith(other.secret)) expect((await browser.info('v2')).status).to.equal(200);
  });
});
