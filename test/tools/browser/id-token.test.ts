import { expect } from 'chai';
import { configMap, publicLabel } from '../../service/console/objects.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { LoginCluster } from '../../service/login/support.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { theConsole } from '../../support/static-directory.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn } from './demo.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the page below a base path, with an ID token from the browser', () => {
  const browser = forSuite(
    () => startChromium(),
    (it) => it.close(),
  );
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start());
  let url: string;
  let visitor: Visitor;

  before(async () => {
    await cluster.kubernetes.apply(configMap('console-logo', publicLabel, { binaryData: { 'logo.png': png } }), {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'dev-sees-users' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-users-view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'dev' }],
    });
    const port = await freePort();
    url = `http://127.0.0.1:${port}/console/`;
    const config = {
      server: { port, publicURL: url.slice(0, -1) },
      kubernetes: { credentials: 'passthrough' },
      console: { static: { directory: theConsole } },
      login: { responseMode: 'id_token' },
    };
    await cluster.service({ provider, config });
    visitor = new Visitor(await browser.newContext());
  });

  it('logs a user in, and does not store the token', async () => {
    const page = await visitor.openTab();
    const callbacks: URL[] = [];
    page.on('request', (request) => {
      const asked = new URL(request.url());
      if (asked.pathname.endsWith('/token/callback')) callbacks.push(asked);
    });
    await page.goto(`${url}users#here`);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await isLoggedIn(page, 'jane@example.com');

    expect(page.url()).to.equal(`${url}users#here`);
    expect(callbacks).to.have.lengthOf(1);
    expect(callbacks[0]?.pathname).to.equal('/console/api/v2/token/callback');
    expect(callbacks[0]?.searchParams.get('code')).to.equal('');
    expect(callbacks[0]?.searchParams.get('id_token')).to.match(/^eyJ/);
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage, ...history.state })')).not.to.match(tokenInText);
    await page.goBack();
    expect(page.url()).not.to.contain('id_token');
    await page.goto(url);
    await isLoggedIn(page, 'jane@example.com');
    expect(callbacks).to.have.lengthOf(1);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('shows the reason for which the service refuses the token', async () => {
    provider.misbehave({ idToken: { claims: { nonce: 'of another flow' } } });
    const other = new Visitor(await browser.newContext());
    const page = await other.openTab();
    await page.goto(url);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();

    expect(await alert.textContent())
      .to.contain('The login failed.')
      .and.to.contain('id_token: ');
    expect(page.url()).to.equal(url);
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).to.equal('{}');
    await other.leave();
  });
});
