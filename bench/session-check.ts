/**
 * Measures the cost of the session check for a request (docs/contract/conventions.md), with 10,000 sessions that are used in turn: time,
 * and calls to the API server. Run: node bench/session-check.ts
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { KeySeal } from '@atrium/http/seal.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import Koa, { type Context } from 'koa';
import { issuersOf } from '../src/config/issuers.ts';
import { configSchema } from '../src/config/schema.ts';
import { createIssuer } from '../src/issuer/issuer.ts';
import { Issuers } from '../src/issuer/issuers.ts';
import { VerifiedLogin } from '../src/issuer/verified-login.ts';
import { createEndAccess } from '../src/revocation/end-access.ts';
import { RevokedTokens } from '../src/revocation/revoked-tokens.ts';
import { newLogin } from '../src/sessions/login-facts.ts';
import { createSessions } from '../src/sessions/sessions.ts';
import { noLocalGroups } from '../src/users/record/local-groups.ts';
import { ClusterAdmin, serviceNamespace as namespace } from '../test/support/cluster-admin.ts';
import { servicesOf } from '../test/support/services.ts';

const sessionCount = 10_000;
const requestCount = 200_000;

const cluster = await Cluster.start();
const token = await cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
const { url, certificateAuthority: ca } = cluster;
const admin = new ClusterAdmin({ url, certificateAuthority: ca }, token);
await admin.install();

const metrics = new Metrics();
const log = createLog({ level: 'warn', format: 'json' });
const now = () => new Date();
const clock = () => performance.now();
const connection = { server: url, tls: { ca }, namespace, authorization: async () => `Bearer ${token}`, discardAuthorization() {} };
const apiServer = new KubernetesClient({ connection, requestTimeoutMs: 5_000, metrics });
const key = new KeySeal({ kid: 'bench', secret: crypto.getRandomValues(new Uint8Array(32)) }, 'session');
const seal = { seal: (text: string) => key.seal(text), open: async (text: string) => key.open(text) };
const config = configSchema.parse({
  users: { idleDays: 90 },
  kubernetes: { credentials: 'impersonate' },
  login: { issuer: 'https://issuer.example', perMinute: 600 },
});
const services = servicesOf(apiServer, { log, metrics, now, clock, config, namespace });
Object.assign(services.keyRing, { sealFor: () => seal, settled: async () => undefined });
const [first] = issuersOf(config);
if (first === undefined) throw new Error('no issuer');
const issuer = createIssuer(services, first, [first]);
const issuers = new Issuers(issuer);
const revokedTokens = new RevokedTokens(services);
const sessions = createSessions(services, {
  issuers,
  publicURL: 'https://console.example',
  localGroups: noLocalGroups,
  accounts: {
    get: () => undefined,
    values: () => [],
    find: () => undefined,
    ofSubject: () => undefined,
    ofLogin: () => undefined,
    ofLinked: () => undefined,
    ofIssuerSubject: () => [],
    ofEntry: () => [],
    ofLinkedName: () => undefined,
    administrators: () => [],
    machineUsers: () => [],
    watch: { state: 'synced', isSynced: true, isSilent: () => false, get: () => undefined, onChange: () => () => undefined } as never,
    onChange: () => () => undefined,
  },
  identify: () => Promise.reject(new Error('no call to the API server is expected')),
  revokedTokens,
  endAccess: createEndAccess(services, { revokedTokens, deleteAccessTokens: undefined }),
  markReauthenticated: undefined,
  again: () => Promise.reject(new Error('no live list is expected')),
});
sessions.start();

const koa = new Koa();
const { signal } = new AbortController();
const request = (cookie?: string): Context => {
  const message = new IncomingMessage(new Socket());
  message.method = 'GET';
  if (cookie !== undefined) message.headers.cookie = cookie;
  const ctx = koa.createContext(message, new ServerResponse(message));
  Object.assign(ctx.state, { source: '127.0.0.1', requestId: '', signal, flow: { key: '127.0.0.1' } });
  return ctx;
};

const seconds = Math.floor(Date.now() / 1000);
const cookies: string[] = [];
for (let n = 0; n < sessionCount; n += 1) {
  const ctx = request();
  const bearer = `${n}.${'x'.repeat(1500)}`;
  const claims = {
    iss: first.issuer,
    sub: `${n}`,
    exp: seconds + 3600,
    iat: seconds,
    email: `user${n}@example.com`,
    groups: ['dev', 'ops'],
  };
  const tokens = { idToken: bearer, refreshToken: 'r', issuedAt: seconds, bearer, bearerExpiresAt: claims.exp, claims };
  const user = { user: `user${n}`, userUID: undefined, subjectName: claims.email };
  const verified = new VerifiedLogin(issuer, claims);
  const login = newLogin(verified, user, { now: now(), absoluteMs: 7 * 86_400_000 });
  await sessions.context?.sessions.create(ctx, { tokens, login, verified }, signal);
  cookies.push(String(ctx.response.headers['set-cookie']).split(';', 1)[0] ?? '');
}

const upstreamCalls = async () => {
  const text = await metrics.registry.metrics();
  const counts = [...text.matchAll(/^atrium_kubernetes_request_duration_seconds_count\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
};
const microseconds = async (work: (ctx: Context) => unknown, of: readonly string[]) => {
  const contexts = Array.from({ length: requestCount }, (_, n) => request(of[n % of.length]));
  const begun = performance.now();
  for (const ctx of contexts) await work(ctx);
  return ((performance.now() - begun) * 1000) / requestCount;
};

const check = (ctx: Context) => sessions.authenticator.read(ctx, false);
const before = await upstreamCalls();
const results = {
  'loop alone': await microseconds(async () => undefined, cookies),
  'one session': await microseconds(check, cookies.slice(0, 1)),
  '1,000 sessions in turn': await microseconds(check, cookies.slice(0, 1000)),
  '10,000 sessions in turn (each opened anew)': await microseconds(check, cookies),
};
for (const [what, time] of Object.entries(results)) console.info(`${what}: ${time.toFixed(1)} µs`);
console.info(`calls to the API server: ${(await upstreamCalls()) - before} (its watches aside)`);

await sessions.stop();
await issuers.stop();
await apiServer.close();
await admin.close();
await cluster.stop();
