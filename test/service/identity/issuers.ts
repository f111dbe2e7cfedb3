import type { RequestListener } from 'node:http';
import { tokensOnly } from '@atrium/http/authenticator.ts';
import { ClientAddresses } from '@atrium/http/client-address.ts';
import { Listener } from '@atrium/http/listener.ts';
import { requestChain } from '@atrium/http/request-listener.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { unauthorized } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { Audit } from '../../../src/audit/audit.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { basePathOf } from '../../../src/config/schema.ts';
import { PasskeyLogin } from '../../../src/factors/passkey-login.ts';
import { Passkeys } from '../../../src/factors/passkeys.ts';
import { SecondFactors } from '../../../src/factors/second-factors.ts';
import { FactorStore } from '../../../src/factors/store.ts';
import { createIdentity, type Identity } from '../../../src/identity/identity.ts';
import { KeyRing } from '../../../src/keys/key-ring.ts';
import { RevokedTokens } from '../../../src/revocation/revoked-tokens.ts';
import { Translations } from '../../../src/texts/texts.ts';
import { KnownBrowsers } from '../../../src/users/logins/known-browsers.ts';
import { Notices } from '../../../src/users/logins/notices.ts';
import { PasswordChange } from '../../../src/users/passwords/change.ts';
import { PasswordCheck } from '../../../src/users/passwords/check.ts';
import { accountOf } from '../../../src/users/record/account.ts';
import { noLocalGroups } from '../../../src/users/record/local-groups.ts';
import { type AccountLookup, accountLookup } from '../../../src/users/record/lookup.ts';
import { userResource } from '../../../src/users/record/schema.ts';
import { apiServer, type ApiServer as TestCluster } from '../../support/api-server.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { type ClusterAdmin, serviceNamespace } from '../../support/cluster-admin.ts';
import { connectionWith, install } from '../../support/installed-cluster.ts';
import { keptSigningKeys } from '../../support/kept-keys.ts';
import { addLocalUser } from '../../support/local-user.ts';
import { servicesOf } from '../../support/services.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { aUser, nameOf, type UserParts } from '../users/a-user.ts';
import { Browser } from './browser.ts';

const recordsPath = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/identityrecords`;
const usersPath = '/apis/auth.platform.io/v1/users';
const passwords = cheapPasswords();

const recordList = z.object({
  items: z.array(
    z.object({ metadata: z.object({ name: z.string() }), spec: z.looseObject({ model: z.string(), expiration: z.string() }) }),
  ),
});

export interface IssuerSettings {
  /** Settings that differ, as in the YAML file. */
  config?: Record<string, unknown>;
  /** Settings of further replicas, instead of `config`. */
  others?: readonly Record<string, unknown>[];
  replicas?: number;
  /** Default: the address of the first replica. */
  publicURL?: string;
  /** Host in the URLs of the replicas. Browsers create passkeys at `localhost`, and at no IP address. */
  host?: '127.0.0.1' | 'localhost';
}

const written = z.object({ status: z.literal(200), body: z.object({ metadata: z.object({ resourceVersion: z.string() }) }) });
const patienceMs = 120_000;

interface Replica {
  origin: string;
  accounts: AccountLookup;
  identity: Identity;
  relay: TcpProxy;
  stop(): Promise<void>;
}

/**
 * Replicas of the embedded provider alone, with the request chain of the service, on a cluster of their own, behind the URL of the first
 * one.
 */
export class Issuers {
  readonly kubernetes: ClusterAdmin;
  readonly replicas: readonly Replica[];
  readonly logLines: string[];
  readonly auditLines: Record<string, unknown>[];
  /** Origin of the issuer's public URL. */
  readonly publicOrigin: string;
  readonly #cluster: TestCluster;

  private constructor(parts: Pick<Issuers, 'kubernetes' | 'replicas' | 'logLines' | 'auditLines' | 'publicOrigin'>, cluster: TestCluster) {
    this.kubernetes = parts.kubernetes;
    this.replicas = parts.replicas;
    this.logLines = parts.logLines;
    this.auditLines = parts.auditLines;
    this.publicOrigin = parts.publicOrigin;
    this.#cluster = cluster;
  }

  static async start({
    config = {},
    others = [],
    replicas: count = 1,
    publicURL,
    host = '127.0.0.1',
  }: IssuerSettings = {}): Promise<Issuers> {
    const cluster = await apiServer({ isReused: true });
    const kubernetes = await install(cluster);
    const logLines: string[] = [];
    const auditLines: Record<string, unknown>[] = [];
    const shared = { cluster, config, host, token: await kubernetes.serviceToken(), logLines, auditLines };
    const replicas: Replica[] = [];
    for (let index = 0; index < count; index += 1)
      replicas.push(await startReplica({ ...shared, publicURL: publicURL ?? replicas[0]?.origin }));
    for (const own of others) replicas.push(await startReplica({ ...shared, config: own, publicURL: publicURL ?? replicas[0]?.origin }));
    const publicOrigin = new URL(publicURL ?? replicas[0]?.origin ?? '').origin;
    return new Issuers({ kubernetes, replicas, logLines, auditLines, publicOrigin }, cluster);
  }

  get origin(): string {
    return this.replicas[0]?.origin ?? '';
  }

  get issuer(): string {
    return `${this.origin}/identity`;
  }

  /** Returns a browser whose requests go to the replicas in turn. */
  browser(headers?: Record<string, string>): Browser {
    return new Browser(
      this.publicOrigin,
      this.replicas.map(({ origin }) => origin),
      { ...(headers && { headers }) },
    );
  }

  /** Returns a browser whose requests go to one replica. */
  browserAt(index: number): Browser {
    return new Browser(this.publicOrigin, [this.replicas[index]?.origin ?? '']);
  }

  async addPerson(email: string, password: string, parts: UserParts = {}): Promise<void> {
    await addLocalUser(this.kubernetes, aUser(email, parts), await passwords.hash(password));
    await this.#untilSeen(await this.kubernetes.call('GET', `${usersPath}/${nameOf(email)}`));
  }

  /** Changes spec and status of a User, and waits until every replica has the new version. */
  async change(email: string, { spec, status }: { spec?: Record<string, unknown>; status?: Record<string, unknown> }): Promise<void> {
    const path = `${usersPath}/${nameOf(email)}`;
    const type = { 'content-type': 'application/merge-patch+json' };
    if (spec) await this.#untilSeen(await this.kubernetes.call('PATCH', path, { spec }, type));
    if (status) await this.#untilSeen(await this.kubernetes.call('PATCH', `${path}/status`, { status }, type));
  }

  /** Waits for each replica's own watch of the records. */
  async #untilSeen(answer: unknown): Promise<void> {
    const { resourceVersion } = written.parse(answer).body.metadata;
    for (const { accounts, origin } of this.replicas)
      if (!(await accounts.watch.until(() => accounts.watch.hasSeen(resourceVersion), patienceMs, new AbortController().signal)))
        throw new Error(`${origin} has not seen version ${resourceVersion}`);
  }

  /** Returns the records in the cluster, of one model or all. */
  async records(model?: string) {
    const { items } = recordList.parse((await this.kubernetes.call('GET', recordsPath)).body);
    return items.filter(({ spec }) => model === undefined || spec.model === model);
  }

  async stop(): Promise<void> {
    for (const replica of this.replicas) await replica.stop();
    await this.kubernetes.close();
    await this.#cluster.stop();
  }
}

interface ReplicaParts {
  host: string;
  cluster: TestCluster;
  config: Record<string, unknown>;
  token: string;
  /** Default: the URL of the replica. */
  publicURL: string | undefined;
  logLines: string[];
  auditLines: Record<string, unknown>[];
}

async function startReplica({
  host,
  cluster,
  config: settings,
  token,
  publicURL: givenURL,
  logLines,
  auditLines,
}: ReplicaParts): Promise<Replica> {
  const relay = new TcpProxy(cluster.url);
  await relay.start();
  const log = createLog({ level: 'debug', format: 'json' }, { write: (line) => logLines.push(line) });
  const metrics = new Metrics();
  const connection = connectionWith(token, { url: relay.url, certificateAuthority: cluster.certificateAuthority });
  const service = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics });
  const client = service.asService;
  const cache = new WatchCache(
    { client, log, metrics },
    { name: 'users', type: userResource, keep: (object) => ({ account: accountOf(object) }) },
  );
  const accounts = accountLookup(cache);
  cache.start();
  await cache.whenSynced();
  const keyRing = new KeyRing({ client, namespace: serviceNamespace, secretName: 'atrium-keys', log, newSigningKeys: keptSigningKeys });
  keyRing.start();

  let handle: RequestListener = (_request, response) => response.end();
  const listener = new Listener((request, response) => handle(request, response), { host: '127.0.0.1', port: 0, requestTimeoutMs: 60_000 });
  const own = `http://${host}:${await listener.start()}`;
  const publicURL = givenURL ?? own;
  const config = parseConfig({
    yaml: JSON.stringify({ ...settings, server: { ...(isRecord(settings.server) && settings.server), publicURL } }),
  });
  const basePath = basePathOf(config);
  const audit = new Audit({ write: (line) => auditLines.push(JSON.parse(line)), log, now: () => new Date() });
  const services = servicesOf(service, { log, config, audit, basePath, keyRing, namespace: serviceNamespace });
  const factorStore = new FactorStore(services);
  const passwordCheck = new PasswordCheck(services, accounts, passwords, undefined, factorStore);
  const { attempts } = passwordCheck;
  const notices = new Notices(services);
  const revokedTokens = new RevokedTokens(services);
  const passkeys = new Passkeys(services, { store: factorStore, notices, useOnce: (...use) => revokedTokens.useState(...use) });
  const identity = createIdentity(services, {
    issuerURL: `${publicURL}/identity`,
    accounts,
    localGroups: noLocalGroups,
    passwordChange: new PasswordChange(services, passwords),
    passwordCheck,
    knownBrowsers: new KnownBrowsers(services),
    factors: new SecondFactors(services, { attempts, store: factorStore, passkeys, notices }),
    links: undefined,
    notices,
    passkeys: { passkeys, login: new PasskeyLogin(services, { passkeys, attempts, accounts }) },
    linkMail: undefined,
    translations: new Translations(config.console.languages),
  });
  identity.start();
  ({ listener: handle } = requestChain({
    basePath,
    addresses: new ClientAddresses(config.server.trustedProxies, log),
    requestTimeoutMs: 60_000,
    maxInFlight: 500,
    log,
    metrics,
    isStopping: () => false,
    before: identity,
    operations: [],
    authenticator: tokensOnly(async () => {
      throw unauthorized({ tokenGiven: true });
    }),
    bodyLimit: config.server.bodyLimit,
    corsOrigins: [],
  }));
  return {
    origin: own,
    accounts,
    identity,
    relay,
    async stop() {
      await listener.stop(0);
      await identity.stop();
      keyRing.stop();
      await cache.stop();
      await service.close();
      await relay.cut();
    },
  };
}
