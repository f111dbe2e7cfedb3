import { hash } from 'node:crypto';
import { type JsonText, jsonText, preparedJson } from '@atrium/http/json-answers.ts';
import { staticPathsIn } from '@atrium/http/static/directory.ts';
import { StaticFiles, type Timer } from '@atrium/http/static/files.ts';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { ConsolePlugins } from '../plugins/console-plugins.ts';
import { mergePolicy } from '../plugins/content-security-policy.ts';
import type { Feature, Services } from '../services.ts';
import type { Brand } from './brand.ts';
import { ConfigMaps } from './config-maps.ts';
import { Environment, mergeVariables, publicVariables, type Variables, type Visible } from './environment.ts';
import { ConfigMapImages } from './images.ts';
import { PluginEvents } from './plugin-map.ts';
import { PluginFiles } from './plugins.ts';
import { consoleOperations, type Prepared } from './routes.ts';

/** Dependencies of the console beside the services. */
interface ConsoleNeeds {
  consolePlugins: ConsolePlugins;
  /** Process variables, which `console.envsFilter` selects. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Timer for the checks of the static directory. Default: the system's. */
  timer?: Timer | undefined;
}

interface Console extends Feature {
  /** Name and appearance of the installation, as far as they are public. */
  brand(): Brand;
  /** Plugin files in ConfigMaps, for single requests. */
  pluginFiles: PluginFiles;
  /** Paths of the files in the static directory; empty if it cannot be read. */
  staticPaths(): Promise<readonly string[]>;
  /** Reads the static files and starts the watches; does not wait for the API server. */
  start(): Promise<void>;
}

/** Creates the feature `console`. */
export function createConsole(services: Services, { consolePlugins, environment, timer }: ConsoleNeeds): Console {
  const { config, basePath, log } = services;
  const configMaps = new ConfigMaps(services);
  const events = new PluginEvents(services);
  const plugins = new PluginFiles(services, configMaps, consolePlugins, events);
  const { envsFilter, envs, debugImage } = config.console;
  const base = mergeVariables(
    publicVariables(environment, envsFilter),
    debugImage === undefined ? [] : [['debug.image', debugImage]],
    Object.entries(envs),
  );
  const variables = new Environment(configMaps, base, config.console.envsConfigMap);
  const staticFiles = new StaticFiles(log, { ...config.console.static, recurveIndex: config.console.recurveIndex, basePath }, timer);

  const environmentText = memoizedByObject<Variables>(environmentJson);
  const modulesText = perBuild(staticFiles, (build) =>
    memoizedByObject<Variables>((seen) => jsonText(consoleModules({ config, basePath, variables: seen, build }))),
  );
  const policyText = policyOf(config.console.static.csp, consolePlugins, log);

  return {
    operations: consoleOperations({
      images: new ConfigMapImages(services, configMaps),
      environment: (caller, request) => prepared(variables.visibleTo(caller, request), environmentText),
      modules: (caller, request) => prepared(variables.visibleTo(caller, request), modulesText()),
      pluginFiles: (caller, signal) => plugins.list(caller, signal),
      languages: jsonText({ availableLanguages: config.console.languages.map(({ id, name }) => ({ id, name })) }),
      staticFiles,
      contentSecurityPolicy: policyText,
      basePath,
    }),
    checks: [
      { name: 'static-files', critical: true, failure: () => staticFiles.failure() },
      { name: 'configmaps', critical: false, isAwaited: true, failure: () => configMaps.failure() },
    ],
    pluginFiles: plugins,
    brand: () => variables.brand(),
    staticPaths: () => staticPathsIn(config.console.static.directory).catch(() => []),
    async start() {
      await staticFiles.load();
      staticFiles.start();
      configMaps.start();
    },
    async stop() {
      events.stop();
      await staticFiles.stop();
      await configMaps.stop();
    },
  };
}

/** Returns the answer for the variables that a caller sees. */
function prepared(visible: Visible | Promise<Visible>, textOf: (variables: Variables) => JsonText): Prepared | Promise<Prepared> {
  if (visible instanceof Promise) return visible.then((seen) => prepared(seen, textOf));
  return { answer: textOf(visible.variables), isStale: visible.isStale };
}

/** Writes the object by hand, because a JavaScript object would put numeric names first. */
const environmentJson = (variables: Variables): JsonText =>
  preparedJson(`{${variables.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`);

/** Caches the answer for a value as long as the value exists. */
function memoizedByObject<T extends object>(make: (value: T) => JsonText): (value: T) => JsonText {
  const made = new WeakMap<T, JsonText>();
  return (value) => {
    const known = made.get(value) ?? make(value);
    made.set(value, known);
    return known;
  };
}

/** Caches a value until the static files change. */
function perBuild<T>(files: Pick<StaticFiles, 'build'>, make: (build: string) => T): () => T {
  let made: { build: string; value: T } | undefined;
  return () => {
    const { build } = files;
    if (made?.build !== build) made = { build, value: make(build) };
    return made.value;
  };
}

/** Returns the Content-Security-Policy of pages, which is rebuilt when a ConsolePlugin changes. */
function policyOf(policy: string, consolePlugins: ConsolePlugins, log: Logger): () => string {
  let made = { revision: consolePlugins.revision, text: policy };
  return () => {
    const { revision } = consolePlugins;
    if (made.revision !== revision) {
      const { text, leftOut } = mergePolicy(policy, consolePlugins.policyAdditions());
      if (leftOut > 0) log.warn({ leftOut }, 'Content-Security-Policy is too long: sources of plugins omitted');
      made = { revision, text };
    }
    return made.text;
  };
}

/** Response of HandleModules: the page's configuration of its backend. */
interface ConsoleModules {
  apiAddress: string;
  assetsHostPath: string;
  assetsURLPath: string;
  environment: { key: string; value: string }[];
  /** Changes when an open page should reload. */
  _: string;
  envsFilter: string;
  recurveIndex: boolean;
}

interface ModulesInput {
  config: Config;
  /** `''`, or the base path without a trailing slash. */
  basePath: string;
  /** Variables of HandleEnvVars for this caller. */
  variables: Variables;
  /** Identifies the contents of the static files. */
  build: string;
}

function consoleModules({ config, basePath, variables, build }: ModulesInput): ConsoleModules {
  const { apiAddress, assetsHostPath, assetsURLPath, environment, envsFilter, recurveIndex } = config.console;
  const named = new Set(environment.map(({ key }) => key));
  const fields = {
    apiAddress: apiAddress ?? config.server.publicURL?.replace(/\/{1,8}$/, '') ?? '',
    assetsHostPath: assetsHostPath ?? config.console.static.directory,
    assetsURLPath: assetsURLPath ?? `${basePath}/`,
    environment: [
      ...environment.map(({ key, value }) => ({ key, value })),
      ...variables.filter(([key]) => !named.has(key)).map(([key, value]) => ({ key, value })),
    ],
    envsFilter,
    recurveIndex,
  };
  const { envsFilter: filter, recurveIndex: recurve, ...before } = fields;
  const revision = hash('sha256', `${JSON.stringify(fields)}${build}`).slice(0, 16);
  return { ...before, _: revision, envsFilter: filter, recurveIndex: recurve };
}
