/** Rights of the service's account, and that of its audit store, by the setting that needs them, for the tables of `atrium config rights` and docs/install.md. */
import { type ManifestRight, manifestRights } from '@atrium/kubernetes/manifests.ts';
import { credentialsFor, issuersOf } from './config/issuers.ts';
import type { Config } from './config/schema.ts';

/** A right of the manifests, with the setting that needs it. */
interface Right extends Omit<ManifestRight, 'file'> {
  readonly setting: string;
}

/** Settings by the manifest with their rights. */
const settings: Readonly<Record<string, string>> = {
  'rbac.yaml': 'always',
  'constrained-impersonation.yaml': 'impersonation',
  'access-tokens.yaml': 'features.accessTokens',
  'user-bindings.yaml': 'features.userBindings',
  'access-requests.yaml': 'features.accessRequests',
  'workload-lists.yaml': 'lists.preset',
  'usage.yaml': 'console.metrics.lastHour',
  'certificates.yaml': 'users.certificates.enabled',
  'agents.yaml': 'features.mcp',
  'audit-store.yaml': 'audit.store',
};

const granted: readonly Right[] = manifestRights.map(({ file, ...right }) => ({ ...right, setting: settings[file] ?? file }));

/** Reports whether a configuration needs the rights of a setting. Settings that are left out always need theirs. */
const needs: Readonly<Record<string, (config: Config) => boolean>> = {
  'lists.preset': ({ lists }) => lists.preset === 'workloads',
  'console.metrics.lastHour': ({ console }) => console.metrics.lastHour,
  'features.userBindings': ({ features }) => features.userBindings,
  'features.accessTokens': ({ features }) => features.accessTokens,
  'features.accessRequests': ({ features }) => features.accessRequests,
  'users.certificates.enabled': ({ users }) => users.certificates.enabled,
  'features.mcp': ({ features }) => features.mcp,
  'audit.store': ({ audit }) => audit.store !== undefined,
  impersonation: (config) => config.features.accessTokens || isImpersonating(config),
};

/** Reports whether users of an issuer are impersonated. The embedded issuer begins to work with an address. */
function isImpersonating(config: Config): boolean {
  const { publicURL = 'https://console.example.com' } = config.server;
  const installed = { ...config, server: { ...config.server, publicURL } };
  return issuersOf(installed).some((issuer) => credentialsFor(config, issuer) === 'impersonate');
}

/** Returns the rights that a configuration needs. The chart grants less where the issuer needs less. */
export function rightsOf(config: Config): Right[] {
  const rights = granted.filter(({ setting }) => needs[setting]?.(config) ?? true);
  const listed = config.lists.resources.filter(
    ({ group, resource }) =>
      !rights.some((right) => right.setting === 'lists.preset' && right.group === group && right.resources.includes(resource)),
  );
  return [
    ...rights,
    ...listed.map(({ group, resource }) => ({
      setting: 'lists.resources',
      where: 'cluster',
      verbs: ['list', 'watch'],
      group,
      resources: [resource],
      names: [],
    })),
  ];
}

const columns = ['SETTING', 'WHERE', 'VERBS', 'RESOURCES'] as const;

/** Returns a right as texts, in the order of the columns. */
function textsOf({ setting, where, verbs, group, resources, names }: Right): [string, string, string, string] {
  const named = names.length === 0 ? resources.join(', ') : `${resources.join(', ')}: ${names.join(', ')}`;
  return [setting, where, shortVerbs(verbs), group === '' || group === '*' ? named : `${named} (${group})`];
}

/** Returns the rights as a table of text. */
export const rightsTable = (rights: readonly Right[]): string =>
  [columns, ...rights.map(textsOf)]
    .map(([setting, where, verbs, what]) => `${setting.padEnd(27)} ${where.padEnd(10)} ${verbs.padEnd(30)} ${what}`)
    .join('\n');

/** Joins verbs. A common prefix stands once. */
function shortVerbs(verbs: readonly string[]): string {
  const [prefix] = /^.+:/.exec(verbs[0] ?? '') ?? [];
  if (prefix === undefined || verbs.length === 1) return verbs.join(' ');
  return `${prefix}{${verbs.map((verb) => verb.slice(prefix.length)).join(',')}}`;
}

const begin = '<!-- rights: made by `npm run docs` -->\n';
const end = '<!-- end of rights -->\n';

/** Returns a page with the rights of features, between its marks. */
export function withRightsTable(page: string, rights: readonly Right[]): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error('the page has no place for the rights');
  const rows = rights
    .filter(({ setting }) => setting !== 'always')
    .map((right) => {
      const [setting, where, verbs, what] = textsOf(right);
      return `| \`${setting}\` | ${where} | \`${verbs}\` | ${what.replaceAll('*', '\\*')} |`;
    });
  const table = ['| setting | where | verbs | resources |', '|---|---|---|---|', ...rows, ''].join('\n');
  return `${page.slice(0, from + begin.length)}\n${table}\n${page.slice(to)}`;
}
