/** Writes by `/api/kubernetes` that create a credential or a permission: with an old session, and with an access token. */
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { Browser } from '../identity/browser.ts';
import { Clock } from '../login/support.ts';
import { nameOf } from '../users/a-user.ts';

const password = 'correct horse';
const chief = 'chief@example.com';
const jane = 'jane@example.com';

const json = 'application/json';
const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const apply = 'application/apply-patch+yaml';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const console = '/apis/auth.platform.io/v1';
const secrets = '/api/v1/namespaces/default/secrets';
const ownSecrets = '/api/v1/namespaces/atrium-system/secrets';
const tokenType = 'kubernetes.io/service-account-token';
const label = { metadata: { labels: { a: 'b' } } };

type Write = readonly [method: string, path: string, type: string, body: unknown];

const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: jane }];
const secret = (type: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'stolen', annotations: { 'kubernetes.io/service-account.name': 'default' } },
  type,
  ...more,
});
const object = (kind: string, more: object, name = 'stolen') => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name },
  ...more,
});
const escaped = JSON.stringify(secret(tokenType)).replace(
  '"kubernetes.io/service-account-token"',
  String.raw`"\u006bubernetes.io\/service-account-token"`,
);
const noAnnotation = { ...secret('Opaque'), metadata: { name: 'harmless' } };

/** Objects whose writes create a credential or a permission, whatever the body contains. */
const byPath: readonly Write[] = [
  ['POST', `${rbac}/clusterroles`, json, object('ClusterRole', { rules })],
  ['PATCH', `${rbac}/clusterroles/view`, merge, { rules }],
  ['PUT', `${rbac}/clusterroles/view`, json, object('ClusterRole', { rules }, 'view')],
  ['PATCH', `${rbac}/clusterroles/stolen?fieldManager=me`, apply, object('ClusterRole', { rules })],
  ['POST', `${rbac}/namespaces/default/roles`, json, object('Role', { rules })],
  ['PATCH', `${rbac}/namespaces/default/roles/stolen`, merge, { rules }],
  ['POST', `${rbac}/namespaces/default/rolebindings`, json, object('RoleBinding', { roleRef, subjects })],
  ['POST', `${rbac}/clusterrolebindings`, json, object('ClusterRoleBinding', { roleRef, subjects })],
  ['PATCH', `${rbac}/clusterrolebindings/cluster-admin`, merge, { subjects }],
  ['PATCH', `${console}/groups/oncall`, merge, { spec: { users: [{ name: nameOf(jane) }] } }],
  ['PATCH', `${console}/userbindings/held`, merge, { spec: { roleRef: 'admin' } }],
  ['PATCH', `${console}/accesspolicies/held`, merge, { spec: { approvals: 1 } }],
  [
    'PATCH',
    `${console}/users/${nameOf(jane)}/status`,
    merge,
    { status: { subjects: [{ issuer: 'https://mine.example.com', sub: 'me' }] } },
  ],
  ['POST', `${console}/accesstokens`, json, {}],
  ['DELETE', `${console}/revokedtokens`, json, {}],
  ['DELETE', `${console}/namespaces/atrium-system/factors`, json, {}],
  ['PATCH', `${ownSecrets}/user-password-${nameOf(jane)}`, merge, label],
  ['PUT', `${ownSecrets}/user-password-${nameOf(jane)}`, json, noAnnotation],
  ['POST', ownSecrets, json, noAnnotation],
  ['DELETE', `${ownSecrets}/user-password-${nameOf(jane)}`, json, {}],
  ['DELETE', ownSecrets, json, {}],
  ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token', json, {}],
  ['POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', json, {}],
  ['PUT', '/apis/certificates.k8s.io/v1/certificatesigningrequests/stolen/approval', json, {}],
  ['POST', '/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests', json, {}],
];

/** Secrets of another namespace whose body creates a token, or does not show that it creates none. */
const byBody: readonly Write[] = [
  ['POST', secrets, json, secret(tokenType)],
  ['POST', secrets, 'application/json; charset=utf-8', secret(tokenType)],
  ['POST', secrets, json, escaped],
  ['POST', secrets, 'application/yaml', `apiVersion: v1\nkind: Secret\nmetadata: {name: stolen}\ntype: ${tokenType}\n`],
  [
    'POST',
    secrets,
    'application/yaml',
    'apiVersion: v1\nkind: Secret\nmetadata: {name: stolen}\ntype: "\\x6bubernetes.io/service-account-token"\n',
  ],
  ['POST', secrets, 'application/yaml', `type: !!binary ${Buffer.from(tokenType).toString('base64')}\n`],
  ['POST', secrets, 'application/vnd.kubernetes.protobuf', 'k8s\u0000'],
  ['POST', secrets, 'application/cbor', 'x'],
  ['POST', secrets, json, secret('Opaque', { data: { large: 'QUFB'.repeat(500_000) } })],
  ['PUT', `${secrets}/stolen`, json, secret(tokenType)],
  ['POST', '/api/v1/namespaces/kube-system/secrets', json, secret('bootstrap.kubernetes.io/token')],
  ['PATCH', '/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef', merge, { stringData: { 'token-secret': 'mine' } }],
  [
    'PATCH',
    '/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef',
    jsonPatch,
    [{ op: 'add', path: '/data/token-secret', value: 'bWluZQ==' }],
  ],
  ['PATCH', `${secrets}/stolen?fieldManager=me`, apply, secret(tokenType)],
  ['PATCH', `${secrets}/stolen`, merge, { metadata: { annotations: { 'kubernetes.io/service-account.name': 'other' } } }],
  ['PATCH', `${secrets}/stolen`, strategic, { type: tokenType }],
  [
    'PATCH',
    `${secrets}/stolen`,
    jsonPatch,
    [{ op: 'replace', path: '/metadata/annotations/kubernetes.io~1service-account.name', value: 'other' }],
  ],
  [
    'PATCH',
    `${secrets}/stolen`,
    jsonPatch,
    String.raw`[{"op":"replace","path":"/metadata/annotations/kubernetes.io~\u0031service-account.name","value":"other"}]`,
  ],
];

/** Writes that create neither. */
const harmless: readonly Write[] = [
  ['POST', '/api/v1/namespaces/kube-system/secrets?dryRun=All', json, { ...noAnnotation, metadata: { name: 'my-token-secret.v1' } }],
  ['POST', secrets, json, { ...noAnnotation, stringData: { a: '<b>&c \\"\n\u2028é' } }],
  ['PATCH', `${secrets}/harmless`, merge, label],
  ['PATCH', `${secrets}/harmless`, jsonPatch, [{ op: 'add', path: '/data/more', value: 'QQ==' }]],
  ['PUT', `${secrets}/harmless`, json, { ...noAnnotation, data: { large: 'QUFB'.repeat(100_000) } }],
  [
    'POST',
    '/api/v1/namespaces/default/serviceaccounts',
    json,
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'harmless' } },
  ],
  ['POST', '/api/v1/namespaces/default/configmaps', json, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'harmless' } }],
  ['DELETE', `${rbac}/clusterrolebindings/stolen`, json, {}],
  ['DELETE', `${console}/userbindings/held`, json, {}],
  ['DELETE', `${secrets}/harmless`, json, {}],
];

const operations = ['passwordReset', 'bindings', 'certificates', 'accessTokens'];

describe('writes by /api/kubernetes that make a credential or a right', () => {
  const clock = new Clock();
  const start = (stepUp: object) =>
    startEmbeddedLogin({ emails: [chief, jane], password, credentials: 'impersonate', login: { stepUp }, now: clock.now });
  const strict = forSuite(() => start({ operations }));
  const lax = forSuite(() => start({}));
  afterEach(() => clock.reset());

  const userBinding = {
    apiVersion: 'auth.platform.io/v1',
    kind: 'UserBinding',
    metadata: { name: 'held' },
    spec: { subjects: [{ kind: 'User', name: nameOf(jane) }], scope: 'platform', roleRef: 'view' },
  };

  before(async () => {
    for (const { admin } of [strict, lax]) {
      await admin.apply(clusterRoleBinding('chief', 'cluster-admin', { kind: 'User', name: chief }));
      await admin.apply({ apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'oncall' }, spec: {} }, userBinding);
    }
  });

  const staleSession = async (service: EmbeddedLogin) => {
    const { browser } = await service.logIn(chief, password);
    clock.advance(360);
    return cookieOf(browser);
  };
  const accessToken = async (service: EmbeddedLogin) => {
    const { browser } = await service.logIn(chief, password);
    const made = await service.request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: { ...cookieOf(browser), 'content-type': json },
      body: JSON.stringify({ description: 'ci' }),
    });
    const { token } = z.object({ token: z.string() }).parse(await made.json());
    return { authorization: `Bearer ${token}` };
  };
  const state = async ({ admin }: EmbeddedLogin) => {
    const paths = [
      ...[`${rbac}/clusterroles/view`, `${rbac}/clusterroles/stolen`, `${rbac}/clusterrolebindings/stolen`],
      ...[`${rbac}/namespaces/default/roles/stolen`, `${rbac}/namespaces/default/rolebindings/stolen`, `${secrets}/stolen`],
      ...[`${ownSecrets}/user-password-${nameOf(jane)}`, `${console}/groups/oncall`, `${console}/userbindings/held`],
    ];
    const answers = await Promise.all(paths.map((path) => admin.call('GET', path)));
    return answers.map(({ status, body }, index) => [
      paths[index],
      status,
      z.object({ metadata: z.object({ generation: z.int().optional() }), data: z.unknown(), rules: z.unknown() }).safeParse(body).data,
    ]);
  };

  it('S5 need a recent login where the installation requires one', async () => {
    const before = await state(strict);
    const session = await staleSession(strict);
    for (const write of [...byPath, ...byBody]) {
      const { answer, challenge } = await ask(strict, session, write);
      expect(answer, text(write)).to.equal('401 StepUpRequired');
      expect(challenge).to.contain('error="insufficient_user_authentication"');
    }
    expect(await state(strict)).to.deep.equal(before);
  });

  for (const [name, service] of [
    ['with', strict],
    ['without', lax],
  ] as const)
    it(`S6 are refused to an access token, ${name} step-up for sessions`, async () => {
      const before = await state(service);
      const token = await accessToken(service);
      for (const write of [...byPath, ...byBody])
        expect((await ask(service, token, write)).answer, text(write)).to.equal('403 AccessTokenNotAllowed');
      expect(await state(service)).to.deep.equal(before);
    });

  it('S5 S6 leave other writes and deletions to the API server', async () => {
    for (const credential of [await accessToken(strict), await staleSession(strict)]) {
      await strict.admin.apply(userBinding, object('ClusterRoleBinding', { roleRef: { ...roleRef, name: 'view' }, subjects }) as never);
      for (const write of harmless) expect((await ask(strict, credential, write)).answer, text(write)).to.match(/^20[01] /);
      for (const name of ['serviceaccounts', 'configmaps']) await strict.admin.remove(`/api/v1/namespaces/default/${name}/harmless`);
    }
  });

  it('S6 hold few bodies of a caller in memory at a time', async () => {
    const headers = { ...(await accessToken(strict)), 'content-type': json };
    const bodies = Array.from({ length: 8 }, () => new PassThrough());
    const held = bodies.map((body) => strict.request(`/api/kubernetes${secrets}`, { method: 'POST', headers, body, duplex: 'half' }));
    for (const body of bodies) body.write('{');
    await eventually(
      () => ask(strict, headers, ['PATCH', `${secrets}/harmless`, merge, label]),
      ({ answer }) => answer.startsWith('429'),
    );
    for (const body of bodies) body.end(JSON.stringify(secret(tokenType)).slice(1));
    for (const { status } of await Promise.all(held)) expect(status).to.equal(403);
    await eventually(
      () => ask(strict, headers, ['PATCH', `${secrets}/harmless`, merge, label]),
      ({ answer }) => answer.startsWith('404'),
    );
  });

  it('S5 are done after a recent login, and without one where the installation asks for none', async () => {
    const fresh = async (service: EmbeddedLogin) => cookieOf((await service.logIn(chief, password)).browser);
    for (const [service, logIn] of [
      [strict, fresh],
      [lax, staleSession],
    ] as const) {
      const credential = await logIn(service);
      expect((await ask(service, credential, ['POST', secrets, json, secret(tokenType)])).answer).to.equal('201 undefined');
      expect((await ask(service, credential, ['PATCH', `${rbac}/clusterroles/view`, merge, label])).answer).to.equal('200 undefined');
      await service.admin.remove(`${secrets}/stolen`);
    }
  });
});

const failure = z.object({ details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) });

async function ask(service: EmbeddedLogin, credential: Record<string, string>, [method, path, type, body]: Write) {
  const response = await service.request(`/api/kubernetes${path}`, {
    method,
    headers: { ...credential, 'content-type': type },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  const reason = failure.safeParse(answer).data?.details.causes[0]?.reason;
  return { answer: `${response.status} ${reason}`, challenge: response.headers.get('www-authenticate') };
}

const text = ([method, path, type, body]: Write) => `${method} ${path} ${type} ${JSON.stringify(body).slice(0, 120)}`;

const cookieOf = ({ cookies }: Pick<Browser, 'cookies'>) => ({
  cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
  'sec-fetch-site': 'same-origin',
});
