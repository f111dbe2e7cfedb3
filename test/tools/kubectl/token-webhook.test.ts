import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { request } from 'undici';
import { stringify } from 'yaml';
import { z } from 'zod';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { aPerson, recordOf } from '../../service/tokens/tokens.ts';
import { apiServer, type OwnApiServer, type Person } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { grant } from '../../support/grants.ts';
import { connectionWith, install } from '../../support/installed-cluster.ts';
import { kubectl } from '../../support/kubectl.ts';
import { Trusting } from '../../support/trusting.ts';

/** A service over https as the token webhook of an API server, which authenticates with a given credential. */
class WebhookCluster {
  readonly cluster: OwnApiServer;
  readonly kubernetes: ClusterAdmin;
  readonly url: string;
  readonly #app: App;
  readonly #directory: string;
  readonly #agent: Trusting;

  private constructor(parts: { cluster: OwnApiServer; kubernetes: ClusterAdmin; url: string; app: App; directory: string }) {
    this.cluster = parts.cluster;
    this.kubernetes = parts.kubernetes;
    this.url = parts.url;
    this.#app = parts.app;
    this.#directory = parts.directory;
    this.#agent = new Trusting(parts.cluster.certificateAuthority);
  }

  static async start({ as }: { as: string }): Promise<WebhookCluster> {
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const cluster = await apiServer({ tokenWebhook: { url: `${url}/auth/v1/tokenreviews`, as } });
    const kubernetes = await install(cluster);
    await kubernetes.applyFile('impersonation.yaml');
    await grant(kubernetes, 'viewer', 'atrium-token-reviews');
    await kubernetes.apply(aPerson('alice', { groups: ['dev'] }));
    await grant(kubernetes, 'alice', 'atrium-users-view');
    const directory = await mkdtemp(join(tmpdir(), 'atrium-webhook-'));
    const file = async (name: string, text: string) => {
      await writeFile(join(directory, name), text);
      return join(directory, name);
    };
    const tls = { certFile: await file('tls.crt', cluster.serving.certificate), keyFile: await file('tls.key', cluster.serving.key) };
    await file('ca.crt', cluster.certificateAuthority);
    const serviceToken = await kubernetes.serviceToken();
    const app = new App({
      config: parseConfig({
        yaml: stringify({
          server: { host: '127.0.0.1', port, metricsPort: 0, tls },
          kubernetes: { namespace: serviceNamespace },
          console: { static: { directory: 'web/dist' } },
        }),
      }),
      connection: connectionWith(serviceToken, cluster),
      environment: {},
      log: createLog({ level: 'silent', format: 'json' }),
    });
    const { metricsPort } = await app.start();
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).status,
      (status) => status === 200,
    );
    return new WebhookCluster({ cluster, kubernetes, url, app, directory });
  }

  async makeToken(as: Person): Promise<{ id: string; token: string }> {
    const { statusCode, body } = await request(`${this.url}/auth/v1/accesstoken`, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${await this.cluster.token(as)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'kubectl' }),
    });
    expect(statusCode).to.equal(201);
    return z.object({ id: z.string(), token: z.string() }).parse(await body.json());
  }

  /** Runs kubectl at the API server itself. */
  kubectl(token: string, ...args: string[]) {
    return kubectl({ url: this.cluster.url, caFile: join(this.#directory, 'ca.crt'), token }, ...args);
  }

  async stop(): Promise<void> {
    await this.#app.stop();
    await this.#agent.close();
    await this.kubernetes.close();
    await this.cluster.stop();
    await rm(this.#directory, { recursive: true });
  }
}

describe('kubectl with an access token, by the token webhook of the API server', () => {
  const service = forSuite(() => WebhookCluster.start({ as: 'viewer' }));

  it('acts as its owner at the API server itself, with the rights of the owner', async () => {
    const { id, token } = await service.makeToken('alice');

    const who = await service.kubectl(token, 'auth', 'whoami', '-o', 'json');
    expect(who.isDone, who.stderr).to.equal(true);
    const { userInfo } = JSON.parse(who.stdout).status;
    expect(userInfo).to.deep.include({ username: 'alice', extra: { 'auth.platform.io/access-token': [id] } });
    expect(userInfo.groups).to.have.members(['dev', 'system:authenticated']);
    const users = await service.kubectl(token, 'get', 'users', '-o', 'name');
    expect(users.stdout.trim(), users.stderr).to.equal(`user.auth.platform.io/${recordOf('alice')}`);
    const secrets = await service.kubectl(token, 'get', 'secrets', '-A');
    expect(secrets.stderr).to.contain('User "alice" cannot list resource "secrets"');
  });

  it('leaves tokens that the API server accepts itself to it', async () => {
    const who = await service.kubectl(await service.cluster.token('bob'), 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}');
    expect(who.stdout, who.stderr).to.equal('bob');
    const nonsense = await service.kubectl('nonsense', 'get', 'users');
    expect(nonsense.stderr).to.match(/Unauthorized|You must be logged in/);
  });

  it('is for the API server alone: a review for another audience reports that it is not authenticated', async () => {
    const { token } = await service.makeToken('alice');
    const review = async (audiences: string[]) => {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences } };
      const answer = await service.kubernetes.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', body);
      return z.object({ status: z.object({ authenticated: z.boolean().default(false) }) }).parse(answer.body).status.authenticated;
    };
    expect([await review(['https://kubernetes.default.svc']), await review(['vault'])]).to.deep.equal([true, false]);
  });

  it('ends with the token, as soon as the cache of the API server expires', async () => {
    const { id, token } = await service.makeToken('alice');
    expect((await service.kubectl(token, 'get', 'users')).isDone).to.equal(true);

    await service.kubernetes.remove(`/apis/auth.platform.io/v1/accesstokens/${id}`);

    const refused = await eventually(
      () => service.kubectl(token, 'get', 'users'),
      ({ isDone }) => !isDone,
    );
    expect(refused.stderr).to.match(/Unauthorized|You must be logged in/);
  });
});

describe('a token webhook with a credential that the API server does not know', () => {
  const service = forSuite(() => WebhookCluster.start({ as: 'expired-credential' }));

  it('admits no caller and delays none: the API server sends a review of the credential, with the credential', async () => {
    const timed = async (token: string) => {
      const begun = performance.now();
      const outcome = await service.kubectl(token, '--request-timeout=60s', 'get', 'users');
      return { ...outcome, took: performance.now() - begun };
    };
    const known = await timed(await service.cluster.token('alice'));
    const refused = await timed('nonsense');

    expect(known.isDone, known.stderr).to.equal(true);
    expect(refused.stderr).to.match(/Unauthorized|You must be logged in/);
    // A loop would take the ten seconds of a call, several times.
    expect(refused.took - known.took, 'milliseconds more than an answer takes').to.be.below(9_000);
  });
});
