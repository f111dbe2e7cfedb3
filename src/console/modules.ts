import { hash } from 'node:crypto';
import type { Config } from '../config/schema.ts';
import type { Variables } from './environment.ts';

/** Response of HandleModules: the page's configuration of its backend. */
export interface ConsoleModules {
  apiAddress: string;
  assetsHostPath: string;
  assetsURLPath: string;
  environment: { key: string; value: string }[];
  /** Changes when an open page should reload. */
  _: string;
  envsFilter: string;
  recurveIndex: boolean;
}

export interface ModulesInput {
  config: Config;
  /** `''`, or the base path without a trailing slash. */
  basePath: string;
  /** Variables of HandleEnvVars for this caller. */
  variables: Variables;
  /** Identifies the contents of the static files. */
  build: string;
}

export function consoleModules({ config, basePath, variables, build }: ModulesInput): ConsoleModules {
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
