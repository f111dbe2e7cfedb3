import { expect } from 'chai';
import { type Flow, logIn, type Reply, userInfoOf, type Version } from '../../login/provider/browser.ts';
import type { Misbehaviour } from '../../login/provider/misbehaviour.ts';
import { type ProviderOptions, TestProvider } from '../../login/provider/provider.ts';
import { LoginCluster, type Service, type ServiceOptions } from '../../login/support.ts';

/** The service under test and the provider that tests it. */
export interface RelyingParty {
  cluster: LoginCluster;
  provider: TestProvider;
  /** Service with impersonation, which verifies the tokens itself. */
  service: Service;
  /** Starts a service with passthrough on a cluster that trusts the provider, at the first call. */
  forwarding(): Promise<Service>;
}

export interface PartyOptions extends ProviderOptions {
  config?: ServiceOptions['config'];
  /** Prepares the provider before the service reads it. */
  prepare?: (provider: TestProvider) => Promise<void> | void;
}

/** Starts a service and a provider for all tests of a `describe`. The provider is correct again after each test. */
export function relyingParty({ config = {}, prepare, ...options }: PartyOptions = {}): () => RelyingParty {
  const started: { stop(): Promise<void> }[] = [];
  let party: RelyingParty | undefined;
  const partyNow = () => {
    if (party === undefined) throw new Error('not started');
    return party;
  };
  before(async () => {
    const provider = await TestProvider.start({ tls: true, ...options });
    started.unshift(provider);
    const cluster = await LoginCluster.start({ trusts: provider });
    started.unshift(cluster);
    await prepare?.(provider);
    let forwarding: Promise<Service> | undefined;
    party = {
      cluster,
      provider,
      service: await cluster.service({ provider, config }),
      forwarding() {
        forwarding ??= cluster.service({
          provider,
          config: { ...config, kubernetes: { ...config.kubernetes, credentials: 'passthrough' } },
        });
        return forwarding;
      },
    };
  });
  afterEach(() => {
    partyNow().provider.misbehave();
    partyNow().provider.forgetRequests();
  });
  after(async () => {
    for (const one of started) await one.stop();
  });
  return partyNow;
}

interface Way {
  flow: Flow;
  version: Version;
  storage: 'cookie' | 'local';
}

/** Combinations of version and storage, with each version and each storage at least once. */
export const waysOf = (flow: Flow): readonly Way[] => [
  { flow, version: 'v1', storage: 'cookie' },
  { flow, version: 'v2', storage: 'local' },
];

/** Expects the login to succeed, with a credential that is valid for the next request. */
export async function expectAccepted({ service, forwarding }: RelyingParty, way: Way): Promise<void> {
  for (const one of [service, await forwarding()]) await expectLogIn(one, way);
}

export async function expectLogIn(service: Service, way: Way): Promise<void> {
  const { browser, callback, answer } = await logIn(service, way);
  expectOK(callback);
  const { name, email, groups, ext } = userInfoOf(callback);
  expect({ name, email, groups }).to.deep.equal({ name: 'jane@example.com', email: 'jane@example.com', groups: ['dev', 'oncall'] });
  expect(answer.get('code') === '', 'without a code').to.equal(way.flow === 'id_token');
  const info = way.storage === 'cookie' ? await browser.info(way.version) : await browser.info(way.version, ext.token?.access_token);
  expectOK(info);
  expect(userInfoOf(info)).to.deep.include({ name, groups });
}

export interface Refusal {
  /** Default: 401. */
  code?: 400 | 401;
  /** `field` or `reason` of the first cause. */
  cause?: string;
  /** Number of requests to the token endpoint by then. Default: 0. */
  tokenHits?: number;
  /** Number of requests to the userinfo endpoint by then. Default: 0. */
  userInfoHits?: number;
}

/** Expects the login to fail as the contract says, without a session, and without further requests to the provider. */
async function expectRefused(party: RelyingParty, way: Way, refusal: Refusal = {}): Promise<void> {
  const { cluster, provider, service } = party;
  const sessions = await countSessions(cluster);
  provider.forgetRequests();
  const { browser, callback } = await logIn(service, way);
  expectStatus(callback, refusal.code ?? 401, refusal.cause);
  expect(
    callback.cookies.filter((line) => line.includes('atrium_session_') && !/max-age=0|1970/i.test(line)),
    'session cookies',
  ).to.deep.equal([]);
  expect([...browser.cookies.keys()], 'cookies left').to.deep.equal([]);
  expect(await countSessions(cluster), 'sessions').to.equal(sessions);
  expect({ token: provider.hits('token'), userinfo: provider.hits('userinfo') }, 'requests').to.deep.equal({
    token: refusal.tokenHits ?? 0,
    userinfo: refusal.userInfoHits ?? 0,
  });
  expect((await browser.info(way.version)).status).to.equal(401);
}

/** Expects 200, and reports another answer without its tokens. */
export function expectOK({ status, text }: Reply): void {
  expect(status, text.slice(0, 300)).to.equal(200);
}

/** Expects a Status with that code and no text of the provider. */
export function expectStatus(reply: Reply, code: number, cause?: string): void {
  expect(reply.status, reply.text.slice(0, 300)).to.equal(code);
  expect(reply.headers.get('content-type')).to.match(/^application\/json/);
  expect(reply.body).to.deep.include({ kind: 'Status', status: 'Failure', code });
  expect(reply.body).to.have.property('reason').that.is.a('string').and.is.not.equal('');
  expect(reply.text).to.not.match(/canary|127\.0\.0\.1| at .*\.ts|node_modules/);
  if (code === 401) expect(reply.headers.get('www-authenticate')).to.match(/^Bearer realm="atrium"/);
  if (cause !== undefined) expect(causesOf(reply)).to.include(cause);
}

/** Returns fields and reasons of the causes of a Status. */
export function causesOf({ body }: Reply): unknown[] {
  const { details } = body as { details?: { causes?: { field?: string; reason?: string }[] } };
  return (details?.causes ?? []).flatMap(({ field, reason }) => [field, reason]).filter((text) => text !== undefined);
}

export async function countSessions({ kubernetes }: LoginCluster): Promise<number> {
  const { body } = await kubernetes.call('GET', '/apis/auth.platform.io/v1/sessions');
  return (body as { items: unknown[] }).items.length;
}

/** Declares a module that must succeed. */
export function accepts(party: () => RelyingParty, flow: Flow, module: string, misbehaviour: Misbehaviour = {}): void {
  it(module, async () => {
    party().provider.misbehave(misbehaviour);
    for (const way of waysOf(flow)) await expectAccepted(party(), way);
  });
}

/** Declares a module that must fail. */
export function refuses(party: () => RelyingParty, flow: Flow, module: string, misbehaviour: Misbehaviour, refusal: Refusal = {}): void {
  it(module, async () => {
    party().provider.misbehave(misbehaviour);
    for (const way of waysOf(flow)) await expectRefused(party(), way, refusal);
  });
}
