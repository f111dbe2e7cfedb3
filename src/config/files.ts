/** Checks the files of a configuration for `atrium config check`. The service itself reads each file when it needs it. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from './load.ts';
import { namedPaths } from './reference.ts';
import { type Config, configSchema } from './schema.ts';

/** Returns all problems of files: missing, unreadable for this account, empty, or of the wrong kind. */
export async function fileProblems(config: Config): Promise<Problem[]> {
  const named = [...namedPaths(configSchema, config)];
  const problems = await Promise.all(
    named.map(async ({ setting, path }): Promise<Problem[]> => {
      const message = setting.endsWith('.directory') ? await directoryProblem(path, config) : await fileProblem(setting, path);
      return message === undefined ? [] : [{ path: setting, message: `${path}: ${message}` }];
    }),
  );
  return problems.flat().concat(problems.flat().length === 0 ? await keyPairProblems(config) : []);
}

async function fileProblem(setting: string, path: string): Promise<string | undefined> {
  try {
    const text = await readFile(path, 'utf8');
    if (text.trim() === '') return 'the file is empty';
    if (/\.(caFile|certFile)$/.test(setting)) new X509Certificate(text);
    if (setting.endsWith('.keyFile')) createPrivateKey(text);
    return undefined;
  } catch (error) {
    return systemCode(error) ?? (setting.endsWith('.keyFile') ? 'holds no private key in PEM' : 'holds no certificate in PEM');
  }
}

async function directoryProblem(path: string, { console }: Config): Promise<string | undefined> {
  const index = join(path, console.static.fallback);
  try {
    if (!(await stat(path)).isDirectory()) return 'is not a directory';
    await readFile(index);
    return undefined;
  } catch (error) {
    const code = systemCode(error) ?? 'cannot be read';
    return error instanceof Error && 'path' in error && error.path === index ? `${console.static.fallback} in it ${code}` : code;
  }
}

async function keyPairProblems({ server: { tls } }: Config): Promise<Problem[]> {
  if (tls === undefined) return [];
  const [certificate, key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return [];
  return [{ path: 'server.tls.keyFile', message: `${tls.keyFile}: is not the key of the first certificate in ${tls.certFile}` }];
}

const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'syscall' in error && 'code' in error ? `cannot be read (${error.code})` : undefined;
