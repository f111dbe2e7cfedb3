import { createLog } from '@atrium/http/telemetry/log.ts';
import { type Dispatcher, request } from 'undici';
import { stringify } from 'yaml';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { Clock } from '../../service/login/support.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { type ApiServer, apiServer, type OwnApiServer } from '../../support/api-server.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { type Answer, type ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { install } from '../../support/installed-cluster.ts';
import { addLocalUser } from '../../support/local-user.ts';
import { patient } from '../../support/server.ts';
import { Trusting } from '../../support/trusting.ts';
import { attacker, attackersPassword, honest, honestPassword, honestRecord, rights } from './people.ts';
import { lentBindings, policies } from './policies.ts';

/** Issuer of the logins, and the claim that names users. */
export type Variant = 'embedded email' | 'embedded sub' | 'external email' | 'external sub';

export interface Call {
  /** The API server, by kubectl, or the service. */
  to: 'cluster' | 'service';
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

interface Parts {
  variant: Variant;
  cluster: OwnApiServer;
  admin: ClusterAdmin;
  app: App;
  url: string;
  provider: TestProvider | undefined;
  clock: Clock;
  token: string;
  tokenOfAlice: string;
  logLines: string[];
}

/**
 * Users whose rights do not depend on groups and user bindings, which the attacker may change. In `embedded sub` a restored record has a
 * new user name, without these rights.
 */
const untouchable = ['chief', 'deputy', 'vic', 'gil', 'dir', 'pol', 'apr'].map((who) => `${who}@example.com`);
const long = '60d';
const users = '/apis/auth.platform.io/v1/users';

/** A cluster with the manifests of an installation, honest users, and the service in front of it. */
export class World {
  readonly variant: Variant;
  readonly url: string;
  readonly admin: ClusterAdmin;
  readonly provider: TestProvider | undefined;
  readonly clock: Clock;
  /** Token of the attacker at the API server. */
  readonly token: string;
  /** Token of alice at the API server. */
  readonly tokenOfAlice: string;
  readonly logLines: string[];
  readonly #cluster: ApiServer;
  readonly #app: App;
  readonly #agent: Trusting;
  /** Kubernetes user names by address. */
  readonly #subjects = new Map<string, string>();
  /** Addresses by uid. */
  readonly #untouchable = new Map<string, string>();
  #calls = 0;

  private constructor({ variant, cluster, admin, app, url, provider, clock, token, tokenOfAlice, logLines }: Parts) {
    this.variant = variant;
    this.url = url;
    this.admin = admin;
    this.provider = provider;
    this.clock = clock;
    this.token = token;
    this.tokenOfAlice = tokenOfAlice;
    this.logLines = logLines;
    this.#cluster = cluster;
    this.#app = app;
    this.#agent = new Trusting(cluster.certificateAuthority);
  }

  static async start(variant: Variant): Promise<World> {
    const clock = new Clock();
    const [cluster, provider, port] = await Promise.all([
      apiServer({ now: clock.now }),
      variant.startsWith('external') ? TestProvider.start({ now: clock.now }) : undefined,
      freePort(),
    ]);
    if (provider) provider.tokenSeconds = 30 * 86_400;
    const admin = await install(cluster);
    await admin.applyFile('impersonation.yaml');
    const logLines: string[] = [];
    const url = `http://127.0.0.1:${port}`;
    let authorization: Promise<string> | undefined;
    const app = new App({
      passwords: cheapPasswords(),
      config: parseConfig({ yaml: stringify(settings({ variant, url, port, provider })) }),
      connection: {
        server: cluster.url,
        tls: { ca: cluster.certificateAuthority },
        namespace: serviceNamespace,
        authorization: () => (authorization ??= admin.serviceToken().then((token) => `Bearer ${token}`)),
        // The clock of the world passes the expiry of a token.
        discardAuthorization() {
          authorization = undefined;
        },
      },
      environment: {},
      now: clock.now,
      log: createLog({ level: 'warn', format: 'json' }, { write: (line) => logLines.push(line) }),
      writeAudit() {},
    });
    const [token, tokenOfAlice] = await Promise.all([cluster.token(attacker), cluster.token('alice')]);
    const world = new World({ variant, cluster, admin, app, url, provider, clock, token, tokenOfAlice, logLines });
    await world.#populate();
    await app.start();
    await world.#settle();
    return world;
  }

  get isEmbedded(): boolean {
    return this.variant.startsWith('embedded');
  }

  /** Returns the Kubernetes user name of an address, also without a record. */
  subjectOf = (email: string): string => this.#subjects.get(email) ?? email;

  /** Returns the address of an honest user by the UID of the record, if the role gives no way to the user's password. */
  isUntouchable = (uid: string): string | undefined => this.#untouchable.get(uid);

  /** Sends a request. X-Forwarded-For differs in each, so that no limit for an address stops the run. */
  async call({ to, method, path, body, headers = {} }: Call): Promise<Omit<Answer, 'warnings'> & { headers: Record<string, unknown> }> {
    this.#calls += 1;
    const from = `10.${(this.#calls >> 16) & 255}.${(this.#calls >> 8) & 255}.${this.#calls & 255}`;
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await request(`${to === 'cluster' ? this.#cluster.url : this.url}${path}`, {
      method: method as Dispatcher.HttpMethod,
      dispatcher: this.#agent,
      headers: { 'x-forwarded-for': from, ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: text ?? null,
    });
    const answered = await answer.body.text();
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answered.startsWith('{') ? JSON.parse(answered) : answered,
    };
  }

  /** Creates a user with a password, as an administrator does. */
  async makeHonest(email: string, password: string): Promise<void> {
    const found = honest.find((one) => one.email === email);
    const record = found ? honestRecord(found) : aUser(email);
    const status = { ...(record.status as object), ...(await this.#identity(email)) };
    await addLocalUser(this.admin, { ...record, status }, await cheapPasswords().hash(password));
    const { body } = await this.admin.call('GET', `${users}/${nameOf(email)}`);
    const { uid } = (body as { metadata: { uid: string } }).metadata;
    if (untouchable.includes(email) && (this.variant !== 'embedded sub' || !this.#subjects.has(email))) this.#untouchable.set(uid, email);
    if (this.variant !== 'embedded sub') return;
    this.#subjects.set(email, `${uid}.${nameOf(email)}`);
    await this.admin.apply({ ...record, status: { subjectName: this.subjectOf(email) } });
  }

  /** Lends the attacker writes of UserBindings. */
  lendBindings(): Promise<void> {
    return this.admin.apply(...lentBindings);
  }

  /** Waits until the caches are filled and the controllers have reconciled all objects. */
  async #settle(): Promise<void> {
    await eventually(
      async () => (await request(`${this.url}/readyz?verbose`)).body.text(),
      (report) => report.includes('readyz check passed') && !/^\[-\](?!identity-provider)/m.test(report),
    );
    const isDone = async (path: string, phase: string) => {
      const { body } = await this.admin.call('GET', path);
      return (body as { items: { status?: { phase?: string } }[] }).items.every(({ status }) => status?.phase === phase);
    };
    await eventually(() => isDone('/apis/auth.platform.io/v1/userbindings', 'Synced'), Boolean);
    await eventually(() => isDone(users, 'Normal'), Boolean);
  }

  async stop(): Promise<void> {
    await this.#app.stop();
    await this.provider?.stop();
    await this.#agent.close();
    await this.admin.close();
    await (this.#cluster as OwnApiServer).stop();
  }

  async #populate(): Promise<void> {
    for (const { email } of honest) await this.makeHonest(email, honestPassword);
    await this.makeHonest(attacker, attackersPassword);
    await this.admin.apply(...rights(this.subjectOf), ...policies(this.subjectOf));
  }

  /** Returns the status that a login at the issuer writes; empty for the embedded issuer. */
  async #identity(email: string): Promise<Record<string, unknown>> {
    if (this.provider === undefined) return {};
    const sub = `${email}-sub`;
    this.#subjects.set(email, this.variant === 'external sub' ? sub : email);
    return { subjectName: this.subjectOf(email), subjects: [{ issuer: this.provider.issuer, sub }] };
  }
}

function settings({ variant, url, port, provider }: { variant: Variant; url: string; port: number; provider: TestProvider | undefined }) {
  return {
    server: { host: '127.0.0.1', port, metricsPort: 0, publicURL: url, trustedProxies: ['127.0.0.1'], ...patient.server },
    kubernetes: { namespace: serviceNamespace, accessCache: '0s', credentials: 'impersonate', ...patient.kubernetes },
    console: { static: { directory: 'web/dist' } },
    features: { openapi: false, accessRequests: true },
    login: {
      perMinute: 1_000_000,
      session: { idle: long, absolute: long },
      claims: { username: variant.endsWith('sub') ? 'sub' : 'email', usernamePrefix: '-' },
      ...(provider && { issuer: provider.issuer, clientID: provider.clientID }),
    },
    users: {
      lockout: { failures: 1_000 },
      passwordPolicy: { changeAfterReset: false },
    },
    ...(!provider && { identity: { accessTokenTTL: long, idTokenTTL: long } }),
  };
}
