import type { Logger } from 'pino';
import { type JsonText, jsonText, preparedJson } from '../api/json.ts';
import type { Check } from '../http/health.ts';
import type { Operation } from '../http/operation.ts';
import type { ConsolePlugins } from '../plugins/console-plugins.ts';
import type { Services } from '../services.ts';
import type { Brand } from './brand.ts';
import { ConfigMaps } from './config-maps.ts';
import { mergePolicy } from './content-security-policy.ts';
import { Environment, mergeVariables, publicVariables, type Variables, type Visible } from './environment.ts';
import { ConfigMapImages } from './images.ts';
import { consoleModules } from './modules.ts';
import { PluginEvents } from './plugin-events.ts';
import { PluginFiles } from './plugins.ts';
import { consoleOperations, type Prepared } from './routes.ts';
import { staticPathsIn } from './static-directory.ts';
import { StaticFiles, type Timer } from './static-files.ts';

/** What the console needs of the wiring beside the services. */
interface ConsoleNeeds {
  consolePlugins: ConsolePlugins;
  /** Process variables, of which `console.envsFilter` lets some through. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Of the looks at the static directory. Default: that of the system. */
  timer?: Timer | undefined;
}

interface Console {
  /** What the installation is called and looks like, as far as every visitor may know. */
  brand(): Brand;
  operations: Operation[];
  checks: Check[];
  /** Files of plugins that stand in ConfigMaps, to be served one by one. */
  pluginFiles: PluginFiles;
  /** The paths of the files in the static directory; none if it cannot be read. */
  staticPaths(): Promise<readonly string[]>;
  /** Reads the static files and starts the watches; does not wait for the API server. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The feature `console` with all that it holds. */
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
  const staticFiles = new StaticFiles(services, timer);

  const environmentText = oncePer<Variables>(environmentJson);
  const modulesText = perBuild(staticFiles, (build) =>
    oncePer<Variables>((seen) => jsonText(consoleModules({ config, basePath, variables: seen, build }))),
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

/** The answer that is made of what a caller sees. */
function prepared(visible: Visible | Promise<Visible>, textOf: (variables: Variables) => JsonText): Prepared | Promise<Prepared> {
  if (visible instanceof Promise) return visible.then((seen) => prepared(seen, textOf));
  return { answer: textOf(visible.variables), isStale: visible.isStale };
}

/** Written by hand: an object would put names that look like numbers first, whatever their byte order. */
const environmentJson = (variables: Variables): JsonText =>
  preparedJson(`{${variables.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`);

/** The answer that belongs to a value, made the first time and kept as long as the value is. */
function oncePer<T extends object>(make: (value: T) => JsonText): (value: T) => JsonText {
  const made = new WeakMap<T, JsonText>();
  return (value) => {
    const known = made.get(value) ?? make(value);
    made.set(value, known);
    return known;
  };
}

/** What belongs to the present static files, made the first time and kept as long as they are the same. */
function perBuild<T>(files: Pick<StaticFiles, 'build'>, make: (build: string) => T): () => T {
  let made: { build: string; value: T } | undefined;
  return () => {
    const { build } = files;
    if (made?.build !== build) made = { build, value: make(build) };
    return made.value;
  };
}

/** The Content-Security-Policy of pages, rebuilt when a ConsolePlugin changes. */
function policyOf(policy: string, consolePlugins: ConsolePlugins, log: Logger): () => string {
  let made = { revision: consolePlugins.revision, text: policy };
  return () => {
    const { revision } = consolePlugins;
    if (made.revision !== revision) {
      const { text, leftOut } = mergePolicy(policy, consolePlugins.policyAdditions());
      if (leftOut > 0) log.warn({ leftOut }, 'the policy of pages has no room for all that plugins ask for');
      made = { revision, text };
    }
    return made.text;
  };
}
