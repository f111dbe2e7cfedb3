import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, rmSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Dispatcher, Headers, request } from 'undici';
import { z } from 'zod';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { Trusting } from '../../support/trusting.ts';
import { administrator, databaseURL, javaOptions, keycloak } from './install.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

/** A Keycloak on 127.0.0.1 over https, with its database in a temporary folder. */
export class Keycloak {
  /** Relay at the public address of Keycloak, which tests can cut. Only the administrator bypasses it. */
  readonly relay: TcpProxy;
  /** PEM of the only authority of its certificate. */
  readonly certificateAuthority: string;
  readonly #directory: string;
  readonly #port: number;
  readonly #agent: Trusting;
  #process: ChildProcess | undefined;

  private constructor({ directory, port, certificateAuthority }: { directory: string; port: number; certificateAuthority: string }) {
    this.certificateAuthority = certificateAuthority;
    this.relay = new TcpProxy(`https://127.0.0.1:${port}`);
    this.#directory = directory;
    this.#port = port;
    this.#agent = new Trusting(certificateAuthority);
  }

  static async start(): Promise<Keycloak> {
    const { home, database } = await keycloak();
    const directory = await mkdtemp(join(tmpdir(), 'atrium-keycloak-'));
    const { authority, serving } = await loopbackCertificates();
    await copyFile(database, join(directory, 'database.mv.db'));
    await writeFile(join(directory, 'serving.crt'), serving.certificate);
    await writeFile(join(directory, 'serving.key'), serving.key, { mode: 0o600 });
    const server = new Keycloak({ directory, port: await freePort(), certificateAuthority: authority.certificate });
    await server.relay.start();
    try {
      await server.#run(home);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** Returns the issuer identifier of a realm. */
  issuer(realm: string): string {
    return `${this.relay.url}/realms/${realm}`;
  }

  /** Sends a request as a client that trusts the certificate. Redirects are not followed. */
  async request(
    url: string | URL,
    options: Omit<Dispatcher.RequestOptions, 'path' | 'origin' | 'method'> & { method?: Dispatcher.HttpMethod } = {},
  ): Promise<Answer> {
    const { statusCode, headers, body } = await request(url, { ...options, dispatcher: this.#agent });
    const all = new Headers();
    for (const [name, value] of Object.entries(headers)) for (const one of [value ?? []].flat()) all.append(name, one);
    return { status: statusCode, headers: all, text: await body.text() };
  }

  /**
   * Calls the admin REST API as the administrator, without the relay.
   *
   * @param path below `/admin/realms`
   * @throws Error for any answer but 2xx
   * @see https://www.keycloak.org/docs-api/latest/rest-api/
   */
  async admin(method: Dispatcher.HttpMethod, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.request(`https://127.0.0.1:${this.#port}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.#adminToken()}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }

  async stop(): Promise<void> {
    process.off('exit', this.#abandon);
    const gone = this.#isRunning() && this.#process ? once(this.#process, 'exit') : undefined;
    this.#kill();
    await gone;
    await this.relay.cut();
    await this.#agent.destroy();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #run(home: string): Promise<void> {
    const log = join(this.#directory, 'keycloak.log');
    const output = openSync(log, 'a');
    const flags = {
      'db-url': databaseURL(join(this.#directory, 'database')),
      hostname: this.relay.url,
      'http-host': '127.0.0.1',
      'https-port': `${this.#port}`,
      'https-certificate-file': join(this.#directory, 'serving.crt'),
      'https-certificate-key-file': join(this.#directory, 'serving.key'),
    };
    const args = ['start', '--optimized', ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)];
    // The script starts Java as another process, so both get a process group.
    this.#process = spawn(join(home, 'bin', 'kc.sh'), args, {
      cwd: this.#directory,
      env: { ...process.env, JAVA_OPTS: javaOptions },
      stdio: ['ignore', output, output],
      detached: true,
    });
    process.once('exit', this.#abandon);
    const isUp = () =>
      this.request(`https://127.0.0.1:${this.#port}/realms/master`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually(isUp, (up) => up || !this.#isRunning()).catch(() => undefined);
    if (!(await isUp())) throw new Error(`Keycloak did not start:\n${(await readFile(log, 'utf8')).slice(-2000)}`);
  }

  readonly #abandon = () => {
    this.#kill();
    rmSync(this.#directory, { recursive: true, force: true });
  };

  #isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Kills the script and Java. */
  #kill(): void {
    if (this.#isRunning() && this.#process?.pid !== undefined) process.kill(-this.#process.pid, 'SIGKILL');
  }

  async #adminToken(): Promise<string> {
    const { status, text } = await this.request(`https://127.0.0.1:${this.#port}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams({ grant_type: 'client_credentials', client_id: administrator.id, client_secret: administrator.secret })}`,
    });
    if (status !== 200) throw new Error(`no token for the administrator of Keycloak: ${status} ${text}`);
    return z.object({ access_token: z.string() }).parse(JSON.parse(text)).access_token;
  }
}
