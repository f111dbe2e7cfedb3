import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nearestName } from '@atrium/objects/field-error.ts';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { contradictions } from './contradictions.ts';
import { withPreset } from './lists-section.ts';
import { merge, type ProfileSetting, profileSettings, withProfile } from './profiles.ts';
import { isText, namedPaths, schemaAt, shapeOf, writtenDefaults } from './reference.ts';
import { type Config, configSchema, defaultStaticDirectory } from './schema.ts';

/** A problem: the path of the setting, and the correction. */
export interface Problem {
  path: string;
  message: string;
}

/** All problems of a configuration. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(['the configuration is not valid:', ...problems.map(({ path, message }) => `  ${path || '(file)'}: ${message}`)].join('\n'));
    this.problems = problems;
  }
}

type Tree = Record<string, unknown>;

export interface ConfigSources {
  /** Text of the YAML file. An empty or missing text means no settings. */
  yaml?: string;
  /** Process variables; `ATRIUM_SERVER__PORT` sets `server.port`. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Directory of the program's own static files, the default of `console.static.directory`. */
  staticDirectory?: string;
}

/**
 * Validates a configuration and applies the defaults. Opens no file and creates nothing.
 *
 * @throws ConfigError with all problems
 */
export function parseConfig(sources: ConfigSources): Config {
  const { tree, problems } = readSources(sources);
  const result = configSchema.safeParse(withProfile(tree));
  if (!result.success) problems.push(...result.error.issues.flatMap(problemsOf));
  else
    problems.push(
      ...Object.entries(contradictions(result.data, isTree(tree.login) ? tree.login : {})).map(([path, message]) => ({
        path,
        message: message + originOf(path, tree),
      })),
    );
  if (problems.length > 0 || !result.success) throw new ConfigError(problems);
  return deepFreeze({ ...result.data, lists: withPreset(result.data.lists) });
}

/** Names the profile behind a setting that the configuration does not set itself. */
function originOf(path: string, tree: Tree): string {
  const isOfProfile = profileSettings(tree).some((setting) => setting.path === path && setting.override === undefined);
  return isOfProfile ? ` (the profile ${tree.profile} sets it)` : '';
}

/**
 * Validates the configuration of a service that is about to start. Commands that serve no browsers do not need an address.
 *
 * @throws ConfigError with all problems
 */
export function parseServiceConfig(sources: ConfigSources): Config {
  const missing = isAddressMissing(sources) ? [{ path: 'server.publicURL', message: addressMissing }] : [];
  try {
    const config = parseConfig(sources);
    if (missing.length === 0) return config;
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError([...error.problems, ...missing]);
    throw error;
  }
  throw new ConfigError(missing);
}

const addressMissing =
  'is required: the address under which browsers reach the service, such as https://console.example.com, or http://localhost:8080 for a first look';

function isAddressMissing(sources: ConfigSources): boolean {
  const { server } = readSources(sources).tree;
  return !isTree(server) || server.publicURL === undefined || server.publicURL === null;
}

/** Returns the settings in their written form, including defaults, for `atrium config print`. @throws ConfigError */
export function effectiveSettings(sources: ConfigSources): Tree {
  parseConfig(sources);
  return merge(writtenDefaults(configSchema), withProfile(readSources(sources).tree));
}

/** Returns the settings of the profile that the configuration names, each with the value that overrides it. */
export const settingsOfProfile = (sources: ConfigSources): ProfileSetting[] => profileSettings(readSources(sources).tree);

function readSources({ yaml = '', environment = {}, staticDirectory }: ConfigSources): { tree: Tree; problems: Problem[] } {
  const document = parseDocument(yaml, { uniqueKeys: true });
  const problems: Problem[] = document.errors.map(({ message }) => ({
    path: '',
    message: message.split('\n', 1)[0] ?? 'is not valid YAML',
  }));
  const value: unknown = problems.length > 0 ? {} : (document.toJS() ?? {});
  const tree = isTree(value) ? value : {};
  if (!isTree(value)) problems.push({ path: '', message: 'must be a mapping of sections, such as server: and console:' });
  for (const [name, text] of Object.entries(environment)) {
    // Two underscores distinguish settings from the variables that a kubelet sets for a Service called atrium (ATRIUM_SERVICE_HOST).
    if (text === undefined || !/^ATRIUM_(?:[A-Z]+__|PROFILE$)/i.test(name)) continue;
    const problem = override(tree, name.slice('ATRIUM_'.length).split('__'), text);
    if (problem) problems.push({ path: name, message: problem });
  }
  return { tree: staticDirectory === undefined ? tree : withStaticDirectory(tree, staticDirectory), problems };
}

/** Sets the directory of the files only. The `assetsHostPath` that the console sees keeps its default. */
function withStaticDirectory(tree: Tree, directory: string): Tree {
  const { console = {} } = tree;
  const { static: section = {} } = isTree(console) ? console : {};
  if (!isTree(console) || !isTree(section) || section.directory !== undefined) return tree;
  return { ...tree, console: { assetsHostPath: defaultStaticDirectory, ...console, static: { ...section, directory } } };
}

/** Applies a process variable. Text settings take it unchanged, others parse it as YAML. */
function override(tree: Tree, path: readonly string[], text: string): string | undefined {
  let schema: z.ZodType = configSchema;
  let at = tree;
  for (const [index, segment] of path.entries()) {
    const shape = shapeOf(schema);
    const key = Object.keys(shape ?? {}).find((name) => name.toLowerCase() === segment.toLowerCase());
    const child = key === undefined ? undefined : shape?.[key];
    if (key === undefined || child === undefined)
      return unknownSetting(segment, shape, (nearest) => `ATRIUM_${path.with(index, nearest).join('__')}`.toUpperCase());
    schema = child;
    if (index === path.length - 1) at[key] = isText(schema) ? text : parseDocument(text).toJS();
    else at = at[key] = isTree(at[key]) ? at[key] : {};
  }
  return undefined;
}

/** Reports whether the value is a mapping. The schema reports `server: null` and `console.envs: 1`. */
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text ? `${text}.${String(key)}` : String(key)),
    '',
  );
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const section = schemaAt(configSchema, issue.path);
  const full = (key: string) => (path ? `${path}.${key}` : key);
  return issue.keys.map((key) => ({ path: full(key), message: unknownSetting(key, section && shapeOf(section), full) }));
}

/** @param write formats the nearest name as the user would write it */
function unknownSetting(name: string, shape: object | undefined, write: (name: string) => string): string {
  const nearest = nearestName(name, Object.keys(shape ?? {}));
  return `is not a setting; ${nearest === undefined ? 'see docs/configuration.md' : `did you mean ${write(nearest)}?`}`;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}

/**
 * Checks the files of a configuration for `atrium config check`. The service itself reads each file when it needs it.
 *
 * @returns the problems: files that are missing, unreadable for this account, empty, or of the wrong kind
 */
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
