import { createLog } from '@atrium/http/telemetry/log.ts';
import { expect } from 'chai';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { runCreateAdmin } from '../../../src/create-admin.ts';
import { startControlPlane } from '../../cluster/control-plane.ts';
import { codeOf, secretIn, wasLetIn } from '../../service/factors/person.ts';
import { Browser } from '../../service/identity/browser.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { connectionWith } from '../../support/installed-cluster.ts';
import { aPage } from '../../support/static-directory.ts';
import { type ReleaseName, renderRelease } from './chart.ts';
import { type Kubectl, kubectlFor, refusalOf } from './kubectl.ts';

const password = 'correct horse battery';

/** A release with its service in this process, which calls the API server as the account of the release. */
interface Running extends ReleaseName {
  account: string;
  email: string;
  url: string;
}

const releases: ReleaseName[] = [
  { name: 'atrium', namespace: 'atrium-system' },
  { name: 'second', namespace: 'second-system' },
];
const fullnameOf = ({ name }: ReleaseName) => (name === 'atrium' ? name : `${name}-atrium`);

/** Values of the second release by docs/install.md. */
const ofSecond = { 'crds.install': false, 'roles.install': false, 'admissionPolicy.install': false };
const secondAccounts = ['second-atrium', 'second-atrium-first-admin'].map((name) => ({ namespace: 'second-system', name }));

describe('two releases of the chart in one cluster', () => {
  const plane = forSuite(() => startControlPlane({ people: ['admin'] }));
  const running: Running[] = [];
  const apps: App[] = [];
  let admin: Kubectl;

  before(async () => {
    admin = kubectlFor(plane.kubeconfig);
    for (const release of releases) {
      const isFirst = release.name === 'atrium';
      const email = `${release.name}-admin@example.com`;
      const url = `http://127.0.0.1:${await freePort()}`;
      const values = {
        'config.server.publicURL': url,
        'admin.email': email,
        ...(isFirst ? { 'admissionPolicy.serviceAccounts': secondAccounts } : ofSecond),
      };
      await admin(['create', 'namespace', release.namespace]);
      await admin(['apply', '--server-side', '--filename=-'], await renderRelease(release, values, '--skip-tests'));
      if (isFirst) await untilPoliciesApply();
      running.push({ ...release, account: fullnameOf(release), email, url });
    }
    for (const release of running) apps.push(await start(release));
  });
  after(async () => {
    for (const app of apps) await app.stop();
  });

  /** A policy takes effect a moment after its creation. */
  const untilPoliciesApply = async () => {
    await admin(['wait', '--for=condition=Established', 'crd', 'factors.auth.platform.io', 'users.auth.platform.io']);
    await eventually(
      () => refusalOf(admin(['create', '--dry-run=server', '--filename=-'], factor('atrium-system'))).catch(String),
      (text) => text.includes('factors are written by the service alone'),
    );
  };

  const connectionOf = async ({ namespace }: ReleaseName, account: string) =>
    connectionWith((await admin(['create', 'token', account, `--namespace=${namespace}`])).trim(), plane, namespace);

  async function start(release: Running): Promise<App> {
    const { email, url, account } = release;
    const config = parseConfig({
      yaml: await admin([
        'get',
        'configmap',
        `${account}-config`,
        `--namespace=${release.namespace}`,
        '--output=jsonpath={.data.config\\.yaml}',
      ]),
      environment: {
        ATRIUM_SERVER__HOST: '127.0.0.1',
        ATRIUM_SERVER__PORT: new URL(url).port,
        ATRIUM_SERVER__METRICSPORT: '0',
        ATRIUM_CONSOLE__STATIC__DIRECTORY: aPage,
      },
    });
    const job = await connectionOf(release, `${account}-first-admin`);
    const made = { config, connection: job, email, name: 'Administrator', password, secret: 'atrium-first-admin' };
    expect(await runCreateAdmin(made)).to.include('was made');
    const connection = await connectionOf(release, account);
    const app = new App({ config, connection, environment: {}, log: createLog({ level: 'silent', format: 'json' }) });
    const { metricsPort } = await app.start();
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).status,
      (status) => status === 200,
    );
    return app;
  }

  for (const { name, namespace } of releases) {
    it(`let ${name} write Users, passwords and Factors`, async () => {
      const { url, email } = running.find((release) => release.name === name) as Running;
      const browser = new Browser(url, [url]);
      const begun = await browser.get(`${url}/api/v2/token/login?token_storage=cookie&prompt=enrol&factor=totp`);
      const { auth_url } = JSON.parse(begun.body);
      const setup = await browser.submit(await browser.get(auth_url), { email, password });
      const codes = await browser.submit(setup, { code: codeOf(secretIn(setup)) });
      const back = await browser.submit(codes, {});
      expect(wasLetIn(back), back.body).to.equal(true);
      expect((await browser.get(`${url}/api/v2/token/callback${back.url.search}`)).response.status).to.equal(200);

      const factors = await admin(['get', 'factors', `--namespace=${namespace}`, '--output=jsonpath={.items[*].spec.type}']);
      expect(factors.split(' ')).to.have.members(['TOTP', 'RecoveryCodes']);
      const cookie = browser.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
      const created = await fetch(`${url}/auth/v1/users`, {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
        body: JSON.stringify({ spec: { email: `${name}-kim@example.com`, password } }),
      });
      expect(created.status, await created.clone().text()).to.equal(201);
      const secrets = await admin(['get', 'secrets', `--namespace=${namespace}`, '--output=name']);
      expect(secrets.match(/secret\/user-password-/g)).to.have.length(2);
    });

    it(`keep administrators of the cluster from writing passwords and Factors in ${namespace}`, async () => {
      const secret = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'user-password-x', namespace } });

      for (const object of [factor(namespace), secret])
        expect(await refusalOf(admin(['create', '--filename=-'], object))).to.include('are written by the service alone');
    });
  }
});

const factor = (namespace: string) =>
  JSON.stringify({
    apiVersion: 'auth.platform.io/v1',
    kind: 'Factor',
    metadata: { name: 't-jane', namespace },
    spec: { user: 'jane', userUID: 'a-uid', type: 'TOTP', sealed: 'key.text' },
  });
