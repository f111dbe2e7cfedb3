import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { isKubernetesObject, type KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { Audit } from '../../../src/audit/audit.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/schema.ts';
import { LoginRecorder } from '../../../src/users/logins/recorder.ts';
import { PasswordChange } from '../../../src/users/passwords/change.ts';
import { PasswordCheck } from '../../../src/users/passwords/check.ts';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import type { Account } from '../../../src/users/record/account.ts';
import { accountOf } from '../../../src/users/record/account.ts';
import { UserEvents } from '../../../src/users/record/events.ts';
import { accountLookup } from '../../../src/users/record/lookup.ts';
import { userResource } from '../../../src/users/record/schema.ts';
import { apiServer, type ApiServer as TestCluster } from '../../support/api-server.ts';
import { cheapCost } from '../../support/cheap-passwords.ts';
import { type ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { connectionWith, install } from '../../support/installed-cluster.ts';
import { servicesOf } from '../../support/services.ts';

const eventList = z.object({
  items: z.array(
    z.object({
      reason: z.string(),
      type: z.string(),
      message: z.string(),
      involvedObject: z.looseObject({ kind: z.string(), name: z.string().optional(), uid: z.string().optional() }),
    }),
  ),
});
const usersPath = '/apis/auth.platform.io/v1/users';
export const never = new AbortController().signal;

/** Counts the comparisons of passwords with the hashes of users. */
export class CountingPasswords extends Passwords {
  judged = 0;
  /** Skips comparisons with the dummy hash, so that many attempts are as concurrent as possible. */
  skipsDummies = false;

  /** Runs while a password is compared. */
  meanwhile: (() => Promise<unknown>) | undefined;

  override async verify(password: string, encoded: string) {
    this.judged += 1;
    await this.meanwhile?.();
    return super.verify(password, encoded);
  }

  override async dummyVerify(password: string) {
    if (!this.skipsDummies) await super.dummyVerify(password);
  }
}

interface ReplicaNeeds {
  apiServer: KubernetesClient;
  config: Config;
  now: () => Date;
  passwords: CountingPasswords;
}

/** Authentication of accounts as in one replica of the service. */
export class Replica {
  readonly #apiServer: KubernetesClient;
  readonly #cache: WatchCache<{ account: Account }>;
  readonly #events: UserEvents;
  readonly auditLines: Record<string, unknown>[] = [];
  readonly logLines: string[] = [];
  readonly passwords: CountingPasswords;
  readonly accounts;
  readonly audit: Audit;
  readonly recorder: LoginRecorder;
  readonly passwordCheck: PasswordCheck;
  readonly passwordChange: PasswordChange;

  constructor({ apiServer, config, now, passwords }: ReplicaNeeds) {
    this.passwords = passwords;
    const log = createLog({ level: 'debug', format: 'json' }, { write: (line) => this.logLines.push(line) });
    const client = apiServer.asService;
    this.#apiServer = apiServer;
    this.#events = new UserEvents({ client, log, metrics: new Metrics(), now, clock: () => performance.now() });
    this.#cache = new WatchCache(
      { client, log, metrics: new Metrics() },
      { name: 'users', type: userResource, keep: (object) => ({ account: accountOf(object) }) },
    );
    this.accounts = accountLookup(this.#cache);
    this.audit = new Audit({ write: (line) => this.auditLines.push(JSON.parse(line)), events: this.#events, log, now });
    const { accounts, audit } = this;
    const services = servicesOf(apiServer, { log, config, now, audit, namespace: serviceNamespace });
    this.recorder = new LoginRecorder(services, accounts);
    this.passwordCheck = new PasswordCheck(services, accounts, passwords, undefined);
    this.passwordChange = new PasswordChange(services, passwords);
  }

  async start(): Promise<void> {
    this.#cache.start();
    await this.#cache.whenSynced();
  }

  async stop(): Promise<void> {
    await this.#events.stop();
    await this.#cache.stop();
    await this.#apiServer.close();
  }
}

/** A cluster, and replicas of the service that share only the cluster. */
export class Replicas {
  readonly kubernetes: ClusterAdmin;
  readonly #cluster: TestCluster;
  readonly #token: string;
  readonly #started: Replica[] = [];
  /** Clock of the replicas; undefined for the real time. */
  time: Date | undefined;

  private constructor(cluster: TestCluster, kubernetes: ClusterAdmin, token: string) {
    this.#cluster = cluster;
    this.kubernetes = kubernetes;
    this.#token = token;
  }

  static async start(): Promise<Replicas> {
    const cluster = await apiServer({ isReused: true });
    const kubernetes = await install(cluster);
    return new Replicas(cluster, kubernetes, await kubernetes.serviceToken());
  }

  /** @param users settings that differ, as in the YAML file */
  async replica(users: Record<string, unknown> = {}, passwords = new CountingPasswords(undefined, cheapCost)): Promise<Replica> {
    const apiServer = new KubernetesClient({
      connection: connectionWith(this.#token, this.#cluster),
      requestTimeoutMs: 60_000,
      metrics: new Metrics(),
    });
    const config = parseConfig({ yaml: JSON.stringify({ users }) });
    const replica = new Replica({ apiServer, config, passwords, now: () => this.time ?? new Date() });
    this.#started.push(replica);
    await replica.start();
    return replica;
  }

  /** Reads the User from the cluster; undefined if it does not exist. */
  async user(name: string): Promise<KubernetesObject | undefined> {
    const { status, body } = await this.kubernetes.call('GET', `${usersPath}/${name}`);
    return status === 200 && isKubernetesObject(body) ? body : undefined;
  }

  async userStatus(name: string): Promise<Record<string, unknown>> {
    const user = await this.user(name);
    return isRecord(user?.status) ? user.status : {};
  }

  /** Creates the Secret of a password. `owner`: the user to whom the Secret belongs. */
  async setPassword(name: string, hash: string, owner = name): Promise<void> {
    const user = { name: owner, uid: (await this.user(owner))?.metadata.uid ?? '' };
    const secret = passwordSecret({ user, namespace: serviceNamespace, hash, changedAt: new Date() });
    await this.kubernetes.apply({ ...secret, metadata: { ...secret.metadata, name: `user-password-${name}` } });
  }

  /** Waits for a number of Events on a user, and returns them. Events of an earlier user of the same name are ignored. */
  async events(name: string, count: number) {
    const uid = (await this.user(name))?.metadata.uid;
    return eventually(
      async () => {
        const { body } = await this.kubernetes.call('GET', '/api/v1/namespaces/default/events');
        return eventList.parse(body).items.filter(({ involvedObject: { kind, uid: of } }) => kind === 'User' && of === uid);
      },
      ({ length }) => length >= count,
    );
  }

  async stop(): Promise<void> {
    for (const replica of this.#started) await replica.stop();
    await this.kubernetes.close();
    await this.#cluster.stop();
  }
}
