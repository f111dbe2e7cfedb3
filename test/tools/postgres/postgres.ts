import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KeyPair } from '../../cluster/certificates.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';

const install = 'apt-get update && apt-get install -y --no-install-recommends postgresql';
/** PostgreSQL refuses to run as root; 65534 is `nobody`. */
const account = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const user = 'atrium';

/** Password over TCP. The socket needs none. */
export const password = 'p%40ss';

interface PostgresOptions {
  /** Default: false. */
  waitsForDisk?: boolean;
  /** Listens on loopback, too, where it requires the password; with a key pair it offers TLS there. */
  overTCP?: boolean | KeyPair;
}

/** PostgreSQL as a child process, in a temporary folder, on a socket in this folder. */
export class Postgres {
  readonly #programs: string;
  readonly #folder: string;
  readonly #settings: readonly string[];
  /** Port on loopback, if it listens there. */
  readonly port: number | undefined;
  #child: ChildProcess | undefined;
  #databases = 0;

  private constructor(programs: string, folder: string, settings: readonly string[], port: number | undefined) {
    this.#settings = settings;
    this.#programs = programs;
    this.#folder = folder;
    this.port = port;
  }

  /**
   * Starts an empty server. The system keeps written pages when the process ends, so that only a measurement has to wait for the disk.
   *
   * @throws Error with the command that installs it
   */
  static async start({ waitsForDisk = false, overTCP = false }: PostgresOptions = {}): Promise<Postgres> {
    const [programs] = globSync('/usr/lib/postgresql/*/bin').toSorted().reverse();
    if (programs === undefined) throw new Error(`PostgreSQL is not installed: ${install}`);
    const folder = await mkdtemp(join(tmpdir(), 'atrium-pg-'));
    if (account.uid !== undefined) await chown(folder, account.uid, account.gid);
    const port = overTCP === false ? undefined : await freePort();
    const tls = typeof overTCP === 'object' ? await tlsSettings(folder, overTCP) : [];
    const settings = [
      ...(waitsForDisk ? [] : ['-F']),
      ...['-c', `listen_addresses=${port === undefined ? '' : '127.0.0.1'}`, '-c', `unix_socket_directories=${folder}`],
      ...(port === undefined ? [] : ['-c', `port=${port}`]),
      ...tls,
    ];
    const postgres = new Postgres(programs, folder, settings, port);
    const flags = [
      '--no-sync',
      '--auth-local=trust',
      '--auth-host=scram-sha-256',
      `--pwfile=${await fileOf(folder, 'password', password)}`,
      '--encoding=UTF8',
      '--locale=C.UTF-8',
      `--username=${user}`,
      `--pgdata=${join(folder, 'data')}`,
    ];
    await promisify(execFile)(join(programs, 'initdb'), flags, { ...account, cwd: folder });
    await postgres.run();
    return postgres;
  }

  /** Starts the server, or restarts it after `kill`. */
  async run(): Promise<void> {
    const child = spawn(join(this.#programs, 'postgres'), ['-D', join(this.#folder, 'data'), ...this.#settings], {
      ...account,
      cwd: this.#folder,
      stdio: 'ignore',
    });
    this.#child = child;
    await eventually(
      async () => {
        if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`);
        return this.#call('psql', '--command=select', 'postgres').then(
          () => true,
          () => false,
        );
      },
      (isUp) => isUp,
    );
  }

  /** Makes an empty database, and returns its address. */
  async database(): Promise<string> {
    this.#databases += 1;
    const name = `test${this.#databases}`;
    await this.#call('createdb', name);
    return this.url(name);
  }

  /** Runs a statement of SQL in a database. */
  async execute(database: string, statement: string): Promise<void> {
    await this.#call('psql', `--command=${statement}`, database);
  }

  /** Runs a line of a shell, which finds the programs of the server. @throws Error with its output if it fails */
  async shell(line: string, variables: Record<string, string>): Promise<void> {
    const env = { ...process.env, ...variables, PATH: `${this.#programs}:${process.env.PATH}` };
    await promisify(execFile)('sh', ['-c', line], { env });
  }

  /** Bytes of a database on disk. */
  async bytesOf(database: string): Promise<number> {
    return Number(await this.#call('psql', '--no-align', '--tuples-only', `--command=select pg_database_size('${database}')`, 'postgres'));
  }

  /** Address of a database on the socket. */
  url(database: string): string {
    return `postgresql:///${database}?host=${encodeURIComponent(this.#folder)}&user=${user}`;
  }

  /** Ends the server at once; transactions that it has confirmed stay (SIGQUIT, as after a crash). */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGQUIT');
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true });
  }

  async #call(program: string, ...flags: string[]): Promise<string> {
    const connection = [`--host=${this.#folder}`, `--username=${user}`, ...(this.port === undefined ? [] : [`--port=${this.port}`])];
    return (await promisify(execFile)(join(this.#programs, program), [...connection, ...flags])).stdout;
  }
}

/** Writes a file that PostgreSQL alone may read. */
async function fileOf(folder: string, name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text, { mode: 0o600 });
  if (account.uid !== undefined) await chown(file, account.uid, account.gid);
  return file;
}

async function tlsSettings(folder: string, { certificate, key }: KeyPair): Promise<string[]> {
  const [certFile, keyFile] = [await fileOf(folder, 'tls.crt', certificate), await fileOf(folder, 'tls.key', key)];
  return ['-c', 'ssl=on', '-c', `ssl_cert_file=${certFile}`, '-c', `ssl_key_file=${keyFile}`];
}
