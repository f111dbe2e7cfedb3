import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { after } from 'mocha';
import { parseAllDocuments, stringify } from 'yaml';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { apiServer, type OwnApiServer } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { connectionWith, install } from '../../support/installed-cluster.ts';
import { Keycloak } from './keycloak.ts';
import { type ClientID, clientIDs, clientSecret, consoleURL, Realm } from './realm.ts';

export type Credentials = 'passthrough' | 'impersonate';
export const bothCredentials: readonly Credentials[] = ['passthrough', 'impersonate'];

export interface ServiceOptions {
  credentials: Credentials;
  /** Default: `atrium`. */
  clientID?: ClientID;
  /** Further settings of login. */
  login?: Record<string, unknown>;
}

export interface Service {
  url: string;
  logLines: string[];
}

/** Keycloak with two realms, and a control plane that trusts one of them. All files of a run share both. */
export class Suite {
  readonly keycloak: Keycloak;
  readonly cluster: OwnApiServer;
  readonly kubernetes: ClusterAdmin;
  readonly #realms: Readonly<Record<Credentials, Realm>>;
  readonly #serviceToken: string;
  readonly #directory: string;
  readonly #apps: App[] = [];

  private constructor(
    parts: Pick<Suite, 'keycloak' | 'cluster' | 'kubernetes'>,
    realms: Record<Credentials, Realm>,
    own: { token: string; directory: string },
  ) {
    this.keycloak = parts.keycloak;
    this.cluster = parts.cluster;
    this.kubernetes = parts.kubernetes;
    this.#realms = realms;
    this.#serviceToken = own.token;
    this.#directory = own.directory;
  }

  static async start(): Promise<Suite> {
    const keycloak = await Keycloak.start();
    try {
      const realms = { passthrough: await Realm.create(keycloak, 'trusted'), impersonate: await Realm.create(keycloak, 'foreign') };
      const { certificateAuthority } = keycloak;
      const cluster = await apiServer({ issuers: [{ url: realms.passthrough.issuer, audiences: clientIDs, certificateAuthority }] });
      const kubernetes = await install(cluster);
      const impersonation = await readFile(new URL('../../../deploy/manifests/impersonation.yaml', import.meta.url), 'utf8');
      await kubernetes.apply(...parseAllDocuments(impersonation).map((document): Manifest => document.toJS()));
      // Members of the group `dev` may read users.
      await kubernetes.apply(clusterRoleBinding('dev-views-users', 'atrium-users-view', { kind: 'Group', name: 'dev' }));
      const directory = await mkdtemp(join(tmpdir(), 'atrium-keycloak-suite-'));
      await writeFile(join(directory, 'ca.crt'), certificateAuthority);
      await writeFile(join(directory, 'client-secret'), clientSecret);
      return new Suite({ keycloak, cluster, kubernetes }, realms, { token: await kubernetes.serviceToken(), directory });
    } catch (error) {
      await keycloak.stop();
      throw error;
    }
  }

  /** Returns the realm for a kind of credentials. The API server trusts the one for `passthrough`. */
  realm(credentials: Credentials): Realm {
    return this.#realms[credentials];
  }

  /** Starts a replica with the settings of docs/install-keycloak.md. Resolves when its caches are filled. */
  async service({ credentials, clientID = 'atrium', login }: ServiceOptions): Promise<Service> {
    const isPublic = clientID === 'atrium-public' || clientID === 'atrium-id-token';
    const logLines: string[] = [];
    const app = new App({
      config: parseConfig({
        yaml: stringify({
          server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: consoleURL },
          kubernetes: { namespace: serviceNamespace, accessCache: '0s', credentials },
          login: {
            issuer: this.realm(credentials).issuer,
            clientID,
            ...(!isPublic && { clientSecretFile: join(this.#directory, 'client-secret') }),
            scopes: ['openid', 'profile', 'email', 'groups'],
            caFile: join(this.#directory, 'ca.crt'),
            ...login,
          },
          console: { static: { directory: 'web/dist' } },
          features: { openapi: false },
        }),
      }),
      connection: connectionWith(this.#serviceToken, this.cluster),
      environment: {},
      log: createLog({ level: 'debug', format: 'json' }, { write: (line) => logLines.push(line) }),
      writeAudit: (line) => logLines.push(line),
    });
    const { port } = await app.start();
    this.#apps.push(app);
    const service = { url: `http://127.0.0.1:${port}`, logLines };
    await eventually(
      async () => (await fetch(`${service.url}/readyz?verbose`)).text(),
      (report) => report.includes('readyz check passed') && !/^\[-\](?!identity-provider)/m.test(report),
    );
    return service;
  }

  /** Stops all started replicas. */
  async stopServices(): Promise<void> {
    await Promise.all(this.#apps.splice(0).map((app) => app.stop()));
  }

  /** Writes a file that the stop deletes. @returns its path */
  async file(name: string, text: string): Promise<string> {
    const path = join(this.#directory, name);
    await writeFile(path, text);
    return path;
  }

  async stop(): Promise<void> {
    await this.stopServices();
    await this.kubernetes.close();
    await this.cluster.stop();
    await this.keycloak.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

let started: Promise<Suite> | undefined;

/** Returns the suite. The first call starts it. */
export function suite(): Promise<Suite> {
  started ??= Suite.start();
  return started;
}

after(async () => (await started)?.stop());

/** Returns for the tests of a `describe` the suite, a realm and a service that trusts the realm. */
export function atKeycloak(credentials: Credentials): { all: Suite; service: Service; realm: Realm } {
  const all = forSuite(suite, (it) => it.stopServices());
  const service = forSuite(() => all.service({ credentials }), needsNoStop);
  const realm = forSuite(async () => all.realm(credentials), needsNoStop);
  return { all, service, realm };
}
