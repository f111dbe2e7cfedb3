/**
 * The process: reads the command line, loads the configuration, runs the command and ends on a signal. Sole user of process.env and
 * process.exit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { secretOf } from '@atrium/http/secret-file.ts';
import { createLog, GatheredLines } from '@atrium/http/telemetry/log.ts';
import { type Connection, inClusterConnection } from '@atrium/kubernetes/connection.ts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addLoginCommands } from 'kubectl-atrium/commands.ts';
import { CommandError, Interrupted, RequestPending, type Terminal } from 'kubectl-atrium/terminal.ts';
import type { Logger } from 'pino';
import { stringify } from 'yaml';
import packageJson from '../package.json' with { type: 'json' };
import {
  ConfigError,
  type ConfigSources,
  effectiveSettings,
  fileProblems,
  parseConfig,
  parseServiceConfig,
  settingsOfProfile,
} from './config/load.ts';
import { profileNames } from './config/profiles.ts';
import type { Config } from './config/schema.ts';
import { stopOnSignals } from './signals.ts';

const defaultConfig = '/etc/atrium/config.yaml';

/** Returns the first existing directory, relative to this file: in the sources, in `dist/parts`, in the image. */
const shippedDirectory = (...places: string[]): URL | undefined => places.map((place) => new URL(place, import.meta.url)).find(existsSync);

/** Reads the file and the process variables. A missing default file is empty; a missing named file is a problem. */
function configSources(file: string | undefined): ConfigSources {
  const page = shippedDirectory('../public/', '../web/dist/', '../../web/dist/');
  const sources = { environment: process.env, ...(page && { staticDirectory: fileURLToPath(page) }) };
  if (file === undefined && !existsSync(defaultConfig)) return sources;
  return { ...sources, yaml: readNamedFile('--config', file ?? defaultConfig) };
}

/** @throws ConfigError */
function readNamedFile(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
    throw new ConfigError([{ path: option, message: `the file cannot be read (${code})` }]);
  }
}

async function connect({ kubernetes }: Config): Promise<Connection> {
  if (kubernetes.kubeconfig === undefined && process.env.KUBERNETES_SERVICE_HOST) return inClusterConnection({ environment: process.env });
  const kubeconfig = kubernetes.kubeconfig ?? process.env.KUBECONFIG;
  if (!kubeconfig)
    throw new ConfigError([{ path: 'kubernetes.kubeconfig', message: 'name a kubeconfig file, set KUBECONFIG, or run in a cluster' }]);
  const { kubeconfigConnection } = await import('@atrium/kubernetes/kubeconfig-connection.ts');
  return kubeconfigConnection(kubeconfig);
}

async function serve({ config: file }: { config?: string }): Promise<void> {
  const config = parseServiceConfig(configSources(file));
  const connection = await connect(config);
  const { App } = await withoutRuntimeWarning(() => import('./app.ts'));
  const writeAudit = (line: string) => process.stdout.write(line);
  const app = new App({ config, connection, environment: process.env, log: await processLog(config), writeAudit });
  stopOnSignals(process, (options) => app.stop(options));
  await app.start();
}

/** Creates the log. Loads pino-pretty only if configured, and in this process, because a worker thread finds no package in the image. */
async function processLog({ log }: Config): Promise<Logger> {
  // The bundle of a CommonJS package has only the default export.
  if (log.format === 'pretty') return createLog(log, (await import('pino-pretty')).default({ singleLine: true, sync: true }));
  const lines = new GatheredLines(process.stdout);
  process.on('exit', () => lines.flush());
  return createLog(log, lines);
}

/** Suppresses the warning of oidc-provider about Node.js releases without LTS. The service pins and tests its release. */
async function withoutRuntimeWarning<T>(load: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = (...words: unknown[]) => String(words[0]).includes('Unsupported runtime') || warn(...words);
  try {
    return await load();
  } finally {
    console.warn = warn;
  }
}

/** Describes the settings that the profile makes, and those that the configuration makes in its place. */
function profileLines({ profile }: Config, sources: ConfigSources): string[] {
  const lines = settingsOfProfile(sources).map(({ path, value, override }) =>
    override === undefined ? `  ${path}: ${value}` : `  ${path}: ${override} (set by the configuration; the profile has ${value})`,
  );
  return profile === undefined ? [] : [`the profile ${profile} sets:`, ...lines];
}

async function createAdmin({ config: file, passwordFile, ...options }: CreateAdminOptions): Promise<void> {
  const config = parseConfig(configSources(file));
  const password = passwordFile === undefined ? undefined : secretOf(readNamedFile('--password-file', passwordFile));
  const { runCreateAdmin } = await import('./create-admin.ts');
  console.log(await runCreateAdmin({ ...options, password, config, connection: await connect(config) }));
}

async function sweep({ config: file }: { config?: string }): Promise<void> {
  const config = parseConfig(configSources(file));
  const { runSweep } = await withoutRuntimeWarning(() => import('./sweep.ts'));
  const writeAudit = (line: string) => process.stdout.write(line);
  const log = await processLog(config);
  log.info(await runSweep({ config, connection: await connect(config), log, writeAudit }));
}

async function restore(name: string, { config: file }: { config?: string }): Promise<void> {
  const config = parseConfig(configSources(file));
  const backup = name === '-' ? readFileSync(process.stdin.fd, 'utf8') : readNamedFile('restore', name);
  const { runRestore } = await withoutRuntimeWarning(() => import('./restore.ts'));
  console.log(await runRestore({ backup, config, connection: await connect(config), log: await processLog(config) }));
}

async function auditStore({ config: file }: { config?: string }): Promise<void> {
  const config = parseConfig(configSources(file));
  const { openStoreServer } = await import('./audit-store.ts');
  const server = await openStoreServer({ config, connection: await connect(config), log: await processLog(config) });
  stopOnSignals(process, () => server.stop());
  await server.start();
}

interface CreateAdminOptions {
  email: string;
  name: string;
  secret: string;
  passwordFile?: string;
  config?: string;
}

function terminal(): Terminal {
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ended.abort(new Interrupted(signal)));
  const { env: environment, stdout, stderr, platform } = process;
  const person = { isInteractive: isatty(0), userID: process.getuid?.(), homeDirectory: homedir() };
  return { environment, stdout, stderr, platform, ...person, signal: ended.signal };
}

/** Runs the build in a process of its own, whose code would stay in memory. */
async function buildConsole(packageRoot: URL): Promise<void> {
  const script = fileURLToPath(new URL('scripts/web.ts', packageRoot));
  const [code] = await once(spawn(process.execPath, [script, '--if-changed'], { stdio: 'inherit' }), 'close');
  if (code !== 0) throw new Error('the console could not be built: see above');
}

const wholeNumber = (text: string): number => {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
};

const portNumber = (text: string): number => {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('must be a port, 0 to 65535; 0 is any free port');
  return port;
};

const collected = (value: string, before: string[]): string[] => [...before, value];

const program = new Command('atrium').description('The backend of a web console for Kubernetes.').version(packageJson.version);

program
  .command('serve')
  .version(packageJson.version)
  .description('start the service (the default command)')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .action(serve);

program
  .command('create-admin')
  .description('create the first administrator, once; the password is written to a Secret and must be changed at the first login')
  .requiredOption('--email <email>', 'e-mail address or plain login name')
  .option('--name <name>', 'display name', 'Administrator')
  .option('--password-file <file>', 'file with the password (default: a random password)')
  .option('--secret <name>', 'Secret with the address and password of the administrator', 'atrium-first-admin')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .action(createAdmin);

program
  .command('sweep')
  .description('end expired access of access requests, once; for times when no replica runs')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .action(sweep);

program
  .command('restore')
  .description('create the objects of a backup with new uids, while no replica runs; needs the rights of a cluster administrator')
  .argument('<file>', 'list that "kubectl get --output json" wrote; - is standard input')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .action(restore);

program
  .command('audit-store')
  .description('keep the audit events of an installation in a file, for the replicas of the service')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .action(auditStore);

program
  .command('sandbox')
  .version(packageJson.version)
  .description('start the service with an embedded cluster, for demos and development')
  .option('--port <port>', 'port of the console', portNumber, 8080)
  .option('--host <address>', 'address of the listener; any address but loopback admits other hosts', '127.0.0.1')
  .option('--users <count>', 'number of generated users', wholeNumber, 25)
  .option('--origin <origin>', 'origin whose pages may call the API, such as http://localhost:5173; repeatable', collected, [])
  .option('--redirect-url <url>', 'additional redirect URL of logins; repeatable', collected, [])
  .option('--static <directory>', 'serve the files of this directory in place of the console')
  .option('--data <directory>', 'store the objects of the cluster in this directory (default: in memory)')
  .option('--smtp-port <port>', 'port of a mail server on this machine, for links to users who have forgotten their password', portNumber)
  .option('--minimal', 'leave workload lists, bindings, access tokens and access requests off')
  .option('--info <file>', 'write addresses, users and tokens to this JSON file; removed at the stop')
  .option('--build', 'build the console before, if its sources have changed')
  .action(async ({ build, ...options }) => {
    const manifests = shippedDirectory('../deploy/manifests/', '../../deploy/manifests/');
    if (manifests === undefined)
      throw new Error('the demo runs in the repository only: it needs deploy/manifests and web/dist (npm run web)');
    // Only the demo loads the embedded cluster.
    const { runSandbox } = await withoutRuntimeWarning(() => import('./sandbox.ts'));
    const packageRoot = new URL('../..', manifests);
    const prepare = build && options.static === undefined ? () => buildConsole(packageRoot) : undefined;
    const { stop, welcome } = await runSandbox({ ...options, environment: process.env, packageRoot, ...(prepare && { prepare }) });
    stopOnSignals(process, stop);
    // Readers of this text may send a signal immediately.
    console.log(welcome);
  });

const config = program.command('config').description('check or print the configuration');
config
  .command('check')
  .description('report every problem of the configuration and its files; exit code 2 if there is one')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .option('--connect', 'also connect to the API server and the issuers')
  .action(async ({ config: file, connect: isConnecting }: { config?: string; connect?: true }) => {
    const sources = configSources(file);
    const config = parseServiceConfig(sources);
    const problems = await fileProblems(config);
    if (problems.length > 0) throw new ConfigError(problems);
    const { App } = await withoutRuntimeWarning(() => import('./app.ts'));
    const unreachable = isConnecting ? await App.unreachable(config, await connect(config)) : [];
    if (unreachable.length > 0) throw new ConfigError(unreachable);
    for (const file of await App.shadowedFiles(config))
      console.error(`warning: console.static.directory: ${file} is not served: its path is the service's own`);
    for (const line of profileLines(config, sources)) console.log(line);
    console.log('the configuration is valid');
  });
config
  .command('rights')
  .description('print the rights that the account of the service needs for the configuration, as a table')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .addOption(new Option('--profile <name>', 'the profile in place of the configured one').choices(profileNames))
  .action(async ({ config: file, profile }: { config?: string; profile?: string }) => {
    const sources = configSources(file);
    const environment = { ...sources.environment, ...(profile !== undefined && { ATRIUM_PROFILE: profile }) };
    const { rightsOf, rightsTable } = await import('./rights.ts');
    console.log(rightsTable(rightsOf(parseConfig({ ...sources, environment }))));
  });
config
  .command('print')
  .description('print the effective configuration, with defaults')
  .option('--config <file>', `YAML file (default: ${defaultConfig})`)
  .action(({ config: file }: { config?: string }) => console.log(stringify(effectiveSettings(configSources(file))).trimEnd()));

program
  .command('openapi')
  .description('print the OpenAPI document')
  .action(async () => {
    const { App } = await withoutRuntimeWarning(() => import('./app.ts'));
    console.log(JSON.stringify(App.describe(), null, 2));
  });

addLoginCommands(program, terminal);

const args = process.argv.slice(2);
const namesNoCommand = args.length === 0 || (args[0]?.startsWith('-') && !['-h', '--help', '-V', '--version'].includes(args[0]));

try {
  await program.parseAsync([...(namesNoCommand ? ['serve'] : []), ...args], { from: 'user' });
} catch (error) {
  if (error instanceof Interrupted || error instanceof RequestPending) process.exit(error.exitCode);
  console.error(error instanceof Error ? error.message : error);
  if (error instanceof CommandError) process.exit(error.exitCode);
  process.exit(error instanceof ConfigError ? 2 : 1);
}
