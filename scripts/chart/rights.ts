/** Rights of the service's account in deploy/manifests, as data for `atrium config rights`. */
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import type { Right } from '../../src/config/rights.ts';

const role = z.object({
  kind: z.enum(['Role', 'ClusterRole']),
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()).default(['']),
      resources: z.array(z.string()).optional(),
      nonResourceURLs: z.array(z.string()).default([]),
      resourceNames: z.array(z.string()).default([]),
      verbs: z.array(z.string()),
    }),
  ),
});

export const rightsPath = new URL('../../src/config/rights.json', import.meta.url);

/** Settings by the manifest that grants their rights. */
const settings: Readonly<Record<string, string>> = {
  'rbac.yaml': 'always',
  'constrained-impersonation/impersonation.yaml': 'impersonation',
  'team/access-tokens.yaml': 'features.accessTokens',
  'team/user-bindings.yaml': 'features.userBindings',
  'team/access-requests.yaml': 'features.accessRequests',
  'team/workload-lists.yaml': 'lists.preset',
  'usage.yaml': 'console.metrics.lastHour',
  'certificates.yaml': 'users.certificates.enabled',
};

/** Returns the rights in the manifests. @param files texts by their paths below deploy/manifests */
const rightsIn = (files: ReadonlyMap<string, string>): Right[] =>
  Object.entries(settings).flatMap(([path, setting]) =>
    parseAllDocuments(files.get(path) ?? '').flatMap((document) => {
      const { data } = role.safeParse(document.toJS());
      return (data?.rules ?? []).map(({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }) => ({
        setting,
        where: data?.kind === 'Role' ? 'namespace' : 'cluster',
        verbs,
        group: apiGroups.join(', '),
        resources: resources ?? nonResourceURLs,
        names: resourceNames,
      }));
    }),
  );

/** Returns the text of src/config/rights.json, one right a line. */
export const rightsFile = (files: ReadonlyMap<string, string>): string =>
  `[\n${rightsIn(files)
    .map((right) => `  ${JSON.stringify(right)}`)
    .join(',\n')}\n]\n`;
