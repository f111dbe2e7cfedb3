/** Requests that the tracer follows through the service. Must be imported after the tracer. */
import { z } from 'zod';
import { AccessRequests, aPolicy, user } from '../test/service/access-requests/support.ts';
import { aNamespace, applyKnown } from '../test/service/bindings/support.ts';
import { configMap } from '../test/service/console/objects.ts';
import { authorize, Browser, logIn, loginInfoOf, userInfoOf } from '../test/service/login/provider/browser.ts';
import { TestProvider } from '../test/service/login/provider/provider.ts';
import { LoginCluster } from '../test/service/login/support.ts';
import { aUser, nameOf } from '../test/service/users/a-user.ts';
import { eventually } from '../test/support/cluster-admin.ts';
import { startEmbeddedLogin } from '../test/support/embedded-login.ts';
import { startServer } from '../test/support/server.ts';

export interface Journey {
  name: string;
  method: string;
  /** Path of the traced request, or its prefix. */
  path: string;
  /** Sends the request and those that it requires. @throws Error for another status than the expected one */
  ask(): Promise<void>;
}

const password = 'correct horse';

async function expectStatus(answer: Promise<{ status: number }>, status = 200): Promise<void> {
  const given = await answer;
  if (given.status !== status) throw new Error(`${status} was expected, not ${given.status}`);
  if (given instanceof Response) await given.arrayBuffer();
}

/** Repeats a request until the watches of the service have seen the rights and plugins that it requires. */
async function untilAnswered(ask: () => Promise<void>): Promise<void> {
  await eventually(
    () => ask().then(() => 'answered', String),
    (outcome) => outcome === 'answered',
  );
}

/** Starts a service with an external issuer, one with the embedded issuer, and one with access requests. */
export async function startJourneys(): Promise<{ journeys: readonly Journey[]; stop(): Promise<void> }> {
  const embedded = await startEmbeddedLogin({ emails: ['jane@example.com'], password });
  const approval = await startApproval();
  const provider = await TestProvider.start({});
  const cluster = await LoginCluster.start();
  const service = await cluster.service({ provider, config: { kubernetes: { accessCache: '1m' } } });
  const isPlugin = { 'console.platform.io/public': 'true', 'console.platform.io/plugin': 'cost' };
  await cluster.kubernetes.apply(...mayWriteUsers, configMap('cost', isPlugin, { data: { 'plugin-manifest.json': '{"name":"cost"}' } }));
  const first = await logIn(service, { storage: 'local' });
  const { ext, email = '' } = userInfoOf(first.callback);
  const { access_token: bearer = '', refresh_token: given = '' } = ext.token ?? {};
  const authorization = `Bearer ${bearer}`;
  const users = `${service.url}/auth/v1/users`;
  const { browser: session } = await logIn(service, { storage: 'cookie' });
  let refreshToken = given;
  let patches = 0;
  const journeys: Journey[] = [
    {
      name: 'users-list',
      method: 'GET',
      path: '/auth/v1/users',
      ask: () => expectStatus(fetch(`${users}?limit=20&page=1`, { headers: { authorization } })),
    },
    {
      name: 'users-cookie',
      method: 'GET',
      path: '/auth/v1/users',
      ask: () => expectStatus(session.request('/auth/v1/users?limit=20&page=1')),
    },
    {
      name: 'refresh',
      method: 'GET',
      path: '/api/v2/token/refresh',
      async ask() {
        const response = await fetch(`${service.url}/api/v2/token/refresh?${new URLSearchParams({ refresh_token: refreshToken })}`);
        refreshToken = z.object({ refresh_token: z.string() }).parse(await response.json()).refresh_token;
      },
    },
    {
      name: 'callback',
      method: 'GET',
      path: '/api/v2/token/callback',
      async ask() {
        const browser = new Browser(service.url);
        const info = loginInfoOf(await browser.login('v2', { token_storage: 'cookie' }));
        const reply = await browser.callback('v2', await authorize(info.auth_url));
        const { refresh_token = '' } = userInfoOf(reply).ext.token ?? {};
        // The callback counts the user's sessions: each trace must find the same number.
        await expectStatus(browser.request(`/api/v2/token/logout?${new URLSearchParams({ refresh_token })}`));
      },
    },
    {
      name: 'login-page',
      method: 'POST',
      path: '/identity/',
      async ask() {
        const { refusal } = await embedded.authorize('jane@example.com', password);
        if (refusal !== 303) throw new Error(`303 was expected, not ${refusal}`);
      },
    },
    {
      name: 'first-request',
      method: 'GET',
      path: '/auth/v1/users',
      // No cache knows a new user: the token is verified, and the API server decides.
      async ask() {
        const { person } = provider;
        provider.become();
        const { callback } = await logIn(service, { storage: 'local' });
        provider.person = person;
        const headers = { authorization: `Bearer ${userInfoOf(callback).ext.token?.access_token}` };
        await expectStatus(fetch(`${users}?limit=20&page=1`, { headers }));
      },
    },
    approval.journey,
    {
      name: 'patch-user',
      method: 'PATCH',
      path: '/auth/v1/users/',
      ask: () =>
        expectStatus(
          fetch(`${users}/${nameOf(email)}`, {
            method: 'PATCH',
            headers: { authorization, 'content-type': 'application/merge-patch+json' },
            body: JSON.stringify({ spec: { username: `Journey ${++patches}` } }),
          }),
        ),
    },
    { name: 'static-file', method: 'GET', path: '/', ask: () => expectStatus(fetch(`${service.url}/`)) },
    {
      name: 'plugin-file',
      method: 'GET',
      path: '/plugins/',
      ask: () => expectStatus(fetch(`${service.url}/plugins/cost/plugin-manifest.json`)),
    },
    {
      name: 'kubernetes',
      method: 'GET',
      path: '/api/kubernetes/',
      ask: () => expectStatus(fetch(`${service.url}/api/kubernetes/api/v1/namespaces`, { headers: { authorization } }), 403),
    },
  ];
  for (const { ask } of journeys) await untilAnswered(ask);
  const stop = async () => {
    await service.stop();
    await cluster.stop();
    await provider.stop();
    await embedded.stop();
    await approval.stop();
  };
  return { journeys, stop };
}

/** Starts a service where bob approves a request of alice, who ends it afterwards. */
async function startApproval(): Promise<{ journey: Journey; stop(): Promise<void> }> {
  const server = await startServer({ config: { features: { accessRequests: true } } });
  const access = new AccessRequests(server);
  await server.kubernetes.apply(aNamespace('shop'));
  await applyKnown(server, ...['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
  await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')] }));
  const journey = {
    name: 'approval',
    method: 'POST',
    path: '/auth/v1/accessrequests/',
    async ask() {
      const request = await access.asked({ as: 'alice' });
      await expectStatus(access.decide({ as: 'bob' }, request));
      await expectStatus(access.end({ as: 'alice' }, request));
    },
  };
  return { journey, stop: () => server.stop() };
}

const mayWriteUsers = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'journeys' },
    rules: [{ apiGroups: ['auth.platform.io'], resources: ['users'], verbs: ['list', 'get', 'patch'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'journeys' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'journeys' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
  },
];
