import { expect } from 'chai';
import { Browser, logIn, type Reply } from '../login/provider/browser.ts';
import { type ProviderOptions, TestProvider } from '../login/provider/provider.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import { LoginCluster, type Service } from '../login/support.ts';
import { countSessions, expectStatus } from './conformance/relying-party.ts';

export interface TokenWays {
  cluster: LoginCluster;
  provider: TestProvider;
  /** Service with the code flow. */
  service: Service;
  /** Service with the id_token flow. */
  implicit: Service;
}

const versions = ['v1', 'v2'] as const;
const unlimited = { perMinute: 1_000_000 };

/** Starts a provider and two services for all tests of a `describe`: one for each way in which an ID token arrives. */
export function tokenWays(options: ProviderOptions & { prepare?: (provider: TestProvider) => Promise<void> | void } = {}): () => TokenWays {
  const started: { stop(): Promise<void> }[] = [];
  let ways: TokenWays | undefined;
  const waysNow = () => {
    if (ways === undefined) throw new Error('not started');
    return ways;
  };
  before(async () => {
    const provider = await TestProvider.start({ tls: true, ...options });
    started.unshift(provider);
    const cluster = await LoginCluster.start({ trusts: provider });
    started.unshift(cluster);
    await options.prepare?.(provider);
    const [service, implicit] = await Promise.all([
      cluster.service({ provider, config: { login: unlimited } }),
      cluster.service({ provider, config: { login: { ...unlimited, responseMode: 'id_token' } } }),
    ]);
    ways = { cluster, provider, service, implicit };
  });
  afterEach(() => {
    waysNow().provider.misbehave();
    waysNow().provider.forgetRequests();
  });
  after(async () => {
    for (const one of started) await one.stop();
  });
  return waysNow;
}

/**
 * Sends a changed ID token in every way: redeemed for a code, beside a code, and alone. @returns the answers of the callback
 *
 * @param besideCode tokens to change when there are two: the one in the front channel alone, or both
 */
export async function logInWith(
  { provider, service, implicit }: TokenWays,
  change: TokenChange,
  besideCode: 'frontChannel' | 'idToken' = 'frontChannel',
): Promise<Map<string, Reply>> {
  const replies = new Map<string, Reply>();
  for (const version of versions) {
    provider.misbehave({ redeemed: change });
    replies.set(`code ${version}`, (await logIn(service, { version, flow: 'code' })).callback);
    provider.misbehave({ [besideCode]: change });
    replies.set(`hybrid ${version}`, (await logIn(service, { version, flow: 'hybrid', storage: 'local' })).callback);
    provider.misbehave({ frontChannel: change });
    replies.set(`id_token ${version}`, (await logIn(implicit, { version, flow: 'id_token' })).callback);
  }
  provider.misbehave();
  return replies;
}

/** Expects every way to refuse the ID token, without a session. */
export async function expectNoLogIn(ways: TokenWays, change: TokenChange, besideCode?: 'idToken'): Promise<void> {
  const sessions = await countSessions(ways.cluster);
  for (const [way, reply] of await logInWith(ways, change, besideCode)) {
    expect(reply.status, `${way}: ${reply.text.slice(0, 300)}`).to.equal(401);
    expectStatus(reply, 401);
    expect(
      reply.cookies.filter((line) => line.includes('atrium_session_') && !/max-age=0|1970/i.test(line)),
      way,
    ).to.deep.equal([]);
  }
  expect(await countSessions(ways.cluster)).to.equal(sessions);
  expect(ways.provider.hits('userinfo')).to.equal(0);
}

/** Expects the ID token to be refused as a bearer token. */
export async function expectNoBearer({ service }: TokenWays, token: string): Promise<void> {
  for (const version of versions) {
    const reply = await new Browser(service.url).info(version, token);
    expect(reply.status, reply.text.slice(0, 300)).to.equal(401);
    expectStatus(reply, 401);
    expect(reply.headers.get('www-authenticate')).to.equal('Bearer realm="atrium", error="invalid_token"');
    expect(reply.cookies).to.deep.equal([]);
  }
}

/** Expects the ID token to be refused at logins and as a bearer token. */
export async function expectRefusedEverywhere(ways: TokenWays, change: TokenChange, besideCode?: 'idToken'): Promise<void> {
  await expectNoLogIn(ways, change, besideCode);
  await expectNoBearer(ways, ways.provider.idToken(change));
}
