/** Operations that require a recent login if the installation is configured so (`login.stepUp.operations`). */
import { expect } from 'chai';
import { z } from 'zod';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { Browser } from '../identity/browser.ts';
import { Clock } from '../login/support.ts';
import { nameOf } from '../users/a-user.ts';

const password = 'correct horse';
const chief = 'chief@example.com';
const jane = 'jane@example.com';
const failure = z.object({ details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) });
const operations = ['passwordReset', 'bindings', 'certificates', 'accessTokens'];

const roleBinding = {
  metadata: { name: 'stolen' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: jane }],
};
const clusterBinding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', ...roleBinding };
const userBinding = {
  metadata: { name: 'stolen' },
  spec: { subjects: [{ kind: 'User', name: nameOf(jane) }], scope: 'platform', roleRef: 'view' },
};

/** Writes for which a thief would use a stolen session. */
const writes: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ['PATCH', `/auth/v1/users/${nameOf(jane)}`, { spec: { password: 'another horse battery' } }],
  ['POST', '/auth/v2/userbindings', userBinding],
  ['POST', '/auth/v1/authorize', { spec: {} }],
  ['POST', '/auth/v1/accesstoken', { description: 'stolen' }],
  ['POST', '/api/kubernetes/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', clusterBinding],
  ['PATCH', '/api/kubernetes/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-admin', { metadata: { labels: { a: 'b' } } }],
  ['POST', '/api/kubernetes/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', { ...clusterBinding, kind: 'RoleBinding' }],
  [
    'POST',
    '/api/kubernetes/apis/auth.platform.io/v1/userbindings',
    { apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', ...userBinding },
  ],
  ['POST', '/api/kubernetes/apis/certificates.k8s.io/v1/certificatesigningrequests', {}],
  ['POST', '/api/kubernetes/api/v1/namespaces/default/serviceaccounts/default/token', {}],
];

describe('operations that require a recent login by configuration', () => {
  const clock = new Clock();
  const start = (stepUp: object) =>
    startEmbeddedLogin({ emails: [chief, jane], password, credentials: 'impersonate', login: { stepUp }, now: clock.now });
  const strict = forSuite(() => start({ maxAge: '5m', operations }));
  const patient = forSuite(() => start({ maxAge: '1h', operations }));
  const lax = forSuite(() => start({ maxAge: '5m' }));
  /** Moves the clock of the services to more than five minutes after the login. */
  const later = () => clock.advance(360);
  afterEach(() => clock.reset());

  before(async () => {
    for (const { admin } of [strict, patient, lax])
      await admin.apply(clusterRoleBinding('chief', 'cluster-admin', { kind: 'User', name: chief }));
  });

  const ask = async (service: EmbeddedLogin, { cookies }: Browser, [method, path, body]: (typeof writes)[number]) => {
    const response = await service.request(path, {
      method,
      headers: {
        cookie: cookieOf({ cookies }),
        'sec-fetch-site': 'same-origin',
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, challenge: response.headers.get('www-authenticate'), body: (await response.json()) as unknown };
  };
  const reasonIn = ({ body }: { body: unknown }) => failure.safeParse(body).data?.details.causes[0]?.reason;

  it('MFA-15 refuse an old login, and the same write by /api/kubernetes', async () => {
    const { browser } = await strict.logIn(chief, password);
    later();
    for (const write of writes) {
      const answer = await ask(strict, browser, write);
      expect(`${answer.status} ${reasonIn(answer)}`, write[1]).to.equal('401 StepUpRequired');
      expect(answer.challenge).to.equal('Bearer realm="atrium", error="insufficient_user_authentication", max_age="300"');
    }
    for (const path of ['rbac.authorization.k8s.io/v1/clusterrolebindings', 'auth.platform.io/v1/userbindings'])
      expect((await strict.admin.call('GET', `/apis/${path}/stolen`)).status, path).to.equal(404);
    expect((await strict.logIn(jane, password)).status).to.equal(200);
    expect((await strict.request('/auth/v1/me', { headers: { cookie: cookieOf(browser) } })).status, 'the session lives').to.equal(200);
  });

  it('accept a recent login, and any login without the setting', async () => {
    for (const service of [patient, lax]) {
      const { browser } = await service.logIn(chief, password);
      if (service === lax) later();
      for (const write of writes) expect(reasonIn(await ask(service, browser, write)), write[1]).not.to.equal('StepUpRequired');
      expect((await service.admin.call('GET', '/apis/auth.platform.io/v1/userbindings/stolen')).status).to.equal(200);
    }
  });

  it('revoke permissions without one, and change the password of the caller with the old one', async () => {
    const { browser } = await strict.logIn(chief, password);
    await strict.admin.apply({ apiVersion: 'auth.platform.io/v1', kind: 'UserBinding', ...userBinding });
    later();
    const headers = { cookie: cookieOf(browser), 'sec-fetch-site': 'same-origin' };
    expect((await strict.request('/auth/v2/userbindings/stolen', { method: 'DELETE', headers })).status).to.equal(204);
    const own = { spec: { password: 'another horse battery', old_password: password } };
    expect((await ask(strict, browser, ['PATCH', `/auth/v1/users/${nameOf(chief)}`, own])).status).to.equal(200);
  });
});

const cookieOf = ({ cookies }: Pick<Browser, 'cookies'>) => cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
