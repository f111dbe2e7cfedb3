/** Generates clients. The generators and the libraries of their clients are downloaded once and cached. */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { access, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const version = '7.17.0';
const oapiCodegen = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'atrium-clients');

/** Names for `_` of HandleModules, which is no name of a field in Go, and private in Python. */
const mappings = { go: '_=Revision', python: '_=revision' };

/** Options without documentation and tests, which are not needed here. */
const parts = ['--global-property', 'apiDocs=false,modelDocs=false,apiTests=false,modelTests=false'];

const goModule = ['--git-host', 'atrium.example', '--git-user-id', 'clients', '--git-repo-id', 'go'];

/** @returns standard output; @throws Error with standard error */
export async function program(
  command: string,
  args: readonly string[],
  { cwd, env }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  try {
    return (await run(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string };
    throw new Error(`${command} failed:\n${stdout.slice(-2000)}\n${stderr.slice(-4000)}`, { cause: error });
  }
}

/** Writes a client for the OpenAPI document in a file. Go and Python call it `atrium`. */
export async function generate(language: 'go' | 'python', document: string, directory: string): Promise<void> {
  const options = ['--package-name', 'atrium', '--name-mappings', mappings[language], ...parts, ...(language === 'go' ? goModule : [])];
  const java = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-jar', await generatorJar()];
  await program('java', [...java, 'generate', '-i', document, '-g', language, '-o', directory, ...options]);
}

async function generatorJar(): Promise<string> {
  const name = `openapi-generator-cli-${version}.jar`;
  const artifact = `org.openapitools:openapi-generator-cli:${version}`;
  return join(
    await kept(`generator-${version}`, (folder) =>
      program('mvn', ['-B', '-q', copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`]),
    ),
    name,
  );
}

/** Writes a Go package `atrium` by oapi-codegen. */
export async function oapiGenerate(document: string, file: string): Promise<void> {
  const folder = await kept('oapi-codegen-2.8.2', async (bin) => {
    await program('go', ['install', oapiCodegen], { env: { GOBIN: bin } });
  });
  await program(join(folder, 'oapi-codegen'), ['-generate', 'types,client', '-package', 'atrium', '-o', file, document]);
}

/** Writes a Python package `atrium_client` by openapi-python-client. @returns the warnings of the generator */
export async function pythonClient(document: string, directory: string): Promise<string> {
  const config = fileURLToPath(new URL('openapi-python-client/config.yaml', import.meta.url));
  const generator = join(dirname(await python('openapi-python-client')), 'openapi-python-client');
  return program(generator, ['generate', '--path', document, '--output-path', directory, '--config', config]);
}

/** Returns the path of a Python with the libraries that a folder of this suite names. */
export async function python(suite: 'python' | 'openapi-python-client' | 'kubernetes-python'): Promise<string> {
  const requirements = fileURLToPath(new URL(`${suite}/requirements.txt`, import.meta.url));
  const digest = hash('sha256', await readFile(requirements)).slice(0, 12);
  const folder = await kept(`python-${digest}`, async (unfinished) => {
    await program('python3', ['-m', 'venv', unfinished]);
    await program(join(unfinished, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--requirement', requirements]);
  });
  return join(folder, 'bin', 'python');
}

/** Returns a folder of the cache. The first call creates it. */
async function kept(name: string, make: (folder: string) => Promise<unknown>): Promise<string> {
  const [folder, done] = [join(cache, name), join(cache, `${name}.done`)];
  if (await exists(done)) return folder;
  await mkdir(cache, { recursive: true });
  await rm(folder, { recursive: true, force: true });
  await make(folder);
  await writeFile(done, '');
  return folder;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
