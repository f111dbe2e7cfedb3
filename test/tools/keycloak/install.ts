import { execFile } from 'node:child_process';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const version = '26.7.3';
const unpack = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';

const missing = 'Keycloak needs Java 17 or newer and Maven: apt-get install openjdk-17-jre-headless maven';

/** Client credentials of the administrator in each copy of the database. Keycloak listens on loopback only. */
export const administrator = { id: 'atrium-tests', secret: 'known-to-the-tests' };

/** Options for a server that runs for a minute or two on a busy machine. */
export const javaOptions = '-Xms64m -Xmx384m -XX:MaxMetaspaceSize=256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1';

/** Returns the address of an H2 database. `NON_KEYWORDS=VALUE` is part of Keycloak's default address. */
export const databaseURL = (path: string) => `jdbc:h2:file:${path};NON_KEYWORDS=VALUE;DB_CLOSE_ON_EXIT=FALSE`;

interface Installation {
  /** Folder of the distribution, built for `kc.sh start --optimized`. */
  home: string;
  /** H2 file with the schema, the realm `master` and the administrator in it, to be copied. */
  database: string;
}

/** Returns Keycloak with an initial database. The first call downloads it from Maven Central and builds it, which takes two minutes. */
export async function keycloak(): Promise<Installation> {
  await requireJava();
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'atrium-cluster');
  const folder = join(cache, `keycloak-${version}`);
  const installation = { home: join(folder, `keycloak-${version}`), database: join(folder, 'database.mv.db') };
  if (await exists(folder)) return installation;
  console.error(`installing Keycloak ${version} (once, two minutes)`);
  await mkdir(cache, { recursive: true });
  const unfinished = `${folder}.${process.pid}`;
  try {
    await install(unfinished);
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return installation;
}

async function install(folder: string): Promise<void> {
  await program('mvn', ['-B', '-q', unpack, `-Dartifact=org.keycloak:keycloak-quarkus-dist:${version}:zip`, `-DoutputDirectory=${folder}`]);
  const kc = join(folder, `keycloak-${version}`, 'bin', 'kc.sh');
  await program(kc, ['build', '--db=dev-file', '--cache=local']);
  await program(kc, [
    ...['bootstrap-admin', 'service', '--optimized', `--db-url=${databaseURL(join(folder, 'database'))}`],
    ...[`--client-id=${administrator.id}`, '--client-secret:env=ADMINISTRATOR_SECRET'],
  ]);
}

async function requireJava(): Promise<void> {
  const text = await program('java', ['--version']);
  if (Number(/\d+/.exec(text)?.[0]) < 17) throw new Error(missing);
}

/** @returns its output */
async function program(command: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, JAVA_OPTS: javaOptions, ADMINISTRATOR_SECRET: administrator.secret };
  try {
    return (await run(command, args, { env })).stdout;
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw isMissing ? new Error(missing, { cause: error }) : error;
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

if (import.meta.main) {
  await keycloak()
    .then(({ home }) => console.log(home))
    .catch((error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      process.exitCode = 1;
    });
}
