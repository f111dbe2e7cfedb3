import { hash, randomUUID } from 'node:crypto';
import { cookieNames } from '@atrium/http/cookies/cookies.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { apiServer as startCluster } from '../../support/api-server.ts';
import { ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Browser, type BrowserRequest, type LogIn, logIn, type Reply, renewPayloadOf, userInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, publicURL } from '../login/support.ts';

export const sessionsPath = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/sessions`;

interface SessionObject {
  metadata: { name: string; ownerReferences?: { kind: string; name: string; uid: string }[] };
  spec: Record<string, string>;
}

/** Starts a service with an identity provider for the tests of a `describe`. The provider is correct at the start of each test. */
export function aService() {
  const cluster = forSuite(() => LoginCluster.start());
  const provider = forSuite(() => TestProvider.start({ now: cluster.clock.now }));
  const service = forSuite(() => cluster.service({ provider, config: { login: { perMinute: 100_000 } } }));
  beforeEach(() => {
    provider.misbehave();
    provider.forgetRequests();
  });
  return { cluster, provider, service };
}

/** Starts a service with an identity provider, and another replica. */
export function twoReplicas() {
  const { cluster, provider, service } = aService();
  return { cluster, provider, service, other: forSuite(() => cluster.service({ provider })) };
}

/** A session in a browser. */
export interface LoggedIn {
  browser: Browser;
  /** Value of the cookie. */
  secret: string;
  handle: string;
  /** Path of the Session object. */
  path: string;
  /** Name of the User record. */
  user: string;
}

export const sessionCookieOf = (url: string) => cookieNames(url).host('session');
export const cookieName = sessionCookieOf(publicURL);

/** Logs a user in with storage `cookie`, as soon as the service is ready. */
export async function session(service: { url: string }, options: LogIn = {}): Promise<LoggedIn> {
  await whenReady(service);
  const { browser, callback } = await logIn(service, options);
  expect(callback.status, callback.text).to.equal(200);
  const { ext } = userInfoOf(callback);
  const secret = browser.cookies.get(cookieName) ?? browser.cookies.get(sessionCookieOf(service.url)) ?? '';
  return {
    browser,
    secret,
    handle: ext.token?.refresh_token ?? '',
    path: sessionPath(secret),
    user: String(ext.user),
  };
}

/** Logs a user in with storage `local`. */
export async function tokens(service: { url: string }, options: LogIn = {}) {
  await whenReady(service);
  const { browser, callback } = await logIn(service, { ...options, storage: 'local' });
  expect(callback.status, callback.text).to.equal(200);
  const { access_token: bearer = '', refresh_token: refreshToken = '' } = userInfoOf(callback).ext.token ?? {};
  return { browser, bearer, refreshToken };
}

/** Waits until a new service has read its keys. */
async function whenReady({ url }: { url: string }): Promise<void> {
  await eventually(
    async () => (await fetch(`${url}/api/v2/token/login`)).status,
    (status) => status === 200,
  );
}

export const sessionPath = (secret: string) => `${sessionsPath}/s-${hash('sha256', secret)}`;

export async function sessionObject(kubernetes: ClusterAdmin, path: string): Promise<SessionObject | undefined> {
  const { status, body } = await kubernetes.call('GET', path);
  return status === 200 ? (body as SessionObject) : undefined;
}

export async function objects(kubernetes: ClusterAdmin, resource: 'sessions' | 'revokedtokens'): Promise<SessionObject[]> {
  const { body } = await kubernetes.call('GET', resource === 'sessions' ? sessionsPath : '/apis/auth.platform.io/v1/revokedtokens');
  return (body as { items: SessionObject[] }).items;
}

export const refresh = (browser: Browser, token: string, options: BrowserRequest = {}): Promise<Reply> =>
  browser.request(`/api/v2/token/refresh?${new URLSearchParams({ refresh_token: token })}`, options);

export const logout = (browser: Browser, token: string, options: BrowserRequest = {}): Promise<Reply> =>
  browser.request(`/api/v2/token/logout?${new URLSearchParams({ refresh_token: token })}`, options);

export const handleOf = (reply: Reply): string => renewPayloadOf(reply).refresh_token ?? '';

/** Requests the user information of a bearer token from a replica. */
export const info = ({ url }: { url: string }, bearer: string): Promise<Reply> => new Browser(url).info('v2', bearer);

/**
 * Expects tokens to be invalid on all replicas: at once on the first, which has ended them, and on the others when they have learned of it.
 */
export async function expectEnded(replicas: { url: string }[], { bearer, refreshToken }: { bearer: string; refreshToken: string }) {
  for (const [index, at] of replicas.entries()) {
    const refused = (ask: () => Promise<Reply>) => (index === 0 ? ask() : eventually(ask, ({ status }) => status === 401));
    expect((await refused(() => info(at, bearer))).body).to.have.nested.property('details.causes[0].reason', 'TokenRevoked');
    expect((await refused(() => refresh(new Browser(at.url), refreshToken))).status).to.equal(401);
    expect((await logout(new Browser(at.url), refreshToken)).status).to.equal(401);
  }
}

/** Waits until a replica has all current RevokedTokens; its watch may not have delivered the last ones yet. */
export async function whenHeard({ metricsURL }: { metricsURL: string }, kubernetes: ClusterAdmin): Promise<void> {
  const { length } = await objects(kubernetes, 'revokedtokens');
  const followed = async () => {
    const metrics = await (await fetch(`${metricsURL}/metrics`)).text();
    return Number(/^atrium_watch_objects\{watch="revokedtokens"\} (\d+)$/m.exec(metrics)?.[1]);
  };
  await eventually(followed, (count) => count >= length);
}

/** Returns the RevokedTokens, without those of login flows. */
export const revoked = async (kubernetes: ClusterAdmin) =>
  (await objects(kubernetes, 'revokedtokens')).filter(({ spec }) => spec.kind !== 'Flow');

/** Makes the provider log in another user, whose session there continues: every login through it has the same `sid` and `auth_time`. */
export function becomeOfOneSession(provider: TestProvider, { now }: { now(): Date }): void {
  const sub = `keeper-${randomUUID()}`;
  provider.become(sub, { sid: `session-of-${sub}`, auth_time: Math.floor(now().getTime() / 1000) - 100 });
}

/** Counts how often a refresh token was redeemed at the provider. */
export const exchanges = (provider: TestProvider): number =>
  provider.requests.filter(({ endpoint, parameters }) => endpoint === 'token' && parameters.get('grant_type') === 'refresh_token').length;

/** Returns the name of a RevokedToken (docs/contract/resources.md). */
export const revokedName = (kind: string, text: string) => `rt-${hash('sha256', `${kind}\0${text}`).slice(0, 40)}`;

/** Reports whether an answer expires the session cookie. */
export const expiresCookie = ({ cookies }: Reply): boolean =>
  cookies.some((line) => line.startsWith(`${cookieName}=;`) && /Max-Age=0/.test(line));

/** Changes the record of a user. */
export async function patchUser(kubernetes: ClusterAdmin, user: string, patch: unknown, subresource = ''): Promise<void> {
  const path = `/apis/auth.platform.io/v1/users/${user}${subresource}`;
  const { status, body } = await kubernetes.call('PATCH', path, patch, { 'content-type': 'application/merge-patch+json' });
  expect(status, JSON.stringify(body)).to.equal(200);
}

export const time = (milliseconds: number) => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z');

/** Returns a Session object as a replica creates it, for a cookie with that secret. */
export const sessionManifest = (secret: string, ends: Record<string, number>) => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'Session',
  metadata: { name: `s-${hash('sha256', secret)}`, namespace: serviceNamespace },
  spec: {
    user: secret,
    sealed: 'x',
    createdAt: time(Date.now() - 86_400_000),
    ...Object.fromEntries(Object.entries(ends).map(([key, end]) => [key, time(end)])),
  },
});

/** Path of the operations on sessions. */
export const operations = '/auth/v1/sessions';
/** Name of a session that does not exist. */
export const unknownSession = `s-${'0'.repeat(64)}`;

interface Item {
  metadata: { name: string };
  spec: Record<string, string>;
  current?: true;
}

export const itemsOf = ({ body }: Reply) => (body as { items: Item[] }).items;
export const namesOf = (reply: Reply) => itemsOf(reply).map(({ metadata }) => metadata.name);
/** Returns the name of the Session object. */
export const nameOf = (one: LoggedIn) => one.path.split('/').at(-1) ?? '';

/** Lets keeper@example.com list and delete sessions. */
export const allowKeeper = (kubernetes: ClusterAdmin, verbs = ['list', 'delete']): Promise<void> => {
  const rules = [{ apiGroups: ['auth.platform.io'], resources: ['sessions'], verbs }];
  const metadata = { name: 'session-keeper', namespace: serviceNamespace };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'keeper@example.com' }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'session-keeper' };
  return kubernetes.apply(
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata, subjects, roleRef },
  );
};

/** Logs in keeper@example.com, who is the provider's user from now on. */
export function keeper(service: { url: string }, provider: TestProvider): Promise<LoggedIn> {
  provider.become('keeper');
  return session(service);
}

/** Reports whether the cookie of a session is valid at that replica. */
export async function isIn({ secret }: LoggedIn, { url }: { url: string }): Promise<boolean> {
  const browser = new Browser(url);
  browser.cookies.set(cookieName, secret);
  return (await browser.info('v2')).status === 200;
}

export const whenOut = (one: LoggedIn, replica: { url: string }) =>
  eventually(
    () => isIn(one, replica),
    (stillIn) => !stillIn,
  );

/** A cluster with the objects of an installation, and a client of it, without a service. */
export interface BareCluster {
  kubernetes: ClusterAdmin;
  apiServer: KubernetesClient;
  /** Metrics of the client. */
  metrics: Metrics;
  stop(): Promise<void>;
}

export async function bareCluster(): Promise<BareCluster> {
  const cluster = await startCluster({ isReused: true });
  const token = await cluster.token('admin');
  const { url, certificateAuthority: ca } = cluster;
  const kubernetes = new ClusterAdmin({ url, certificateAuthority: ca }, token);
  await kubernetes.install();
  const metrics = new Metrics();
  const authorization = async () => `Bearer ${token}`;
  const connection = { server: url, tls: { ca }, namespace: serviceNamespace, authorization, discardAuthorization() {} };
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics });
  return {
    kubernetes,
    apiServer,
    metrics,
    async stop() {
      await apiServer.close();
      await kubernetes.close();
      await cluster.stop();
    },
  };
}
